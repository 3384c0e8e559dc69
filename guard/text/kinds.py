"""The kinds of sentences: a claim, talk, or the silence of the source; and a last look at what a model takes for talk.

`groundrail.entailment.builtin.kinds` tells the kinds by a model. Some sentences are claims whatever it says: one with a figure
or a name that neither the words around it nor the source hold, and one that answers, tells the user what is so, or has letters
that stand alone.
"""

import re
from collections.abc import Callable, Collection
from enum import Enum

from groundrail.text.english.words import PERSONAL


class Kind(Enum):
    """The kind of a sentence."""

    CLAIM = "says something that a source can support or contradict"
    TALK = "says nothing that a source could support or contradict"
    SILENCE = "says that the source does not say something"


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ADDRESSING = PERSONAL | {"here", "thanks", "sorry", "please"}
_CLOSING = "*_ )]\"'”’"
_CLAIMING = re.compile(
    r"""(?ix)
    ^\W*(?:yes|no|certainly|absolutely|definitely|indeed)\b   # it answers, and so does the last word
    |\b(?:yes|no)\W*$
    |\?\s+\w                                            # a question with its answer
    |\b(?:you|they|we)\s+(?:can|may|must|need)\b
    |\byour\b.*\b(?:is|are|was|were|has|have)\b
    |\w\W+(?:who|why|because)\s+\w[^?]*$                    # people who died
    |(?<![\w'’])(?![ai\d])\w(?![\w'’])                 # a letter alone
    """
)
_OPENING = re.compile(r"(?:^|[.!?…:]\s+|\n\s*)[^\w]*$")


def may_be_talk(sentence: str, around: str, is_stated: Callable[[str], bool]) -> bool:
    """Whether a sentence addresses somebody, with figures and names that stand in the words around it or in the source.

    Args:
        is_stated: whether a word, in small letters, stands in the source.

    >>> may_be_talk("Hi Maria!", "Hello, I'm Maria.", lambda word: False)
    True
    >>> may_be_talk("Don't forget the 20 euros!", "When does it open?", lambda word: False)
    False
    >>> may_be_talk("The shop is unsure.", "", lambda word: False)
    False
    """
    known = words_of(around)
    is_told = sentence.rstrip(_CLOSING).endswith(".") and not any(
        word.split("'")[0] in _ADDRESSING for word in words_of(sentence)
    )
    if is_told or _CLAIMING.search(sentence):
        return False
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
