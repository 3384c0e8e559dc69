"""The part of a sentence that a reader sees: Markdown and HTML as rendered, look-alike letters folded, hidden
characters out.

Markdown-it tells the markup. This module refuses what readers disagree on. Marks of lists, headings and quotations
stay; taking them off, and saying what is claimed, belongs to `groundrail.text.claims`.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from html.entities import html5

from markdown_it import MarkdownIt
from markdown_it.token import Token

from groundrail.errors import UncheckableError


def visible(text: str) -> str:
    """The sentence as a reader sees it; the target of a link stands behind its words as ` <target>`.

        visible("Cash is **not** [accepted](http://a.b).")  # "Cash is not accepted <http://a.b>."

    Raises: UncheckableError for what two readers would read differently: turned writing directions, characters that erase
    others, words that are struck or in a comment, pictures, footnotes, titles of links, links of which a part is elsewhere,
    tags that may change what is shown. A definition of a link, a cell that a table drops and code that is none where it
    stands are seen by `groundrail.text.rendering.rendered`.
    """
    if not _SPECIAL.search(text):
        return text
    _refuse_unshown_lines(text)
    text = text.replace("\0", "")  # which markdown-it shows
    tokens = _parser().parse(text) if _FENCE.search(text) else _parser().parseInline(text)
    shown = "".join(_shown(token) for token in tokens)
    _refuse_turning(text)
    return shown


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space, control and format characters, fillers."""
    return all(letter.isspace() or is_hidden(letter) for letter in text)


_SPECIAL = re.compile(r"[^\n -~]|[\\`*_~\[\]<&]")
"""Texts without any of these are seen as they are."""

_PLAIN_TAGS = frozenset("b i em strong u mark small code kbd cite abbr span font big".split())
_BREAKING_TAGS = frozenset("br p li div hr blockquote h1 h2 h3 h4 h5 h6 pre ul ol".split())
_HREF = re.compile(r"""<a\s+href\s*=\s*(?P<quote>["']?)(?P<target>[^"'\s<>]+)(?P=quote)\s*>""", re.IGNORECASE)
_STRUCK = "words struck through are said to some readers and not to others"
_LANGUAGES = frozenset(
    "text txt plaintext md markdown json jsonc jsonl yaml yml toml ini csv xml html css scss sql sh bash zsh shell "
    "console powershell diff dockerfile makefile graphql http latex tex python py javascript js jsx typescript "
    "ts tsx java c cpp c++ cs csharp c# go rust php ruby rb perl lua r swift kotlin scala dart haskell elixir julia "
    "matlab hcl terraform nginx".split()
)
"""Those whose text is shown as it is: of a language that is drawn, as Mermaid is, comments are hidden."""
_BEFORE = r"^(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t]){0,40}"
"""Marks of quotations and lists, within which a line can be one that Markdown takes for itself."""
_DIRECTIONS = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069")
_ACTING = frozenset("\b\x0e\x0f\x1b\x1c\x1d\x1e\x1f\x7f") | frozenset(map(chr, range(0x80, 0xA0))) - {"\x85"}
"""Controls that erase, hide or restyle text on a terminal, or that only some readers see as a gap."""
_FOLDED = frozenset(
    "<font> <wide> <narrow> <small> <vertical> <circle> <square> <noBreak> <initial> <medial> <final> <isolated> "
    "<compat>".split()
)
_FOLDED_LETTERS = frozenset("<super> <sub>".split())
_KEPT = frozenset("µ…ªº№′″‴")
_APOSTROPHES = frozenset("\u02b9\u02bb\u02bc\u02bd\u02c8\u00b4\ua78c")
_BLANKS = frozenset("\u115f\u2800\u3164\uffa0")
"""Fillers that a reader sees as a gap."""
_FILLERS = _BLANKS | frozenset("\u034f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f")
_ANNOTATING = frozenset("\ufff9\ufffa\ufffb")
_OVERLAY = re.compile("[\u0334-\u0338\u0488\u0489\u1cd4\u1ce2-\u1ce8\u1dfb\u20d2-\u20dc\u20e0\u20e5-\u20eb]")

_FENCE = re.compile(_BEFORE + r"(?:`{3,}[^`\n]*|~{3,}[^\n]*)$", re.MULTILINE)
_FOOTNOTE = re.compile(_BEFORE + r"\[\^[^\[\]\n]{1,999}\]:", re.MULTILINE)
_STARRED_DIGITS = re.compile(r"\d(\*{1,3})\d[\d.,]*\1\d")
_OVERWRITING = re.compile(r"\r(?!\n)[ \t]*[^\s]")
_MARKS_OF_DIRECTION = frozenset("\u200e\u200f\u061c")
_OPEN_STRONG = re.compile(r"(?<!\w)(?:\*\*|__)(?=\S)|(?<=\S)(?:\*\*|__)(?!\w)")
"""Strong emphasis may go on in another sentence, and hides nothing."""
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])`(?=[^\W\d_])")
_LETTER = re.compile(r".[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1cd0-\u1cff\u1dc0-\u1dff\u20d0-\u20f0]*", re.DOTALL)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("strikethrough")
    parser.core.ruler.disable("text_join")  # what was escaped is no markup to any reader
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]  # targets are compared as they are written
    return parser


@cache
def _misread() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Beginnings of markup that markdown-it leaves as text, and why other readers may see something else there."""
    legacy = "|".join(name for name in html5 if not name.endswith(";"))
    return (
        (re.compile(r"\]\("), "a link that cannot be read hides a part of it from some readers"),
        (re.compile("~~"), _STRUCK),
        (re.compile("<!--"), "a comment hides a part of it from some readers"),
        (re.compile("<[A-Za-z/!?]"), "a tag that does not end hides what follows it from some readers"),
        (
            re.compile(rf"&(?:#\d|#[xX][0-9a-fA-F]|(?:{legacy})(?![A-Za-z0-9]*=))"),
            "a character reference without its semicolon is a character to some readers and not to others",
        ),
    )


def _shown(token: Token) -> str:
    """The shown text of a block or of a part of a line."""
    match token.type:
        case "inline":
            return _line(token.children or ())
        case "fence":
            language = token.info.strip()
            if language.lower() not in _LANGUAGES and any(map(str.isalnum, language)):
                raise UncheckableError("words behind the mark of a code block are hidden from some readers")
            return f"\n{_seen(token.content)}"
        case "html_block":
            raise UncheckableError("the tags around it may change what is shown")
    return _seen(token.content)


def _line(tokens: Sequence[Token]) -> str:
    """The shown text of the pieces of a line, links with their targets."""
    shown: list[str] = []
    links: list[str] = []
    for token in tokens:
        match token.type:
            case "text":
                shown.append(_text(token.content))
            case "text_special":
                if token.info == "entity" and (
                    token.content == "\ufffd" or unicodedata.category(token.content[0]) == "Cc"
                ):
                    raise UncheckableError("a character reference to a control character changes what is shown")
                shown.append(_seen(token.content))
            case "code_inline":
                shown.append(_seen(token.content))
            case "softbreak" | "hardbreak":
                shown.append("\n")
            case "link_open" if token.markup == "autolink":
                shown.append("<")
            case "link_close" if token.markup == "autolink":
                shown.append(">")
            case "link_open":
                if any(map(str.isalnum, str(token.attrs.get("title", "")))):
                    raise UncheckableError("the title of a link is hidden from some readers")
                links.append(str(token.attrs["href"]))
                if len(links[-1].split()) > 1:
                    raise UncheckableError("a link that cannot be read hides a part of it from some readers")
            case "link_close":
                shown.append(f" <{links.pop()}>")
            case "s_open":
                raise UncheckableError(_STRUCK)
            case "image":
                raise UncheckableError("a picture is shown where words are judged")
            case "html_inline":
                shown.append(_tag(token.content, links))
    if links:
        raise UncheckableError("an unclosed link would swallow the text after it")
    return "".join(shown)


def _text(text: str) -> str:
    for pattern, reason in _misread() if not text.isalnum() else ():
        if pattern.search(text):
            raise UncheckableError(reason)
    return _seen(_APOSTROPHE.sub("'", _OPEN_STRONG.sub("", text)))


def _tag(tag: str, links: list[str]) -> str:
    if tag.startswith("<!--") and not any(map(str.isalnum, tag)):
        return ""
    if tag.startswith("<!--"):
        raise UncheckableError("a comment hides a part of it from some readers")
    name = tag.strip("</> ").lower()
    if name == "a" and tag[1] == "/" and links:
        return f" <{links.pop()}>"
    if link := _HREF.fullmatch(tag):
        links.append(link["target"])
        return ""
    if name in ("del", "s", "strike"):
        raise UncheckableError(_STRUCK)
    if name == "q":
        return '"'
    if name in _PLAIN_TAGS or name in _BREAKING_TAGS:
        return " " * (name in _BREAKING_TAGS)
    raise UncheckableError(f"the tag {tag:.40} may change what is shown")


def _refuse_unshown_lines(text: str) -> None:
    """Lines that Markdown takes for itself or a terminal writes over, and stars between digits."""
    if _FOOTNOTE.search(text):
        raise UncheckableError("a footnote is shown to some readers elsewhere, or nowhere")
    if _OVERWRITING.search(text):
        raise UncheckableError("what follows a carriage return is written over it on a terminal")
    if _STARRED_DIGITS.search(text):
        raise UncheckableError("stars between digits are read by some and hidden from others")


def _refuse_turning(text: str) -> None:
    """A direction mark in a text that is written from left to right throughout can only reorder it."""
    if _MARKS_OF_DIRECTION.isdisjoint(text):
        return
    if not any(unicodedata.bidirectional(c) in ("R", "AL") for c in text if c not in _MARKS_OF_DIRECTION):
        raise UncheckableError("a direction mark reorders what is shown")


def _seen(text: str) -> str:
    """The text as its letters look."""
    return text if text.isascii() and text.isprintable() else _LETTER.sub(lambda letter: seen(letter[0]), text)


def seen(letter: str) -> str:
    """The visible form of one character with its combining marks: nothing, itself, or what it looks like.

    Raises: UncheckableError for letters struck through, and for what turns, erases or annotates others.
    """
    if letter.isascii() and letter.isprintable():
        return letter
    letter = unicodedata.normalize("NFC", letter)
    if _OVERLAY.search(letter):
        raise UncheckableError("letters are struck through by combining characters")
    return "".join(map(_folded, letter))


def _folded(letter: str) -> str:
    if letter in _DIRECTIONS:
        raise UncheckableError(f"U+{ord(letter):04X} turns the writing direction")
    if letter in _ACTING:
        raise UncheckableError(f"the control character U+{ord(letter):04X} changes what a terminal shows")
    if "\U000e0000" <= letter <= "\U000e007f":
        raise UncheckableError("invisible tag characters spell a text that no reader sees")
    if letter in _ANNOTATING:
        raise UncheckableError(f"U+{ord(letter):04X} sets an annotation that some readers do not see")
    if letter in _BLANKS:
        return " "
    if letter.isspace():
        return letter if letter in "\n\r\t\v\f\x85\u2028\u2029" else " "
    if is_hidden(letter):
        return ""
    if letter == "\u20e3":  # the frame of a keycap
        return ""
    kind = unicodedata.decomposition(letter).partition(" ")[0]
    if letter in _KEPT:
        return letter
    if letter in _APOSTROPHES:
        return "'"
    if kind in _FOLDED or (kind in _FOLDED_LETTERS and letter.isalpha()):
        looks_like = unicodedata.normalize("NFKC", letter).replace("\u02bc", "'")
        return letter if looks_like.startswith(" ") else looks_like
    if not kind and unicodedata.category(letter) == "No" and (digit := unicodedata.digit(letter, None)) is not None:
        return str(digit)
    return letter


def is_hidden(letter: str) -> bool:
    """Whether nothing of a character can be seen: control and format characters, fillers, variation selectors."""
    if unicodedata.category(letter) in ("Cc", "Cf") or letter in _FILLERS:
        return True
    return "\ufe00" <= letter <= "\ufe0f" or "\U000e0100" <= letter <= "\U000e01ef"
