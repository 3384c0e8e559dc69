"""Find candidates for questions about a text by rule: dates, numbers, names and noun phrases.

They replace the named entities and noun phrases that Q² (section 2, "Question Generation") takes from spaCy, which
`Q2Scorer(spans=...)` accepts. `groundrail.papers.q2.asking` turns a candidate into a question.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from groundrail.facts.mentions import mentions
from groundrail.text.english import words
from groundrail.text.english.quantities import DAYS, MONTHS


class Kind(StrEnum):
    """The kind of answer that a candidate is."""

    YEAR = "year"
    DATE = "date"
    TIME = "time"
    AMOUNT = "amount"
    NUMBER = "number"
    NAME = "name"
    PHRASE = "phrase"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer for which a question can be asked: `text` is the slice of the claim from `start` to `end`."""

    text: str
    start: int
    end: int
    kind: Kind


_MONTH_BEFORE = re.compile(rf"\b(?:{'|'.join(month.capitalize() for month in MONTHS)}),? $")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_TOKEN = re.compile(r"\w+(?:(?:['’.\-/]|,(?=\d))\w+)*|\S")
_LINKS = frozenset({"of", "the", "de", "la", "von", "van", "del", "and"})


def candidates(text: str) -> list[Candidate]:
    """The candidates of `text` in order, the longer first if two begin together; pronouns are not candidates."""
    found: dict[tuple[int, int], Candidate] = {}
    for candidate in (*_figures(text), *_names(text), *_phrases(text)):
        found.setdefault((candidate.start, candidate.end), candidate)
    return sorted(found.values(), key=lambda candidate: (candidate.start, -candidate.end))


def _figures(text: str) -> Iterator[Candidate]:
    """Dates, times, years, amounts and numbers, as `groundrail.facts.mentions` reads them."""
    for found in mentions(text):
        start, end = found.start, found.end
        match found.meaning[0]:
            case "date" | "literal":
                kind = Kind.DATE
            case "time":
                kind = Kind.TIME
            case "quantity":
                kind = Kind.AMOUNT
            case "number" if _YEAR.fullmatch(text[start:end]):
                month = _MONTH_BEFORE.search(text, max(0, start - 12), start)
                kind, start = (Kind.DATE, month.start()) if month else (Kind.YEAR, start)
            case "number":
                kind = Kind.NUMBER
            case _:  # an ordinal is part of a noun phrase
                continue
        yield _candidate(text, start, end, kind)


def _names(text: str) -> Iterator[Candidate]:
    """Runs of capitalised words, also with words like `of` inside; a function word at the start is left out."""
    run: list[re.Match[str]] = []
    tokens = list(_TOKEN.finditer(text))
    for place, token in enumerate([*tokens, None]):
        word = token[0] if token else ""
        opening = place == 0 or tokens[place - 1][0] in '.!?:"'
        named = word[:1].isupper() and not (opening and _is_common(word.lower()))
        if token and (named or (run and word in _LINKS)):
            run.append(token)
            continue
        while run and run[-1][0] in _LINKS:
            run.pop()
        if run and not _is_common(run[0][0].lower()):
            yield _candidate(text, run[0].start(), run[-1].end(), Kind.NAME)
        run = []


def _is_common(word: str) -> bool:
    return word in words.FUNCTION or word in MONTHS or word in DAYS or words.is_adverb(word)


def _phrases(text: str) -> Iterator[Candidate]:
    """Runs of words that are neither function words nor verbs, with the determiner before the run."""
    run: list[str] = []
    start = end = 0
    for token in [*_TOKEN.finditer(text), None]:
        word = token[0].lower() if token else ""
        if token and _is_content(word, run):
            start, end = token.start() if not run else start, token.end()
            run.append(word)
            continue
        if run and run[-1] not in words.DETERMINERS:
            yield _candidate(text, start, end, Kind.PHRASE)
        run = []
        if token and word in words.DETERMINERS:
            start, run = token.start(), [word]


def _is_content(word: str, run: list[str]) -> bool:
    """Whether the word continues or begins a run: it is no function word, no verb and no adverb."""
    if not word or not word[0].isalnum() or word in words.FUNCTION | words.NEGATIONS | words.PARTICIPLES:
        return False
    if words.is_finite(word):
        return run[-1:] != [] and run[-1] in words.DETERMINERS and word.endswith("ed")
    if word in words.PRESENT_PLURAL:  # "the tenants pay", but "the pay"
        return not run or not run[-1].endswith("s")
    return not words.is_adverb(word) or (len(run) == 1 and run[0] in words.DETERMINERS)


def _candidate(text: str, start: int, end: int, kind: Kind) -> Candidate:
    return Candidate(text[start:end], start, end, kind)
