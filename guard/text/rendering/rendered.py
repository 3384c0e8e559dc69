"""The second reading of an answer: its released text, rendered as Markdown while it grows.

The guard judges one piece at a time, as `groundrail.text.rendering.visible` reads it. A reader sees the whole: a mark in
one piece can hide, strike or move words of another. So markdown-it-py renders the text that is out together with the next piece,
and the piece may only add its own words. Tables and strikes are rendered as chat windows do, HTML as browsers do.

Markup that markdown-it does not know belongs to `groundrail.text.form`.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from html.parser import HTMLParser
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from groundrail.errors import UncheckableError
from groundrail.text.rendering.visible import TAGS, seen, visible

LONGEST_BLOCK = 10_000
"""Characters of the longest block that is rendered, so that time grows with the text."""

_FEW = 2000
"""Characters of text without markup that may wait before its blocks are separated."""

_MARKUP = re.compile(r"[\\`*_~\[<&|]|^[-+>\d.) \t]{9,}", re.MULTILINE)
"""Signs of markup that shows other words than it writes. Without any of them headings, lists, quotations and code keep every
word; only lists nested deeper than markdown-it reads lose some, and the marks before their text are many."""

_SINGLE_TILDE = re.compile("(?<!~)~(?!~)")
"""GitHub strikes with one tilde as with two."""
_HEAD_OF_COLUMN = re.compile(
    r"^(?=[ \t>]*[^\s>|])(?![ \t>]*(?:`{3}|~{3}))(?!\s*(?:[-+*]|\d{1,9}[.)])[ \t]*$)([^|\n]*+)"
    r"(?=\n[ \t>]*(?:\|[ \t]*:?-+:?[ \t]*\|?|:?-+:?[ \t]*\||:-+:?|-+:)[ \t]*$)",
    re.MULTILINE,
)
"""GitHub takes a line without a bar for the head of a table with one column, but not an empty item."""
_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<[^>]*(?:>|\Z)", re.DOTALL)
_LINE_BREAK = re.compile(r"\r\n?")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")

_SHOWN = frozenset({*TAGS, "q", "a", "sup", "table", "thead", "tbody", "tr", "th", "td"})
"""Elements whose text is surely shown, as it stands. `s`, `del` and whatever may change its text are not among them."""
_HARMLESS = frozenset("href title class start".split())
_VOID = frozenset("br hr img input wbr link meta area base col embed param source track".split())


class RenderedAnswer:
    """The released text of one answer, rendered as it grows.

    answer = RenderedAnswer()
    answer.add("Cash is ~~not accepted. ")
    answer.refuse_difference("Pets are~~ allowed.")  # raises: both sentences would be struck through
    """

    def __init__(self) -> None:
        self._released = dict.fromkeys((True, False), Rendered("", "", {}))

    def refuse_difference(self, piece: str) -> None:
        """Refuse a piece after which a reader of the rendered text sees other words than the judged ones.

        Raises: UncheckableError with the reason.
        """
        judged = words(visible(piece))
        for columns, before in self._released.items():
            rendered = render(before.open + piece, before.definitions, columns)
            if len(rendered.open) > LONGEST_BLOCK:
                raise UncheckableError(f"a paragraph, list item or quotation is longer than {LONGEST_BLOCK:,} characters")
            if words(rendered.text) != words(before.text) + judged:
                raise UncheckableError("rendered as Markdown after the text before it, other words are seen than it has")

    def add(self, released: str) -> None:
        """Take text that is released, whether it was judged or is a replacement."""
        for columns, before in self._released.items() if released else ():
            if len(before.open) <= LONGEST_BLOCK:
                rendered = render(before.open + released, before.definitions, columns)
                self._released[columns] = render(rendered.open, rendered.definitions, columns)


class Rendered(NamedTuple):
    """A text as a reader of Markdown sees it.

    text: the words that a reader sees, the target of a link behind its words.
    open: what later text can change; behind it, later text is rendered as it is behind the whole.
    definitions: where links were defined so far.
    """

    text: str
    open: str
    definitions: dict[str, Any]


def render(text: str, definitions: dict[str, Any], columns: bool = True) -> Rendered:
    """The text as a reader of Markdown sees it: without comments, hidden and struck words, pictures and titles of links.

    Args:
        definitions: Links that were defined before the text.
        columns: Whether tables may have one column without bars, as on GitHub; other renderers read a paragraph there.
    """
    if not _MARKUP.search(text) and len(text) <= _FEW:
        return Rendered(text, text, definitions)
    env = {"references": dict(definitions)}
    parser = _parser()
    lines = _SINGLE_TILDE.sub("~~", _LINE_BREAK.sub("\n", text))
    tokens = parser.parse(_HEAD_OF_COLUMN.sub(r"\1|", lines) if columns else lines, env)
    page = _Page()
    page.feed(parser.renderer.render(tokens, parser.options, env))
    page.feed("<p>")  # behind a tag that does not end, nothing is seen
    rest = text if page.hiding or page.rawdata else _last_block(text, tokens)
    return Rendered("".join(page.shown), rest, env["references"])


def words(text: str) -> str:
    """The letters and digits of a text, as they look."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", "".join(map(_looks, text)))
    return "".join(filter(str.isalnum, text))


@lru_cache(4096)
def _looks(letter: str) -> str:
    try:
        return seen(letter)
    except UncheckableError:
        return ""


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]  # targets are compared as they are written
    parser.add_render_rule("list_item_open", _numbered)
    parser.add_render_rule("link_open", _linked)
    parser.add_render_rule("html_block", _block_of_html)
    return parser


def _block_of_html(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    """A block of HTML, which some readers do not show: nothing of it where it has words."""
    content = tokens[place].content
    return "" if words(_TAG.sub("", content)) else content


def _numbered(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    """An item with its number as it is written: words are compared with the plain text."""
    return f"<li>{tokens[place].info} "


def _linked(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    """A link; one between angle brackets has its target for its words."""
    return "<a>" if tokens[place].markup == "autolink" else renderer.renderToken(tokens, place, options, env)


class _Page(HTMLParser):
    """The text of a page that is surely shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.hiding: list[str] = []
        self._targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        may_change = any(
            name not in _HARMLESS and not (name == "style" and (value or "").startswith("text-align:"))
            for name, value in attrs
        )
        if tag not in _VOID and (tag not in _SHOWN or may_change):
            self.hiding.append(tag)
        if tag == "a":
            self._targets.append(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._targets:
            self.handle_data(f" <{self._targets.pop()}>")
        if tag in self.hiding:
            self.hiding.remove(tag)

    def handle_data(self, data: str) -> None:
        if not self.hiding:
            self.shown.append(data)


def _last_block(text: str, tokens: Sequence[Token]) -> str:
    """The part of a text that later text can still change: its last block.

    This part is the head and the last row of a table, the last item of a list (behind a blank item that stands for the
    items before it), and the last line of a paragraph without markup.
    """
    first = row = item = 0
    block, mark = "", ""
    for token in tokens:
        if token.map is None or token.nesting < 0:
            continue
        if token.level == 0:
            block, first = token.type, token.map[0]
        elif token.level == 1 and token.type == "list_item_open":
            item, mark = token.map[0], "1" * bool(token.info) + token.markup
        elif block == "table_open" and token.type == "tr_open":
            row = token.map[0]
    lines = _LINE.findall(text)
    if block == "table_open" and row > first + 1:
        return "".join([*lines[first : first + 2], *lines[row:]])
    if block in ("bullet_list_open", "ordered_list_open") and item > first:
        indent = lines[item][: len(lines[item]) - len(lines[item].lstrip())]
        return "".join([f"{indent}{mark} .\n\n", *lines[item:]])
    if block == "paragraph_open" and not _MARKUP.search("".join(lines[first:-1])):
        return "".join([".\n" * (len(lines) - first > 1), *lines[-1:]])
    return "".join(lines[first:])
