"""Word files as paragraphs and tables, without what Word does not show (extra `docx`)."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from groundrail.errors import InputError, MissingExtraError
from groundrail.sources.files import existing, fields
from groundrail.text.rendering.visible import is_blank

if TYPE_CHECKING:
    from docx.table import Table, _Cell
    from docx.text.paragraph import Paragraph

_LARGEST = 100 * 1024 * 1024
"""Most bytes of a file when it is unpacked."""
_UNSEEN = ("hidden", "strike", "double_strike")


def read_docx(path: str | Path, id: str | None, url: str | None, title: str | None) -> dict[str, Any]:
    """The fields of the document; see `Document.from_docx`."""
    try:
        import docx
        from docx.oxml.ns import qn
    except ImportError as error:
        raise MissingExtraError("Reading a Word file", "docx") from error
    data = existing(path)
    try:
        with ZipFile(data) as packed:
            if sum(part.file_size for part in packed.infolist()) > _LARGEST:
                raise InputError(f"it unpacks to more than {_LARGEST} bytes")
        opened = docx.Document(str(data))
        body = opened.element.body
        changed = any(next(body.iter(qn(f"w:{mark}")), None) is not None for mark in ("ins", "del", "moveFrom"))
        for control in list(body.iter(qn("w:sdt"))):  # python-docx passes over what a content control holds
            held, parent = control.find(qn("w:sdtContent")), control.getparent()
            place = parent.index(control)
            parent[place : place + 1] = [] if held is None else list(held)
        text = "\n\n".join(block for block in _blocks(opened, []) if not is_blank(block))
        own_title = opened.core_properties.title
    except Exception as error:  # python-docx raises whatever a broken file leads to
        raise InputError(f"{path} cannot be read as a Word file ({error}); open it and save it as .docx") from error
    if changed:
        raise InputError(f"{path} has tracked changes: accept or reject them first, so that it says one thing")
    if is_blank(text):
        raise InputError(f"{path} has no text")
    return fields(text, data, id, url, title or own_title)


def _blocks(container: Any, styles: list[Any]) -> Iterator[str]:
    """The paragraphs and the rows of the tables, in order; `styles` are the styles of the tables around them."""
    from docx.table import Table

    for block in container.iter_inner_content():
        if isinstance(block, Table):
            yield "\n".join(_table_rows(block, styles))
        else:
            yield _shown(block, styles)


def _table_rows(table: "Table", styles: list[Any]) -> Iterator[str]:
    """A line for every row that is not hidden; a cell that spans several is written once."""
    from docx.oxml.ns import qn

    for row in table.rows:
        marks = row._tr.xpath("./w:trPr/w:hidden")
        if any(mark.get(qn("w:val"), "true") not in ("0", "false", "off") for mark in marks):
            continue
        cells: dict[Any, _Cell] = {cell._tc: cell for cell in row.cells}
        around = [*styles, table.style]
        yield " | ".join(" ".join(" ".join(_blocks(cell, around)).split()) for cell in cells.values())


def _shown(paragraph: "Paragraph", around: list[Any]) -> str:
    """The text of a paragraph without what is formatted as hidden or struck through."""
    from docx.text.hyperlink import Hyperlink

    text = ""
    for part in paragraph.iter_inner_content():
        for run in part.runs if isinstance(part, Hyperlink) else [part]:
            styles = [run.style, paragraph.style, *around]
            if not any(_formatted(run.font, styles, name) for name in _UNSEEN):
                text += run.text
    return text


def _formatted(font: Any, styles: list[Any], name: str) -> bool:
    """Whether a font has a property; where it does not say, its styles do, and the styles that they are based on."""
    if (said := getattr(font, name)) is not None:
        return bool(said)
    for style in styles:
        while style is not None:
            if (said := getattr(style.font, name)) is not None:
                return bool(said)
            style = style.base_style
    return False
