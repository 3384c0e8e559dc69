"""The kinds of sentences: a claim, talk, or the silence of the source; and a last look at what a model takes for talk.

`groundrail.entailment.builtin.kinds` tells the kinds by a model. Whatever it says, a sentence with a figure or a name that
neither the words around it nor the source hold is a claim.
"""

import re
from collections.abc import Callable, Collection
from enum import Enum


class Kind(Enum):
    """The kind of a sentence."""

    CLAIM = "says something that a source can support or contradict"
    TALK = "says nothing that a source could support or contradict"
    SILENCE = "says that the source does not say something"


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_OPENING = re.compile(r"(?:^|[.!?…:]\s+|\n\s*)[^\w]*$")


def may_be_talk(sentence: str, around: str, is_stated: Callable[[str], bool]) -> bool:
    """Whether every figure and name of a sentence stands in the words around it or in the source.

    Args:
        is_stated: whether a word, in small letters, stands in the source.

    >>> may_be_talk("Hi Maria!", "Hello, I'm Maria.", lambda word: False)
    True
    >>> may_be_talk("Don't forget the 20 euros!", "When does it open?", lambda word: False)
    False
    """
    known = words_of(around)
    return all(word in known or is_stated(word) for word in _telling(sentence))


def words_of(text: str) -> set[str]:
    """The words of a text in small letters.

    >>> sorted(words_of("Hi, I'm Maria."))
    ['hi', "i'm", 'maria']
    """
    return {match[0].lower().replace("’", "'") for match in _WORD.finditer(text)}


def _telling(sentence: str) -> Collection[str]:
    """The figures of a sentence and the words that a capital makes names, in small letters."""
    found = set()
    for match in _WORD.finditer(sentence):
        word = match[0]
        is_name = word[0].isupper() and word.split("'")[0] != "I" and not _OPENING.search(sentence[: match.start()])
        if is_name or any(map(str.isdigit, word)):
            found.add(word.lower().replace("’", "'"))
    return found
