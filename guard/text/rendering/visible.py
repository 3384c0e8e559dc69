"""What a reader sees of a text: look-alike letters folded, hidden characters out, Markdown and HTML as rendered.

Every visible character knows where in the raw text it comes from. Marks of blocks (bullets, headings, quotes)
stay; taking them off, and saying what is claimed, belongs to `groundrail.text.claims`. Linear in the text's length.
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.entities import html5

from groundrail.errors import UncheckableError
from groundrail.text.rendering.letters import is_hidden, seen


@dataclass(frozen=True, slots=True)
class Visible:
    """`text` as seen; character `i` of it comes from character `places[i]` of the raw text.

    The target of a link stands after its words as ` <target>`: a reader can follow it.
    """

    text: str
    places: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]`, not empty, begins and ends in the raw text."""
        return self.places[start], self.places[end - 1] + 1


def visible(text: str) -> Visible:
    """The text as a reader sees it.

    Raises: UncheckableError for what two readers would read differently: turned writing directions, characters
    that erase others, words struck through or in a comment (the one who sees them rendered does not read them as
    said, the other does), pictures, footnotes, titles of links, links of which a part is elsewhere, text between the
    cells of a table, tags that this module does not know. Definitions of links, cells that a table drops and code that is
    none where it stands are seen by `groundrail.text.rendering.rendered`.
    """
    if not _SPECIAL.search(text):
        return Visible(text, tuple(range(len(text))))
    _refuse_unshown_lines(text)
    letters: list[str] = []
    places: list[int] = []
    for mark in _marks(text):
        letters += mark.shown
        places += [mark.start] * len(mark.shown)
    return Visible("".join(letters), tuple(places))


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space, control and format characters, fillers."""
    return all(letter.isspace() or is_hidden(letter) for letter in text)


@dataclass(slots=True)
class _Mark:
    """A piece of the raw text and what is shown of it."""

    start: int
    shown: str


_SPECIAL = re.compile(r"[^\n -~]|[\\`*_~\[\]<&]")
"""Texts without any of these are seen as they are."""

_PIECE = re.compile(
    r"(?P<code>`+)"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<comment><!--)"
    r"|<(?P<address>[A-Za-z][A-Za-z0-9+.-]{1,20}:[^\s<>]*|[^\s<>@/]{1,80}@[^\s<>]{1,200})>"
    r"|<(?P<tag>[A-Za-z/!?][^<>]{0,500})>"
    r"|(?P<unclosed><[A-Za-z/!?])"
    r"|\]\(\s?<?(?P<target>[^()\s<>]{0,500})>?(?:\s(?P<title>\"[^\"]{0,200}\"|'[^']{0,200}'))?\s?\)"
    r"|(?P<half>\]\()"
    r"|(?P<label>!?\[)"
    r"|(?P<entity>&(?:\#(?:\d{1,7}|[xX][0-9a-fA-F]{1,6});?|[A-Za-z][A-Za-z0-9]{1,31};?))"
    r"|(?P<run>\*{1,3}|_{1,3}|~~)"
    r"|(?P<letter>.[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1cd0-\u1cff\u1dc0-\u1dff\u20d0-\u20f0]*)",
    re.DOTALL,
)
_PLAIN_TAGS = frozenset("b i em strong u mark small code kbd cite abbr span font big".split())
_BREAKING_TAGS = frozenset("br p li div td th hr blockquote h1 h2 h3 h4 h5 h6 pre ul ol table tbody thead tr".split())
_OUT_OF_CELL = frozenset("table thead tbody tr /thead /tbody /tr /th /td".split())
"""Tags of a table behind which no text has its place: browsers move it out, before the table."""
_OF_TABLE = _OUT_OF_CELL | {"th", "td", "/table"}
_HREF = re.compile(r"""a\s+href\s*=\s*(?P<quote>["']?)(?P<target>[^"'\s<>]+)(?P=quote)\s*""", re.IGNORECASE)
_MARKS_OF_DIRECTION = frozenset("\u200e\u200f\u061c")
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
_FENCE = re.compile(_BEFORE + r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[^`\n]*)$", re.MULTILINE)
_FOOTNOTE = re.compile(_BEFORE + r"\[\^[^\[\]\n]{1,999}\]:", re.MULTILINE)
_STARRED_DIGITS = re.compile(r"\d(\*{1,3})\d[\d.,]*\1\d")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_OVERWRITING = re.compile(r"\r(?!\n)[ \t]*[^\s]")


def _marks(text: str) -> Sequence[_Mark]:
    """The pieces of the text in order, delimiters paired."""
    marks: list[_Mark] = []
    openers: dict[str, list[int]] = {}
    labels: list[int] = []
    links: list[str] = []
    closing = _closing_runs(text)
    fences = {fence.start("marks"): fence.end() for fence in _FENCE.finditer(text)}  # the language is not shown
    of_table: list[tuple[int, str]] = []
    place = 0
    while place < len(text):
        match = _PIECE.match(text, place)
        if match is None:  # the last alternative takes any character
            raise UncheckableError(f"character {place} cannot be read")
        start, place = place, match.end()
        match match.lastgroup:
            case "code":
                end = closing.get(start)
                if end is None:
                    in_word = (
                        match[0] == "`" and text[start - 1 : start].isalpha() and text[place : place + 1].isalpha()
                    )
                    marks.append(_Mark(start, "'" if in_word else match[0]))
                else:
                    marks += _literal(text, fences.get(start, place), end)
                    place = end + len(match[0])
            case "comment":
                end = text.find("-->", place)
                if end < 0 or any(map(str.isalnum, text[place:end])):
                    raise UncheckableError("a comment hides a part of it from some readers")
                place = end + 3
                marks.append(_Mark(start, ""))
            case "tag":
                marks.append(_tag(match["tag"], start, links))
                of_table.append((len(marks), match["tag"].rstrip("/ ").lower()))
            case "unclosed":
                raise UncheckableError("a tag that does not end hides what follows it from some readers")
            case "half":
                if labels:
                    raise UncheckableError("a link that cannot be read hides a part of it from some readers")
                marks.append(_Mark(start, match[0]))
            case "target" | "title":
                if labels:
                    label = marks[labels.pop()]
                    if label.shown == "![":
                        raise UncheckableError("a picture is shown where words are judged")
                    label.shown = ""
                    if any(map(str.isalnum, match["title"] or "")):
                        raise UncheckableError("the title of a link is hidden from some readers")
                    marks.append(_Mark(start, f" <{match['target']}>"))
                else:
                    raise UncheckableError("a link that began before hides a part of it from some readers")
            case "label":
                labels.append(len(marks))
                marks.append(_Mark(start, match[0]))
            case "run":
                if match[0] == "~~":
                    raise UncheckableError(_STRUCK)
                marks.append(_Mark(start, match[0]))
                _pair(text, start, place, marks, openers)
            case "entity":
                marks += [_Mark(start, seen(letter)) for letter in _referred(match[0], text[place : place + 1])]
            case "escaped":
                marks.append(_Mark(start, match["escaped"]))
            case "address":
                marks.append(_Mark(start, f"<{match['address']}>"))
            case _:
                marks.append(_Mark(start, seen(match[0])))
    if links:
        raise UncheckableError("a link that does not end takes what follows it along")
    _refuse_text_between_cells(marks, [(end, tag) for end, tag in of_table if tag in _OF_TABLE])
    _refuse_turning(text)
    return marks


def _closing_runs(text: str) -> dict[int, int]:
    """Where each run of backticks that opens code ends it: at the next run of the same length."""
    closing: dict[int, int] = {}
    runs = [match.span() for match in re.finditer("`+", text)]
    after: dict[int, int] = {}
    for start, end in reversed(runs):
        if end - start in after:
            closing[start] = after[end - start]
        after[end - start] = start
    return closing


def _literal(text: str, start: int, end: int) -> Iterator[_Mark]:
    for offset, letter in enumerate(text[start:end], start):
        yield _Mark(offset, seen(letter))


def _pair(text: str, start: int, end: int, marks: list[_Mark], openers: dict[str, list[int]]) -> None:
    """Take the run of `*` or `_` at the end of `marks` off if it closes another; else remember it as an opener."""
    run = text[start:end]
    before, after = text[start - 1 : start], text[end : end + 1]
    if run[0] == "_" and before.isalnum() and after.isalnum():  # snake_case
        return
    closes = bool(before) and not before.isspace()
    opens = bool(after) and not after.isspace()
    waiting = openers.setdefault(run, [])
    if closes and waiting:
        opener = waiting.pop()
        marks[opener].shown = marks[-1].shown = ""
    elif opens:
        waiting.append(len(marks) - 1)
        if run in ("**", "__") and not closes:  # emphasis may end in a later sentence, and hides nothing
            marks[-1].shown = ""
    elif run in ("**", "__") and closes:
        marks[-1].shown = ""


def _refuse_unshown_lines(text: str) -> None:
    """Lines that Markdown takes for itself or a terminal writes over, and digits between stars, which are brought
    together."""
    for fence in _FENCE.finditer(text):
        language = fence["language"].strip()
        if language.lower() not in _LANGUAGES and any(map(str.isalnum, language)):
            raise UncheckableError("words behind the mark of a code block are hidden from some readers")
    if _FOOTNOTE.search(text):
        raise UncheckableError("a footnote is shown to some readers elsewhere, or nowhere")
    if _OVERWRITING.search(text):
        raise UncheckableError("what follows a carriage return is written over it on a terminal")
    if _STARRED_DIGITS.search(text):
        raise UncheckableError("stars between digits are read by some and hidden from others")


def _referred(reference: str, following: str) -> str:
    """The characters that a character reference stands for, or itself where it is none to any reader.

    Raises: UncheckableError for one that some readers see resolved and others do not.
    """
    name = reference[1:]
    if name.startswith("#"):
        code = int(name[2:].rstrip(";"), 16) if name[1] in "xX" else int(name[1:].rstrip(";"))
        if code <= 0x9F and _CONTROLS.match(chr(code)):
            raise UncheckableError("a character reference to a control character changes what is shown")
        resolved = name.endswith(";")
        legacy = not resolved
    else:
        resolved = name.endswith(";") and name in html5
        legacy = not resolved and following != "=" and any(name[:end] in html5 for end in range(2, 8))
    if legacy:
        raise UncheckableError(f"{reference:.12} is a character to some readers and not to others")
    return html.unescape(reference) if resolved else reference


def _tag(tag: str, start: int, links: list[str]) -> _Mark:
    name = tag.strip("/ ").lower()
    if name == "a" and tag[0] == "/" and links:
        return _Mark(start, f" <{links.pop()}>")
    if name in ("del", "s", "strike"):
        raise UncheckableError(_STRUCK)
    if link := _HREF.fullmatch(tag):
        links.append(link["target"])
        return _Mark(start, "")
    if name == "q":
        return _Mark(start, '"')
    if name in _PLAIN_TAGS:
        return _Mark(start, "")
    if name in _BREAKING_TAGS:
        return _Mark(start, " ")
    raise UncheckableError(f"the tag <{tag:.40}> may change what is shown")


def _refuse_text_between_cells(marks: Sequence[_Mark], tags: Sequence[tuple[int, str]]) -> None:
    """`tags`: those of tables, each with the place in `marks` behind it."""
    ends = [*(start for start, _ in tags[1:]), len(marks)]
    for (start, tag), end in zip(tags, ends, strict=False):
        if tag in _OUT_OF_CELL and not is_blank("".join(mark.shown for mark in marks[start:end])):
            raise UncheckableError("text in a table that is in no cell of it is moved by some readers")


def _refuse_turning(text: str) -> None:
    """A direction mark in a text that is written from left to right throughout can only reorder it."""
    if _MARKS_OF_DIRECTION.isdisjoint(text):
        return
    if not any(unicodedata.bidirectional(c) in ("R", "AL") for c in text if c not in _MARKS_OF_DIRECTION):
        raise UncheckableError("a direction mark reorders what is shown")
