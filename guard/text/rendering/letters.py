"""What one character looks like to a reader: itself, another, or nothing.

Markup, which takes several, belongs to `groundrail.text.rendering.visible`.
"""

import re
import unicodedata

from groundrail.errors import UncheckableError

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


def seen(letter: str) -> str:
    """What is seen of one character with its combining marks: nothing, itself, or what it looks like.

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
