"""Answers that say nothing without their question, and the question of a prompt."""

import re

from groundrail.english import words
from groundrail.english.quantities import CARDINALS, DAYS, MONTHS, ORDINALS, UNITS
from groundrail.sentences import split

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POLAR = frozenset(
    "yes no yeah yep yup nope nah sure certainly absolutely definitely indeed correct right true false wrong".split()
)
_ANSWERING = (
    _POLAR
    | words.AUXILIARIES
    | words.PRONOUNS
    | words.NEGATIONS
    | words.ADVERBS
    | words.CONJUNCTIONS
    | words.PREPOSITIONS
    | words.DETERMINERS
    | frozenset(
        "all any none some both neither either nothing nobody everybody everyone everything anyone ok okay fine exactly "
        "precisely course least most more less maybe perhaps sometimes usually generally likely probably possibly "
        "please so too well case cases not only here there think believe guess suppose afraid know so it's that's "
        "isn't aren't wasn't don't doesn't didn't can't won't couldn't shouldn't wouldn't mustn't they're you're "
        "allowed required possible permitted forbidden included needed necessary mandatory optional time times "
        "today tomorrow yesterday weekly monthly yearly annually daily".split()
    )
)
_MEASURES = frozenset(CARDINALS) | frozenset(ORDINALS) | frozenset(MONTHS) | frozenset(DAYS) | frozenset(UNITS)
_SPEAKER = re.compile(r"\s*(?:question|user|human|q|prompt)\s*:\s*", re.IGNORECASE)
_READ = 4000
"""Characters at a prompt's end in which its question is looked for."""


def opens_with_answer(claim: str) -> bool:
    """Whether a claim begins by answering yes or no."""
    first = _WORD.search(claim)
    return first is not None and first[0].lower() in _POLAR


def leans_on_question(claim: str) -> bool:
    """Whether a claim says something only as an answer: "No, never.", "Both.", "Until Friday.", "Two years."

    True for a single word, for words that answer, point or count and nothing else, and for up to four words that
    hang on a preposition, or two on an article. A longer one, a label with its value, a question is none.
    """
    found = [word.lower().replace("’", "'") for word in _WORD.findall(claim)]
    if not found or claim.rstrip().endswith("?"):
        return False
    if len(found) == 1 or all(word in _ANSWERING or _measures(word) for word in found):
        return True
    if ":" in claim or any(words.is_finite(word) or word in words.PRESENT_PLURAL for word in found):
        return False
    if found[0] in _POLAR:
        return len(found) <= 6
    if found[0] in words.PREPOSITIONS or found[0] in words.NEGATIONS or _measures(found[0]):
        return len(found) <= 4
    return found[0] in words.DETERMINERS and len(found) == 2


def is_fragment(claim: str) -> bool:
    """Whether a claim is a few words without a verb, as a name is: clearer after its question, where there is one."""
    found = [word.lower() for word in _WORD.findall(claim)]
    return (
        0 < len(found) <= 4
        and ":" not in claim
        and not claim.rstrip().endswith("?")
        and not any(words.is_finite(word) or word in words.PRESENT_PLURAL for word in found)
    )


def question_of(prompt: str) -> str:
    """The questions that a prompt ends with, as one text; empty where it asks none."""
    asked: list[str] = []
    for sentence in reversed(split(prompt[-_READ:])):
        text = _SPEAKER.sub("", sentence.text.strip(), count=1)
        if text.rstrip("\"'”’)*_ ").endswith("?"):
            asked.append(text)
        elif asked:
            break
    return " ".join(reversed(asked))


def _measures(word: str) -> bool:
    return word[0].isdigit() or word in _MEASURES or word.removesuffix("s") in _MEASURES
