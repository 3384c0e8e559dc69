"""The part of a sentence that a reader sees: Markdown and HTML as rendered, look-alike letters folded, hidden
characters out.

Markdown-it tells the markup. What readers disagree on is refused: `visible.toml` lists it. Marks of lists, headings and
quotations stay; taking them off, and saying what is claimed, belongs to `groundrail.text.claims`.
"""

import html
import re
import tomllib
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.token import Token

from groundrail.errors import UncheckableError

_DATA = tomllib.loads(files(__package__).joinpath("visible.toml").read_text(encoding="utf-8"))
_REFUSED = {
    kind: [(re.compile(sign, re.MULTILINE), why) for sign, why in signs.items()] for kind, signs in _DATA["refused"].items()
}
_LANGUAGES = frozenset(_DATA["languages"]["shown"].split())

TAGS = dict.fromkeys(_DATA["tags"]["plain"].split(), "") | dict.fromkeys(_DATA["tags"]["breaking"].split(), " ")
"""The tags around which every reader sees the text as it stands, and what is shown in their places."""

_SPECIAL = re.compile(r"[^\n -~]|[\\`*_~\[\]<&]")
"""Texts without any of these are seen as they are."""
_RAISED = re.compile(r"<sup>(?:(\[\d{1,3}\])|(\d{1,3}(?:,\d{1,3}){0,9}))</sup>", re.IGNORECASE)
"""A raised number, as marks of documents and powers are; other raised text is refused."""
_SUPERSCRIPTS = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹˒")
_FENCE = re.compile(r"^(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t]){0,40}(?:`{3,}[^`\n]*|~{3,}[^\n]*)$", re.MULTILINE)
_CONTAINERS = re.compile(r"(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t]){0,40}")
"""The marks of quotations and lists that a line may begin with."""
_HREF = re.compile(r"""<a\s+href\s*=\s*(?P<quote>["']?)(?P<target>[^"'\s<>]+)(?P=quote)\s*>""", re.IGNORECASE)
_QUERY = re.compile(r"&[A-Za-z0-9]+=")
_OPEN_STRONG = re.compile(r"(?<!\w)(?:\*\*|__)(?=\S)|(?<=\S)(?:\*\*|__)(?!\w)")
"""Strong emphasis may go on in another sentence, and hides nothing."""
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])`(?=[^\W\d_])")
_MARK_OF_DIRECTION = re.compile("[\u200e\u200f\u061c]")
_LETTER = re.compile(r".[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1cd0-\u1cff\u1dc0-\u1dff\u20d0-\u20f0]*", re.DOTALL)
_BREAKS = "\n\r\t\v\f\x85\u2028\u2029"
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Fillers and variation selectors."""
_LOOKS = (
    dict.fromkeys("\u02b9\u02bb\u02bc\u02bd\u02c8\u00b4\ua78c", "'")
    | dict.fromkeys("\u115f\u2800\u3164\uffa0", " ")
    | {sign: sign for sign in "µ…ªº№′″‴"}
    | {"\u20e3": ""}  # the frame of a keycap
)
"""The looks of signs that Unicode's decompositions do not give."""


@lru_cache(maxsize=256)
def plain(text: str) -> str:
    """The words that a reader sees, where they are the same without any markup; an empty text where they are not.

    >>> plain("The rent is **950** euros."), plain("![pixel](http://example.com/x.png) The rent")
    ('The rent is 950 euros.', '')
    """
    try:
        words = " ".join(visible(text).split())
        return words if visible(words) == words else ""
    except UncheckableError:
        return ""


def visible(text: str) -> str:
    """The sentence as a reader sees it; the target of a link stands behind its words as ` <target>`.

        visible("Cash is **not** [accepted](http://a.b).")  # "Cash is not accepted <http://a.b>."

    Raises: UncheckableError for what two readers would read differently: turned writing directions, characters that erase
    others, words that are struck or in a comment, pictures, footnotes, titles of links, links of which a part is elsewhere,
    tags that may change what is shown. A definition of a link, a cell that a table drops and text that only looks like
    code are seen by `groundrail.text.rendering.rendered`.
    """
    if not _SPECIAL.search(text):
        return text
    _refuse("sentence", text)
    text = text.replace("\0", "")  # which markdown-it shows
    text = _RAISED.sub(lambda found: found[1] or found[2].translate(_SUPERSCRIPTS), text)
    found: dict[str, Any] = {}
    if has_fence(text):
        shown = _shown(_parser().parse(text, found))
    else:
        if any(map(_opens_html, text.splitlines())):
            _refuse("token", "html_block")
        shown = _shown(_parser().parseInline(text))
    if found.get("references"):
        raise UncheckableError("the definition of a link is hidden from some readers")
    if _MARK_OF_DIRECTION.search(text) and all(
        _MARK_OF_DIRECTION.match(letter) or unicodedata.bidirectional(letter) not in ("R", "AL") for letter in text
    ):
        raise UncheckableError("a direction mark reorders what is shown")  # of a text written from left to right
    return shown


def has_fence(text: str) -> bool:
    """Whether a line of a text may open a block of code, whose lines are shown one by one."""
    return _FENCE.search(text) is not None


def _opens_html(line: str) -> bool:
    """Whether a line begins a block of HTML, of which some readers show nothing."""
    bare = line[_CONTAINERS.match(line).end() :]  # type: ignore[union-attr]  # it matches the empty text too
    return bare.startswith("<") and any(opening.search(bare) for opening, _, _ in HTML_SEQUENCES)


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space, control and format characters, fillers."""
    return all(letter.isspace() or _is_hidden(letter) for letter in text)


def _refuse(kind: str, text: str) -> None:
    """Raises: UncheckableError if a sign of the list `kind` is in the text."""
    for sign, why in _REFUSED[kind]:
        if found := sign.search(text):
            raise UncheckableError(why.format(*map(ord, found[0])))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("strikethrough")
    parser.core.ruler.disable("text_join")  # what was escaped is no markup to any reader
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]  # targets are compared as they are written
    return parser


def _shown(tokens: Iterable[Token]) -> str:
    """The shown text of blocks, or of the pieces of a line, links with their targets."""
    shown: list[str] = []
    links: list[str] = []
    for token in tokens:
        _refuse("token", token.type)
        match token.type:
            case "inline":
                shown.append(_shown(token.children or ()))
            case "paragraph_open" | "heading_open":
                shown.append("\n")
            case "fence":
                language = token.info.strip()
                if language.lower() not in _LANGUAGES and any(map(str.isalnum, language)):
                    raise UncheckableError("words behind the mark of a code block are hidden from some readers")
                shown.append(f"\n{_seen(token.content)}")
            case "text":
                shown.append(_text(token.content))
            case "softbreak" | "hardbreak":
                shown.append("\n")
            case "link_open" | "link_close" if token.markup == "autolink":
                shown.append("<" if token.nesting > 0 else ">")
            case "link_open":
                if any(map(str.isalnum, str(token.attrs.get("title", "")))):
                    raise UncheckableError("the title of a link is hidden from some readers")
                links.append(str(token.attrs["href"]))
                if len(links[-1].split()) > 1:
                    _refuse("text", "](")
            case "link_close":
                shown.append(f" <{links.pop()}>")
            case "html_inline":
                shown.append(_tag(token.content, links))
            case _:
                if token.info == "entity":
                    _refuse("reference", token.content)
                shown.append(_seen(token.content))
    if links:
        raise UncheckableError("an unclosed link would swallow the text after it")
    return "".join(shown)


def _text(text: str) -> str:
    if text.isalnum():
        return _seen(text)
    _refuse("text", text)
    known = _QUERY.sub("", text)
    if html.unescape(known) != known:
        raise UncheckableError(
            "a character reference without its semicolon is a character to some readers and not to others"
        )
    return _seen(_APOSTROPHE.sub("'", _OPEN_STRONG.sub("", text)))


def _tag(tag: str, links: list[str]) -> str:
    """The text in the place of a tag; a link is added to `links`, or taken from there."""
    name = tag.strip("</> ").lower()
    if name in TAGS:
        return TAGS[name]
    if name == "q":
        return '"'
    if name == "a" and tag[1] == "/" and links:
        return f" <{links.pop()}>"
    if link := _HREF.fullmatch(tag):
        links.append(link["target"])
    elif not tag.startswith("<!--") or any(map(str.isalnum, tag)):
        _refuse("tag", tag)
        raise UncheckableError(f"the tag {tag:.40} may change what is shown")
    return ""


def _seen(text: str) -> str:
    """The text as its letters look."""
    return text if text.isascii() and text.isprintable() else _LETTER.sub(lambda letter: seen(letter[0]), text)


@lru_cache(maxsize=4096)
def seen(letter: str) -> str:
    """The visible form of one character with its combining marks: nothing, itself, or what it looks like.

    Raises: UncheckableError for letters struck through, and for what turns, erases or annotates others.
    """
    if letter.isascii() and letter.isprintable():
        return letter
    letter = unicodedata.normalize("NFC", letter)
    _refuse("letter", letter)
    return "".join(map(_folded, letter))


def _folded(letter: str) -> str:
    if letter in _LOOKS:
        return _LOOKS[letter]
    if letter.isspace():
        return letter if letter in _BREAKS else " "
    if _is_hidden(letter):
        return ""
    kind = unicodedata.decomposition(letter).partition(" ")[0]
    if kind.startswith("<") and (letter.isalpha() or kind not in ("<super>", "<sub>", "<fraction>")):
        looks_like = unicodedata.normalize("NFKC", letter).replace("\u02bc", "'")
        return letter if looks_like.startswith(" ") else looks_like
    if not kind and unicodedata.category(letter) == "No":
        return str(unicodedata.digit(letter, letter))
    return letter


def _is_hidden(letter: str) -> bool:
    """Whether nothing of a character can be seen: control and format characters, fillers, variation selectors."""
    return unicodedata.category(letter) in ("Cc", "Cf") or _HIDDEN.match(letter) is not None
