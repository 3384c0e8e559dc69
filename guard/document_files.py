"""PDF, HTML and Word files as documents: the text that a reader sees, with its pages, its title and its address.

Each kind needs an extra of its own, imported when it is asked for. A file that cannot be read as a whole is an
`InputError`: nothing is checked against half a source.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundrail.errors import InputError, MissingExtraError
from groundrail.sources.hidden import hides
from groundrail.text.rendering.visible import is_blank
from groundrail.types import Document

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag
    from docx.table import Table, _Cell
    from docx.text.paragraph import Paragraph


def read_pdf(path: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None) -> Document:
    """See `Document.from_pdf`."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtraError("Reading a PDF file", "pdf") from error
    data = _existing(path)
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
    metadata: dict[str, Any] = {"page_starts": starts}
    if empty := [number for number, page in enumerate(pages, start=1) if is_blank(page)]:
        metadata["pages_without_text"] = empty
    return _document("\n".join(pages), data, id, url, title or own_title, metadata)


def read_docx(path: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None) -> Document:
    """See `Document.from_docx`."""
    try:
        import docx
        from docx.oxml.ns import qn
    except ImportError as error:
        raise MissingExtraError("Reading a Word file", "docx") from error
    data = _existing(path)
    try:
        opened = docx.Document(str(data))
        body = opened.element.body
        changed = any(next(body.iter(qn(f"w:{mark}")), None) is not None for mark in ("ins", "del", "moveFrom"))
        for control in list(body.iter(qn("w:sdt"))):  # python-docx passes over what a content control holds
            held, parent = control.find(qn("w:sdtContent")), control.getparent()
            place = parent.index(control)
            parent[place : place + 1] = [] if held is None else list(held)
        text = "\n\n".join(block for block in _blocks(opened) if not is_blank(block))
        own_title = opened.core_properties.title
    except Exception as error:  # python-docx raises whatever a broken file leads to
        raise InputError(f"{path} cannot be read as a Word file ({error}); open it and save it as .docx") from error
    if changed:
        raise InputError(f"{path} has tracked changes: accept or reject them first, so that it says one thing")
    if is_blank(text):
        raise InputError(f"{path} has no text")
    return _document(text, data, id, url, title or own_title, {})


def _blocks(container: Any) -> Iterator[str]:
    """The paragraphs and the rows of the tables, in order."""
    from docx.table import Table

    for block in container.iter_inner_content():
        if isinstance(block, Table):
            yield "\n".join(_table_rows(block))
        else:
            yield _shown(block)


def _table_rows(table: "Table") -> Iterator[str]:
    """A line for every row; a cell that spans several is told once."""
    for row in table.rows:
        cells: dict[Any, _Cell] = {cell._tc: cell for cell in row.cells}
        yield " | ".join(" ".join(" ".join(_blocks(cell)).split()) for cell in cells.values())


def _shown(paragraph: "Paragraph") -> str:
    """The text of a paragraph without what is formatted as hidden or struck through."""
    from docx.text.hyperlink import Hyperlink

    text = ""
    for part in paragraph.iter_inner_content():
        for run in part.runs if isinstance(part, Hyperlink) else [part]:
            styles = [run.style, paragraph.style]
            if not any(_formatted(run.font, styles, name) for name in ("hidden", "strike", "double_strike")):
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


_NEVER_SHOWN = "head, script, style, template, noscript, iframe, object, svg, math, canvas, audio, video, select, textarea, button, del, s, strike, datalist, dialog:not([open]), [hidden]"
"""Elements without text for a reader, or with text that is struck through."""
_BLOCKS = frozenset(
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody tfoot thead tr ul".split()
)
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_RULE = re.compile(r"(?P<selector>[^{}]+)\{(?P<declarations>[^{}]*)\}")


def read_html(page: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None) -> Document:
    """See `Document.from_html`."""
    try:
        import html5lib  # noqa: F401 (bs4 finds it by name; it reads broken markup as browsers do)
        from bs4 import BeautifulSoup
    except ImportError as error:
        raise MissingExtraError("Reading HTML", "html") from error
    path = None if isinstance(page, str) and "<" in page else _existing(page)
    markup = path.read_bytes() if path is not None else str(page)
    try:
        soup = BeautifulSoup(markup, "html5lib")
        own_title = soup.title.get_text(" ", strip=True) if soup.title else None
        _remove_hidden(soup)
        text = _laid_out(soup)
    except RecursionError as error:
        raise InputError("the page's elements are nested too deep to be read") from error
    if is_blank(text):
        raise InputError(
            f"{path or 'the page'} has no text that a reader sees; a script may write it, save it rendered"
        )
    return _document(text, path, id, url, title or own_title, {})


def _remove_hidden(soup: "BeautifulSoup") -> None:
    """Take out comments and elements that the page's own markup and style sheets hide from a reader.

    Raises: InputError for a rule that hides something, of which it cannot be told what.
    """
    from bs4.element import PageElement, PreformattedString
    from soupsieve import SelectorSyntaxError

    hidden: list[PageElement] = [text for text in soup.find_all(string=True) if isinstance(text, PreformattedString)]
    hidden += [element for element in soup.select("[style]") if hides(str(element["style"]))]
    for sheet in soup.select("style"):
        for rule in _RULE.finditer(_CSS_COMMENT.sub("", "".join(map(str, sheet.contents)))):
            selector = rule["selector"].strip().rpartition(";")[2].strip()
            if not hides(rule["declarations"]) or "::" in selector or selector.startswith("@"):
                continue
            try:
                hidden += soup.select(selector)
            except SelectorSyntaxError as error:
                raise InputError(
                    f"the page hides elements by {selector!r}, which cannot be read: remove the rule, or pass the text"
                ) from error
    hidden += soup.select(_NEVER_SHOWN)
    for element in hidden:
        element.extract()


def _laid_out(soup: "BeautifulSoup") -> str:
    """The text in lines: blocks apart, the cells of a row on one line, runs of white space as one space."""
    for table in soup.find_all("table"):
        if lines := _grid(table):
            table.replace_with("\x00\x00" + "\x00".join(lines) + "\x00\x00")
    for element in soup.find_all(["br", "td", "th", *_BLOCKS]):
        if element.name == "br":
            element.replace_with("\x00")
        elif element.name in ("td", "th"):
            if element.find_previous_sibling(["td", "th"]):
                element.insert(0, " | ")
        else:
            mark = "\x00" if element.name in ("li", "tr", "dt", "dd") else "\x00\x00"
            element.insert(0, mark)
            element.append(mark)
    lines = [" ".join(line.split()) for line in soup.get_text().split("\x00")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


_TABLE_PARTS = frozenset({"thead", "tbody", "tfoot", "tr"})


def _grid(table: "Tag") -> list[str]:
    """A table whose first row names its columns, as lines of Markdown, so that each row can be read by the names.

    Empty for a table without such a row, with rows of different lengths, or with spanning cells or blocks in it.
    """
    rows = [row.find_all(["td", "th"]) for row in table.find_all("tr")]
    uneven = len({len(row) for row in rows}) != 1
    nested = table.find_all(list(_BLOCKS - _TABLE_PARTS)) or table.select("caption, br, [colspan], [rowspan]")
    if uneven or nested or len(rows) < 2 or {cell.name for cell in rows[0]} != {"th"}:
        return []
    told = [[" ".join(cell.get_text().split()).replace("|", "\\|") for cell in row] for row in rows]
    told.insert(1, ["---"] * len(rows[0]))
    return [f"| {' | '.join(row)} |" for row in told]


def _existing(path: str | Path) -> Path:
    """Raises: InputError where there is no such file."""
    found = Path(path)
    if not found.is_file():
        raise InputError(f"{path}: there is no such file")
    return found


def _document(
    text: str, path: Path | None, id: str | None, url: str | None, title: str | None, metadata: dict[str, Any]
) -> Document:
    facts = {"title": " ".join(title.split()) if title else None, "url": url}
    name = id or (path.name if path is not None else url or "page")
    return Document(text=text, id=name, metadata=metadata | {key: value for key, value in facts.items() if value})
