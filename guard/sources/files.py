"""A document read from a file: which file it is, and the fields that the document gets."""

from pathlib import Path
from typing import Any

from groundrail.errors import InputError


def existing(path: str | Path) -> Path:
    """Raises: InputError where there is no such file."""
    found = Path(path)
    if not found.is_file():
        raise InputError(f"{path}: there is no such file")
    return found


def fields(
    text: str, path: Path | None, id: str | None, url: str | None, title: str | None, **metadata: Any
) -> dict[str, Any]:
    """The fields of the document: its text, its name, and what is known of it."""
    facts = {"title": " ".join(title.split()) if title else None, "url": url}
    name = id or (path.name if path is not None else url or "page")
    return {"text": text, "id": name, "metadata": metadata | {key: value for key, value in facts.items() if value}}
