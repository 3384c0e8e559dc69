"""Documents from files by their form: the fields that each gets, plain text, and PDF files as text with page numbers (extra
`pdf`)."""

from pathlib import Path
from typing import Any

from groundrail.errors import InputError, MissingExtraError
from groundrail.text.rendering.visible import is_blank


def existing(path: str | Path) -> Path:
    """Raises: InputError for a folder, and where there is no such file."""
    found = Path(path)
    if found.is_dir():
        raise InputError(f"{path} is a folder; name the files in it")
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


def read_text(path: str | Path, id: str | None = None, url: str | None = None, title: str | None = None) -> dict[str, Any]:
    """The fields of a document in plain text. Raises: InputError for a file that is no text in UTF-8."""
    data = existing(path)
    try:
        return fields(data.read_bytes().decode("utf-8-sig"), data, id, url, title)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text (byte {error.start}): convert it, e.g. with iconv -t utf-8. Other files that can be "
            f"read end in .pdf, .html, .htm or .docx"
        ) from None


def read_pdf(path: str | Path, id: str | None, url: str | None, title: str | None) -> dict[str, Any]:
    """The fields of the document; see `Document.from_pdf`. A file that cannot be read as a whole is an error."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtraError("Reading a PDF file", "pdf") from error
    data = existing(path)
    try:
        reader = PdfReader(data)
        encrypted = reader.is_encrypted
        pages = [] if encrypted else [page.extract_text() for page in reader.pages]
        own_title = None if encrypted or reader.metadata is None else reader.metadata.title
    except Exception as error:  # pypdf raises whatever a broken file leads to
        raise InputError(f"{path} cannot be read as a PDF file ({error}); open it and save it anew") from error
    if encrypted:
        raise InputError(f"{path} is encrypted: save it without a password")
    if all(is_blank(page) for page in pages):
        raise InputError(f"{path} has no text: it is scanned or empty; run text recognition (OCR) over it first")
    starts, length = [], 0
    for page in pages:
        starts.append(length)
        length += len(page) + 1
    empty = [number for number, page in enumerate(pages, start=1) if is_blank(page)]
    more = {"pages_without_text": empty} if empty else {}
    return fields("\n".join(pages), data, id, url, title or own_title, page_starts=starts, **more)
