"""Whether the stop behind a word is that of an abbreviation or an ordinal, by a list and by the word that follows.

`abbreviations.toml` holds the list. In doubt the sentence goes on: two sentences are judged as one, but half a sentence is
never judged alone.
"""

import re
import tomllib
from importlib.resources import files

from groundrail.text.english import words

_DATA = tomllib.loads(files(__package__).joinpath("abbreviations.toml").read_text(encoding="utf-8"))
_NEVER_LAST, _SELDOM_LAST = (frozenset(" ".join(_DATA[name].values()).split()) for name in ("never_last", "seldom_last"))
_BEHIND_NUMBER, _NO_ABBREVIATIONS, _MONTHS, _BEFORE_ORDINAL = (
    frozenset(_DATA[name].split()) for name in ("behind_number", "no_abbreviations", "months", "before_ordinal")
)
_OPENERS = words.FUNCTION | words.ADVERBS | words.NEGATIONS | frozenset(_DATA["openers"].split())

_REACH = 60
"""Characters that are read at most of the text before a stop."""

_LAST = re.compile(r"(?P<before>\w+)?\W*?(?<![^\W\d_])(?P<last>(?:[^\W\d_]{1,12}\.)*[^\W\d_]{1,12}|\b\d{1,2})\.\Z")
"""The last word of a text that ends with a stop, with the word before it."""
_WORD = re.compile(r"\w+|\W")
_SHORTENED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}|(?![A-Z]+\Z)[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{2,5}")


def goes_on(text: str, word: str) -> bool | None:
    """Whether a sentence goes on behind the stop that `text` ends with, before `word`; None if the list does not know.

    >>> goes_on("The landlord is Ms.", "Lind")
    True
    >>> goes_on("It opens at 9 a.m.", "Monday"), goes_on("It opens at 9 a.m.", "The"), goes_on("It is late.", "Lind")
    (True, None, None)
    """
    found = _LAST.search(text[-_REACH:])
    if found is None:
        return None
    last, before, word = found["last"], found["before"] or "", _WORD.match(word)[0]  # type: ignore[index]
    if last.isdigit():
        return _is_ordinal(before.lower(), word) or None
    if last in _NO_ABBREVIATIONS and word[0].isupper():
        return False
    if _listed(last, _NEVER_LAST):
        return True
    shortened = _listed(last, _SELDOM_LAST) or _SHORTENED.fullmatch(last) is not None
    if shortened or (last in _BEHIND_NUMBER and before.isdigit()):
        return not (word[0].isupper() and word.lower() in _OPENERS) or None
    return None


def _listed(last: str, listed: frozenset[str]) -> bool:
    return last in listed or last.lower() in listed


def _is_ordinal(before: str, word: str) -> bool:
    """Whether the number behind `before` is an ordinal, or goes on in another number: "6. 40 pounds"."""
    return word[0].isdigit() or word.lower() in _MONTHS or before in _BEFORE_ORDINAL
