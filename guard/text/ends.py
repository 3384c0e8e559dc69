"""The end of a sentence: a full stop, by the list of abbreviations and by sentencex, or the break of a line, by its kind.

`groundrail.text.sentences` finds the stops and the breaks.
"""

import re
from enum import Enum

from sentencex import get_sentence_boundaries  # type: ignore[import-untyped]

from groundrail.text.abbreviations import goes_on
from groundrail.text.english import words

_WINDOW = 200
"""Characters before a stop that sentencex sees, and for which an open bracket holds a sentence together."""

EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\u20e3"
OPENING = "\"'“‘„‚«‹([{¿¡*_`~"
CLOSING = "\"'”’“‘»›)]}*_`~」』）】》〉"

_NUMBER_OF_ITEM = re.compile(r"(?:\A[\s#*_>(+•‣◦▪·–-]*|[:;]\s+)(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{2,4})\.\Z")
_ONLY_EMOJI = re.compile(rf"[{EMOJI}]+")
_EMPHASIS = str.maketrans({"*": "", "`": "", "…": "..."})


NEWLINES = r"\n\r\v\f\x85\u2028\u2029"
"""Characters that break lines, as in a character class of a regular expression."""

BLANK = rf"[^\S{NEWLINES}]"
"""White space that breaks no line, as a regular expression."""

_LONGEST_WORD = 40
"""Characters of a following word that are read at most, so that no word can hold a sentence back."""

_LONGEST_MARK = 9
"""Longest bullet, number or heading mark: a line whose first word is longer has none."""

_NARROWEST = 36
"""Columns of the narrowest text that is known to be wrapped."""

_ASKING = (words.PREPOSITIONS | words.DETERMINERS | words.CONJUNCTIONS) - {"up", "down", "off", "out"}
"""Words that end no title; "Heating up" is one."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_WORD_AHEAD = re.compile(rf"\S{{0,{_LONGEST_WORD}}}")

_NEWLINE = re.compile(rf"\r\n|[{NEWLINES}]")
_FENCE = re.compile(r"`+|~+")
_MARK = re.compile(
    rf"{BLANK}*(?:"
    r"(?P<item>(?:[-+*•‣◦▪·–●■◆►▶➤]|\(?\d{1,3}(?:\.\d{1,2})?[.)]|\(?(?:[A-Za-z]|[ivx]{2,4})\))(?=\s|\Z))"
    r"|(?P<alone>#{1,6}(?=\s|\Z)|\||[-=*_]{3,8}(?=\s|\Z)|[-=]{9})"
    rf"|(?P<fence>`{{3,}}(?=[^`{NEWLINES}]*[{NEWLINES}])|~{{3,}}(?=[^{NEWLINES}]*[{NEWLINES}])))"
)
_HEADING = re.compile(
    rf"\s*(?:#{{1,6}}{BLANK}+(?P<mark>[^{NEWLINES}]+?){BLANK}*#*"
    rf"|(?P<bold>\*\*|__)(?P<words>[^*_{NEWLINES}]+)(?P=bold):?"
    rf"|(?P<title>[^\W\d_a-z][^{NEWLINES}.!;,:|*]{{0,79}}):?)"
    rf"{BLANK}*[{NEWLINES}]\s*"
)
_UNDER_HEAD = re.compile(rf"(?=[^|]*\|){BLANK}*\|?{BLANK}*:?-+:?{BLANK}*(?:\|{BLANK}*:?-+:?{BLANK}*)*\|?{BLANK}*")
"""The line under the head of a table."""
_UNDER_HEAD_SO_FAR = re.compile(r"[|:\-\s]*")


class UndecidedError(Exception):
    """Text that is still to come can change the answer."""


class Line(Enum):
    """The kind of a line, by its first word."""

    PLAIN = "text that may go on in the next line"
    ITEM = "a bullet or a numbered point, which goes on only in indented lines"
    ALONE = "a heading, a table row or a rule: one line, one sentence"
    FENCE = "a fenced code block, up to its closing fence"


def line_starts(text: str, start: int, end: int) -> list[int]:
    """Where lines begin within `text[start:end]`, after each of its breaks."""
    return [match.end() for match in _NEWLINE.finditer(text, start, end)]


def line_kind(text: str, line: int, final: bool) -> Line:
    """The kind of the line from `line` on. Raises: UndecidedError while its first word can still become a mark."""
    rest = text[line:].lstrip()
    word = rest[:_LONGEST_MARK]
    whole = len(word) == _LONGEST_MARK or any(map(str.isspace, word))
    if not final and (not whole or (word.startswith(("```", "~~~")) and not _NEWLINE.search(rest))):
        raise UndecidedError
    mark = _MARK.match(text, line)
    return Line[(mark.lastgroup or "plain").upper()] if mark else Line.PLAIN


def word_at(text: str, start: int, final: bool) -> str:
    """The word at `start`, at most its first 40 characters. Raises: UndecidedError while it can still grow."""
    word = _WORD_AHEAD.match(text, start)[0]  # type: ignore[index]  # it matches the empty text too
    if not final and len(word) < _LONGEST_WORD and start + len(word) == len(text):
        raise UndecidedError
    return word


def without_mark(text: str) -> str:
    """The text of a line without its bullet, number or heading mark."""
    match = _MARK.match(text)
    mark = match and (match["item"] or match["alone"])
    return text[match.end() :].lstrip() if match and mark else text


def is_lead(text: str) -> bool:
    """Whether a line introduces the list that follows it: it ends with a colon, emphasis aside."""
    return text.rstrip().rstrip("*_ ").endswith((":", "："))


def heading_of(text: str) -> str:
    """The words of a line if it is a heading: with a Markdown mark, in bold, or short and without a stop; else empty.

    >>> heading_of("## Pets\\n"), heading_of("**Pets**\\n\\n"), heading_of("Pets are allowed.\\n")
    ('Pets', 'Pets', '')
    """
    found = _HEADING.fullmatch(text)
    return next(filter(None, found.group("mark", "words", "title")), "").strip() if found else ""


def goes_on_as_table(text: str, following: str, final: bool) -> bool:
    """Whether a table goes on: `text` ends with its head, or with the line under it, and `following` has the next line.

    Raises: UndecidedError while the next line can still become the line under a head.
    """
    lines = text.strip().splitlines()
    if not lines[-1].lstrip().startswith("|"):
        return False
    if len(lines) > 1 and _UNDER_HEAD.fullmatch(lines[-1]):
        return following.lstrip().startswith("|")
    line, *more = _NEWLINE.split(following, maxsplit=1)
    if not more and not final and _UNDER_HEAD_SO_FAR.fullmatch(line):
        raise UndecidedError
    return bool(_UNDER_HEAD.fullmatch(line)) and "-" in line


def belongs_to(lead: str, kind: Line, text: str) -> bool:
    """Whether a line of this kind belongs to the list with this lead, or to the table with this head."""
    return text.lstrip().startswith("|") if lead.startswith("|") else kind is Line.ITEM


def opening_fence(text: str, start: int) -> str:
    """The marks of the fence at `start`."""
    opening = _FENCE.match(text, start)
    return opening[0] if opening else "```"


def fence_end(text: str, start: int, fence: str, *, inside: bool) -> int | None:
    """The end of the white space after the fence that closes a block opened by `fence`, None where there is none.

    inside: whether the text from `start` on is a line of the block, and not its opening fence.
    """
    closing = rf"{BLANK}*{fence}{fence[0]}*{BLANK}*[{NEWLINES}]\s*"
    match = re.compile(closing).match(text, start) if inside else None
    match = match or re.compile(f"[{NEWLINES}]{closing}").search(text, start)
    return match.end() if match else None


def break_ends(kind: Line | None, line: str | None, following: Line, indent: str, word: str) -> bool:
    """Whether one line break, by itself, ends a sentence.

    Args:
        kind: the kind of the line before the break.
        line: its text; None where an earlier sentence ends in it.
        following, indent, word: the kind of the line after the break, the white space that it begins with, its first
            word.
    """
    if following is not Line.PLAIN or kind is Line.ALONE:
        return True
    if kind is Line.ITEM:
        return len(indent) < 2 and "\t" not in indent
    if _ONLY_EMOJI.fullmatch(word):
        return True
    if line is None:
        return False
    if line.endswith((":", "：")):
        return True
    first = word.lstrip(OPENING)
    return first[:1].isupper() and not goes_on(line, first) and _stands_alone(line, word)


def _stands_alone(line: str, word: str) -> bool:
    """Whether a line is a title or a label, and the text does not go on in the next line.

    The line is a title or a label if it has no verb, if no word or comma at its end asks for more, and if the next word
    would have fitted into the line of a wrapped text.
    """
    found = [each.lower() for each in _WORD.findall(line)]
    if len(line) + 1 + len(word) > _NARROWEST or line.endswith((",", ";")):
        return False
    return not (any(map(words.is_finite, found)) or (found and found[-1] in _ASKING))


def is_full_stop(text: str, closers: str, word: str) -> bool:
    """Whether a sentence ends with the stop that `text` ends with, given the closing marks and the word that follow."""
    head = text[-_WINDOW:]
    bracketed = head + closers
    if bracketed.rfind("(") > bracketed.rfind(")") or _NUMBER_OF_ITEM.search(text[-24:]):
        return False
    bare = word.strip(OPENING + CLOSING) or word
    if _ONLY_EMOJI.fullmatch(bare) or (closers and bare[0].islower()):
        return False
    head = " ".join(head.translate(_EMPHASIS).split())
    if (on := goes_on(head, bare)) is not None:
        return not on
    return any(found["start_index"] == len(head) + 1 for found in get_sentence_boundaries("en", f"{head} {bare}"))
