"""Packs a folder into parts of at most so many megabytes, and joins them again if not a byte is missing or changed.

    python tools/parts.py pack runs/judge parts --megabytes 50
    python tools/parts.py join parts runs/judge

Weights, token ids and texts alike: the parts are slices of one compressed archive, and `manifest.json` beside them
holds the size and SHA-256 of each. The same files always give the same parts.
"""

import argparse
import gzip
import hashlib
import json
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"


class PartsError(Exception):
    """A folder cannot be packed, or its parts cannot be joined; the message says why."""


def pack(folder: Path, out: Path, megabytes: float) -> list[Path]:
    """Write the files below `folder` as parts of at most that many megabytes (10^6 bytes) into the empty folder `out`.

    Raises: PartsError where there is nothing to pack, a link, or something else in `out`.
    """
    most = int(megabytes * 1_000_000)
    files = sorted(path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    links = [path for path in files if path.is_symlink() or not path.is_file()]
    if most < 1 or not files or links:
        reason = "a part needs at least a byte" if most < 1 else f"{links[0]} is no plain file" if links else "no files"
        raise PartsError(f"{folder} cannot be packed: {reason}")
    if out.exists() and any(out.iterdir()):
        raise PartsError(f"{out} is not empty: choose a new folder, or parts of two archives would lie together")
    out.mkdir(parents=True, exist_ok=True)
    parts: list[Path] = []
    with tempfile.TemporaryFile(dir=out) as archive:
        with (
            gzip.GzipFile(fileobj=archive, mode="wb", filename="", mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w|") as tar,
        ):
            for path in files:
                entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
                entry.size = path.stat().st_size
                with path.open("rb") as content:
                    tar.addfile(entry, content)
        archive.seek(0)
        while piece := archive.read(most):
            parts.append(out / f"part-{len(parts):03}")
            parts[-1].write_bytes(piece)
    listed = [_described(part) for part in parts]
    (out / MANIFEST).write_text(json.dumps({"parts": listed}, indent=2) + "\n", encoding="utf-8")
    return parts


def join(parts: Path, folder: Path) -> None:
    """Write the packed files into `folder`, which is new; every part is checked before the first file is written.

    Raises: PartsError for a manifest or part that is missing or not as it was packed, or a folder that is there.
    """
    if folder.exists():
        raise PartsError(f"{folder} is there already: choose a new folder")
    listed = _manifest(parts / MANIFEST)
    for entry in listed:
        part = parts / entry["name"]
        if not part.is_file():
            raise PartsError(f"{part} is missing: bring it here, or pack the folder again")
        if _described(part) != entry:
            raise PartsError(f"{part} is not as it was packed: bring it here again")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        whole, files = Path(scratch, "archive"), Path(scratch, "files")
        with whole.open("wb") as archive:
            for entry in listed:
                with (parts / entry["name"]).open("rb") as part_file:
                    shutil.copyfileobj(part_file, archive)
        with tarfile.open(whole, "r:gz") as tar:
            tar.extractall(files, filter="data")
        files.rename(folder)


def _described(part: Path) -> dict[str, Any]:
    with part.open("rb") as opened:
        return {
            "name": part.name,
            "bytes": part.stat().st_size,
            "sha256": hashlib.file_digest(opened, "sha256").hexdigest(),
        }


def _manifest(file: Path) -> list[dict[str, Any]]:
    try:
        listed = json.loads(file.read_text(encoding="utf-8"))["parts"]
        if listed and all(Path(entry["name"]).name == entry["name"] for entry in listed):
            return list(listed)
    except FileNotFoundError:
        raise PartsError(f"{file} is missing: it says which parts belong together") from None
    except (ValueError, KeyError, TypeError):
        pass
    raise PartsError(f"{file} is no list of parts: bring it here again")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="a folder into parts")
    packing.add_argument("folder", type=Path)
    packing.add_argument("parts", type=Path)
    packing.add_argument("--megabytes", type=float, default=50, help="of a part at most")
    joining = commands.add_parser("join", help="parts into a folder")
    joining.add_argument("parts", type=Path)
    joining.add_argument("folder", type=Path)
    args = parser.parse_args()
    try:
        if args.command == "pack":
            written = pack(args.folder, args.parts, args.megabytes)
            print(f"{len(written)} parts in {args.parts}, {sum(part.stat().st_size for part in written) / 1e6:.1f} MB")
        else:
            join(args.parts, args.folder)
    except PartsError as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
