"""Subjects: which words of a sentence say what it is about, and which values another text gives for the same.

Reads no meaning: it compares words. Whether a sentence is true is a model's to say.
"""

import re
from itertools import product
from typing import NamedTuple

from groundrail.facts.mentions import mentions
from groundrail.text.english.quantities import DAYS, MONTHS
from groundrail.text.english.words import (
    DETERMINERS,
    FUNCTION,
    PRESENT_PLURAL,
    PRONOUNS,
    is_adverb,
    is_finite,
    stem,
    stems,
)

_WORD = re.compile(r"[^\W\d_]+")
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_CLAUSE = re.compile(r"[;:–—]|,(?=\s)|\b(?:and|but|while|whereas)\b")
_PREFIX = re.compile("(?:re|un|dis|non|in|im|il|ir|en|mis|over|under|pre|de|counter|inter|fore|post)-?")
_BEHIND = FUNCTION - DETERMINERS - {"of", "for"}
_CONDITION = re.compile(r"\b(?:if|unless|in case)\b", re.IGNORECASE)
_CALENDAR = {stem(word) for word in (*MONTHS, *DAYS)}


class Subject(NamedTuple):
    """Stems of a text's words.

    names: "Otter" and "Pool" in "The sauna at the Otter Pool costs 4 pounds."
    phrase: the words of its first phrase, up to a verb or a preposition but "of" and "for": "sauna"; none behind a pronoun.
    content: all words but function words.
    """

    names: frozenset[str]
    phrase: frozenset[str]
    content: frozenset[str]


def subject(text: str) -> Subject:
    """The subject of a sentence.

    >>> found = subject("The sauna at the Otter Pool costs 4 pounds.")
    >>> sorted(found.names), sorted(found.phrase)
    (['otter', 'pool'], ['sauna'])
    """
    words = [word.lower() for word in _WORD.findall(text)]
    content = frozenset(stem(word) for word in words if word not in FUNCTION and not is_adverb(word))
    return Subject(names(text), frozenset(map(stem, _phrase(text))), content)


def names(text: str) -> frozenset[str]:
    """The stems of its capitalised words but days and months; of the first word only where another such word follows it.

    >>> sorted(names("Otter Pool is open in May. It is dear."))
    ['otter', 'pool']
    """
    found = list(_WORD.finditer(text))
    capital = [match[0][0].isupper() for match in found]
    words = [
        match[0]
        for place, match in enumerate(found)
        if capital[place] and (place or capital[1:2] == [True]) and len(match[0]) > 1
    ]
    return frozenset(stem(word) for word in words if word.lower() not in FUNCTION) - _CALENDAR


def clauses(text: str) -> dict[str, frozenset[str]]:
    """The parts of a sentence between its commas, semicolons and conjunctions, with the stems of their words.

    A part that opens with a figure says it of the subject of the part before, whose words count for it.

    >>> list(clauses("Adults pay 20 euros on Monday and 30 euros on Sunday, children 5 euros."))
    ['Adults pay 20 euros on Monday ', ' 30 euros on Sunday', ' children 5 euros.']
    """
    found: dict[str, frozenset[str]] = {}
    before = frozenset[str]()
    for part in _CLAUSE.split(text):
        figures = mentions(part)
        opens = bool(figures) and not subject(part[: figures[0].start]).content
        before = frozenset(stems(part)) | (before if opens else frozenset())
        found[part] = before
    return found


def drops_condition(claim: str, statement: str) -> bool:
    """Whether a statement opens with a condition and the claim has none.

    >>> drops_condition("The fee is 5 euros.", "If it rains, the fee is 4 euros.")
    True
    """
    return bool(_CONDITION.match(statement)) and not _CONDITION.search(claim)


def is_turned(claim: str, clause: str) -> bool:
    """Whether one of the two has a word of the other behind a prefix: "reopened" for "opened".

    >>> is_turned("The bath opened in 1962.", "it reopened in 1989")
    True
    """
    mine, theirs = (set(map(str.lower, _COMPOUND.findall(text))) for text in (claim, clause))
    mine, theirs = (words.union(map(stem, words)) for words in (mine, theirs))
    pairs = [pair for one, other in product(mine - theirs, theirs - mine) for pair in ((one, other), (other, one))]
    return any(long.endswith(short) and _PREFIX.fullmatch(long.removesuffix(short)) for short, long in pairs)


def _phrase(text: str) -> list[str]:
    """The words up to the first verb or preposition; none behind a pronoun."""
    found: list[str] = []
    for word in map(str.lower, _WORD.findall(text)):
        if is_finite(word) or (found and word in _BEHIND):
            return found
        if not found and word in PRONOUNS - DETERMINERS:
            return []
        if word not in FUNCTION and not is_adverb(word) and len(word) > 1:
            found.append(word)
    verb = next((place for place, word in enumerate(found) if place and word in PRESENT_PLURAL), 1)
    return found[:verb]  # "weekend guests pay 4 pounds" has no verb that is one for sure
