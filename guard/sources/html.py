"""Web pages as the text that a reader sees (extra `html`).

The parser is libxml2's, which reads broken markup much as browsers do, in linear time, and up to a depth of 256
elements. `groundrail.sources.sheets` says what is hidden.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from groundrail.errors import InputError, MissingExtraError
from groundrail.sources.files import existing, fields
from groundrail.text.rendering.visible import is_blank

_PARAGRAPHS = frozenset(
    "address article aside blockquote body caption details dialog div dl fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section summary table tbody tfoot thead ul".split()
)
_MARKS = dict.fromkeys(_PARAGRAPHS, "\n\n") | dict.fromkeys(("li", "tr", "dt", "dd", "br"), "\n")
"""The text around an element of each kind."""
_TABLE_PARTS = frozenset({"thead", "tbody", "tfoot", "tr"})


def read_html(page: str | Path, id: str | None, url: str | None, title: str | None) -> dict[str, Any]:
    """The fields of the document; see `Document.from_html`."""
    path = None if isinstance(page, str) and "<" in page else existing(page)
    root = _parsed(str(page) if path is None else path.read_bytes())
    own_title = "" if root is None else " ".join(root.xpath("string(//title)").split())
    text = "" if root is None else _laid_out(_without_hidden(root))
    if is_blank(text):
        raise InputError(f"{path or 'the page'} has no text that a reader sees; a script may write it, save it rendered")
    return fields(text, path, id, url, title or own_title)


_MOST_ATTRIBUTES = 1000
"""Most attributes of an element; a parser compares each with those before it."""
_TAG = re.compile(r"<[A-Za-z](?:\"[^\"]*\"|'[^']*'|[^<>\"'])*")
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'")


def _refuse_crowded(text: str) -> None:
    """Raises: InputError for an element with too many attributes."""
    for tag in _TAG.finditer(text.replace("\0", "")):
        if len(tag[0]) > 2 * _MOST_ATTRIBUTES and len(re.findall(r"[^\s/]+", _VALUE.sub("", tag[0]))) > _MOST_ATTRIBUTES:
            raise InputError(f"the element {tag[0][:40]!r}... has over {_MOST_ATTRIBUTES} attributes: remove them")


def _parsed(markup: str | bytes) -> Any:
    """The root of the page, without comments. Raises: InputError for a page that is not read to its end."""
    try:
        from lxml import etree
    except ImportError as error:
        raise MissingExtraError("Reading HTML", "html") from error
    try:
        text = markup if isinstance(markup, str) else markup.decode("utf-8-sig")
        data, encoding = text.encode(), "utf-8"
    except UnicodeEncodeError:
        raise InputError("the page holds half a surrogate pair; decode it as UTF-8 first") from None
    except UnicodeDecodeError as error:
        data, encoding = error.object, None  # its own declaration says how it is written
        text = error.object.decode("latin-1")
    _refuse_crowded(text)
    parser = etree.HTMLParser(remove_comments=True, remove_pis=True, encoding=encoding)
    root = etree.fromstring(data, parser)
    for problem in parser.error_log:
        if problem.level_name == "FATAL":
            raise InputError("the page's elements are nested too deep, or one is too long, to be read: pass the text")
    return root


def _without_hidden(root: Any) -> Any:
    """The page, each hidden element emptied."""
    try:
        from groundrail.sources.sheets import unseen
    except ImportError as error:
        raise MissingExtraError("Reading HTML", "html") from error
    try:
        found = list(unseen(root))
    except RecursionError as error:
        raise InputError("the page's style sheets are nested too deep to be read: remove them") from error
    for element, with_parts in found:
        if with_parts:
            element.clear(keep_tail=True)
            element.tag = "span"
        else:
            element.text = None
            for part in element:
                part.tail = None
    return root


def _laid_out(root: Any) -> str:
    """The text in lines: blocks apart, the cells of a row on one line, runs of white space as one space."""
    from lxml import etree

    pieces: list[str] = []
    cells = 0
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        mark = _MARKS.get(element.tag, "")
        if event == "end":
            pieces += [mark, _spaced(element.tail)]
            continue
        if element.tag == "table" and (grid := list(_grid(element))):
            pieces += ["\n\n", *grid]
            walk.skip_subtree()
            continue
        if element.tag == "tr":
            cells = 0
        elif element.tag in ("td", "th"):
            mark, cells = " | " if cells else "", cells + 1
        pieces += [mark, _spaced(element.text)]
    lines = [" ".join(line.split()) for line in "".join(pieces).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _spaced(text: str | None) -> str:
    return " ".join((text or "").split("\n"))


def _grid(table: Any) -> Iterator[str]:
    """A table whose first row names its columns, as lines of Markdown, so that each row can be read by the names.

    Empty for a table without such a row, with rows of different lengths, or with spanning cells or blocks in it.
    """
    rows = [list(row.iter("td", "th")) for row in table.iter("tr")]
    uneven = len({len(row) for row in rows}) != 1
    nested = next(table.iterdescendants(*_MARKS.keys() - _TABLE_PARTS), None) is not None
    if (
        uneven
        or nested
        or len(rows) < 2
        or {cell.tag for cell in rows[0]} != {"th"}
        or table.xpath(".//*[@colspan or @rowspan]")
    ):
        return
    lines = [[" ".join("".join(cell.itertext()).split()).replace("|", "\\|") for cell in row] for row in rows]
    lines.insert(1, ["---"] * len(rows[0]))
    yield from (f"| {' | '.join(row)} |\n" for row in lines)
