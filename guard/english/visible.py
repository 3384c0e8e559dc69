"""What a reader sees of a text: look-alike letters folded, hidden characters out, Markdown and HTML as rendered.

Every visible character knows where in the raw text it comes from. Marks of blocks (bullets, headings, quotes)
stay; taking them off, and saying what is claimed, belongs to `groundrail.claims`. Linear in the text's length.
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundrail.errors import UncheckableError


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
    said, the other does), tags that this module does not know.
    """
    if not _SPECIAL.search(text):
        return Visible(text, tuple(range(len(text))))
    letters: list[str] = []
    places: list[int] = []
    for mark in _marks(text):
        letters += mark.shown
        places += [mark.start] * len(mark.shown)
    return Visible("".join(letters), tuple(places))


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space, control and format characters, fillers."""
    return all(letter.isspace() or _is_hidden(letter) for letter in text)


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
    r"|<(?P<tag>[/!?]?[A-Za-z][^<>]{0,500})>"
    r"|\]\(\s?<?(?P<target>[^()\s<>]{0,500})>?(?:\s(?:\"[^\"]{0,200}\"|'[^']{0,200}'))?\s?\)"
    r"|(?P<label>!?\[)"
    r"|(?P<entity>&\#?\w{1,31};)"
    r"|(?P<run>\*{1,3}|_{1,3}|~{1,2})"
    r"|(?P<letter>.[\u0300-\u036f\u20d0-\u20f0]*)",
    re.DOTALL,
)
_PLAIN_TAGS = frozenset(
    "b i em strong u mark small code kbd q cite abbr span ul ol table tbody thead tr font big".split()
)
_BREAKING_TAGS = frozenset("br p li div td th hr blockquote h1 h2 h3 h4 h5 h6 pre".split())
_HREF = re.compile(r"""a\s+href\s*=\s*(?P<quote>["']?)(?P<target>[^"'\s<>]+)(?P=quote)\s*""", re.IGNORECASE)
_DIRECTIONS = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKS_OF_DIRECTION = frozenset("\u200e\u200f\u061c")
_ERASING = frozenset("\b\x1b\x7f\x9b")
_FOLDED = frozenset("<font> <wide> <narrow> <circle> <square> <noBreak> <initial> <medial> <final> <isolated>".split())
_FOLDED_LETTERS = frozenset("<compat> <super> <sub>".split())
_KEPT = frozenset("µ…")
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_STRUCK = "words struck through are said to some readers and not to others"
_OVERLAY = re.compile("[\u0334-\u0338\u20d2-\u20dc\u20e0\u20e5-\u20eb]")


def _marks(text: str) -> Sequence[_Mark]:
    """The pieces of the text in order, delimiters paired."""
    marks: list[_Mark] = []
    openers: dict[str, list[int]] = {}
    labels: list[int] = []
    links: list[str] = []
    closing = _closing_runs(text)
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
                    marks.append(_Mark(start, match[0]))
                else:
                    marks += _literal(text, place, end)
                    place = end + len(match[0])
            case "comment":
                end = text.find("-->", place)
                if end < 0 or any(map(str.isalnum, text[place:end])):
                    raise UncheckableError("a comment hides a part of it from some readers")
                place = end + 3
                marks.append(_Mark(start, ""))
            case "tag":
                marks.append(_tag(match["tag"], start, links))
            case "target":
                if labels:
                    marks[labels.pop()].shown = ""
                    marks.append(_Mark(start, f" <{match['target']}>"))
                else:
                    marks.append(_Mark(start, match[0]))
            case "label":
                labels.append(len(marks))
                marks.append(_Mark(start, match[0]))
            case "run":
                marks.append(_Mark(start, match[0]))
                _pair(text, start, place, marks, openers)
            case "entity":
                marks += [_Mark(start, _seen(letter)) for letter in html.unescape(match[0])]
            case "escaped":
                marks.append(_Mark(start, match["escaped"]))
            case "address":
                marks.append(_Mark(start, f"<{match['address']}>"))
            case _:
                marks.append(_Mark(start, _seen(match[0])))
    if openers.get("~~"):
        raise UncheckableError(_STRUCK)
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
        yield _Mark(offset, _seen(letter))


def _pair(text: str, start: int, end: int, marks: list[_Mark], openers: dict[str, list[int]]) -> None:
    """Take the run of `*`, `_` or `~` at the end of `marks` off if it closes another; else remember it as an opener."""
    run = text[start:end]
    before, after = text[start - 1 : start], text[end : end + 1]
    if run[0] == "_" and before.isalnum() and after.isalnum():  # snake_case
        return
    closes = bool(before) and not before.isspace()
    opens = bool(after) and not after.isspace()
    waiting = openers.setdefault(run, [])
    if closes and waiting:
        opener = waiting.pop()
        if run[0] == "~" and any(mark.shown.isalnum() for mark in marks[opener:]):
            raise UncheckableError(_STRUCK)
        marks[opener].shown = marks[-1].shown = ""
    elif opens:
        waiting.append(len(marks) - 1)
        if run in ("**", "__") and not closes:  # emphasis may end in a later sentence, and hides nothing
            marks[-1].shown = ""
    elif run in ("**", "__") and closes:
        marks[-1].shown = ""
    elif run == "~~":
        waiting.append(len(marks) - 1)


def _tag(tag: str, start: int, links: list[str]) -> _Mark:
    name = tag.strip("/ ").lower()
    if name == "a" and tag[0] == "/" and links:
        return _Mark(start, f" <{links.pop()}>")
    if name in ("del", "s", "strike"):
        raise UncheckableError(_STRUCK)
    if link := _HREF.fullmatch(tag):
        links.append(link["target"])
        return _Mark(start, "")
    if name in _PLAIN_TAGS:
        return _Mark(start, "")
    if name in _BREAKING_TAGS:
        return _Mark(start, " ")
    raise UncheckableError(f"the tag <{tag:.40}> may change what is shown")


def _seen(letter: str) -> str:
    """What is seen of one character with its combining marks: nothing, itself, or what it looks like."""
    if letter.isascii() and letter.isprintable():
        return letter
    letter = unicodedata.normalize("NFC", letter)
    if _OVERLAY.search(letter):
        raise UncheckableError("letters are struck through by combining characters")
    return "".join(map(_folded, letter))


def _folded(letter: str) -> str:
    if letter in _DIRECTIONS:
        raise UncheckableError(f"U+{ord(letter):04X} turns the writing direction")
    if letter in _ERASING:
        raise UncheckableError(f"the control character U+{ord(letter):04X} changes what a terminal shows")
    if "\U000e0000" <= letter <= "\U000e007f":
        raise UncheckableError("invisible tag characters spell a text that no reader sees")
    if letter.isspace():
        return letter if letter in "\n\r\t\v\f\x85\u2028\u2029" else " "
    if _is_hidden(letter):
        return ""
    if letter == "\u20e3":  # the frame of a keycap
        return ""
    kind = unicodedata.decomposition(letter).partition(" ")[0]
    if letter in _KEPT:
        return letter
    if kind in _FOLDED or (kind in _FOLDED_LETTERS and letter.isalpha()):
        return unicodedata.normalize("NFKC", letter)
    return letter


def _is_hidden(letter: str) -> bool:
    if unicodedata.category(letter) in ("Cc", "Cf") or letter in _FILLERS:
        return True
    return "\ufe00" <= letter <= "\ufe0f" or "\U000e0100" <= letter <= "\U000e01ef"


def _refuse_turning(text: str) -> None:
    """A direction mark in a text that is written from left to right throughout can only reorder it."""
    if _MARKS_OF_DIRECTION.isdisjoint(text):
        return
    if not any(unicodedata.bidirectional(c) in ("R", "AL") for c in text if c not in _MARKS_OF_DIRECTION):
        raise UncheckableError("a direction mark reorders what is shown")
