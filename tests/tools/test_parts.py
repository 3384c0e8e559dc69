"""A packed folder comes back byte for byte or not at all."""

import json
import random
from pathlib import Path

import pytest
from parts import MANIFEST, PartsError, join, pack


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Bytes that cannot be compressed, a text, an empty file and a folder in a folder."""
    made = tmp_path / "judge"
    (made / "deep" / "er").mkdir(parents=True)
    (made / "weights.bin").write_bytes(random.Random(0).randbytes(25_000))
    (made / "empty").touch()
    (made / "deep" / "er" / "text é.jsonl").write_text('{"text": "said"}\n' * 500, encoding="utf-8")
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_parts_are_small_and_come_back_as_they_were(folder, tmp_path) -> None:
    parts = pack(folder, tmp_path / "parts", 0.01)
    assert len(parts) == 3
    assert all(0 < part.stat().st_size <= 10_000 for part in parts)
    assert {p.name for p in (tmp_path / "parts").iterdir()} == {*(part.name for part in parts), MANIFEST}
    join(tmp_path / "parts", tmp_path / "new" / "back")
    assert contents(tmp_path / "new" / "back") == contents(folder)
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["back"]
    (folder / "empty").touch()
    pack(folder, tmp_path / "again", 0.01)
    assert contents(tmp_path / "again") == contents(tmp_path / "parts")


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("damage", ["missing", "a bit", "shorter", "longer", "exchanged"])
def test_a_part_that_is_missing_or_changed_is_named_and_nothing_is_written(damage, number, folder, tmp_path) -> None:
    part = pack(folder, tmp_path / "parts", 0.01)[number]
    content = part.read_bytes()
    other = tmp_path / "parts" / f"part-{(number + 1) % 3:03}"
    changed = {
        "a bit": bytes([content[0] ^ 1]) + content[1:],
        "shorter": content[:-1],
        "longer": content + b"\0",
        "exchanged": other.read_bytes(),
    }
    if damage == "missing":
        part.unlink()
    else:
        part.write_bytes(changed[damage])
    reason = "is missing" if damage == "missing" else "is not as it was packed"
    with pytest.raises(PartsError, match=f"{part.name} {reason}"):
        join(tmp_path / "parts", tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("manifest", ["", "[]", '{"parts": []}', '{"parts": [{"name": "../part-000"}]}'])
def test_a_manifest_that_is_none_is_refused(manifest, folder, tmp_path) -> None:
    pack(folder, tmp_path / "parts", 1)
    (tmp_path / "parts" / MANIFEST).write_text(manifest, encoding="utf-8")
    with pytest.raises(PartsError, match="is no list of parts"):
        join(tmp_path / "parts", tmp_path / "back")
    (tmp_path / "parts" / MANIFEST).unlink()
    with pytest.raises(PartsError, match="is missing: it says which parts"):
        join(tmp_path / "parts", tmp_path / "back")


def test_nothing_is_packed_or_joined_over_what_is_there(folder, tmp_path) -> None:
    pack(folder, tmp_path / "parts", 1)
    with pytest.raises(PartsError, match="is not empty"):
        pack(folder, tmp_path / "parts", 1)
    with pytest.raises(PartsError, match="is there already"):
        join(tmp_path / "parts", folder)
    (folder / "link").symlink_to(folder / "empty")
    with pytest.raises(PartsError, match="link is no plain file"):
        pack(folder, tmp_path / "other", 1)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(PartsError, match="no files"):
        pack(tmp_path / "nothing", tmp_path / "other", 1)
    assert len(json.loads((tmp_path / "parts" / MANIFEST).read_text(encoding="utf-8"))["parts"]) == 1
