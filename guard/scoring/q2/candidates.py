"""What a question about a text can ask for: dates, numbers, names and noun phrases, found by rule.

Stands in for the entities and noun chunks that Q² (section 3.1) takes from a parser. Turning a candidate into a
question is `groundrail.scoring.q2.questions`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from groundrail.english import words


class Kind(StrEnum):
    """What sort of answer a candidate is."""

    YEAR = "year"
    DATE = "date"
    AMOUNT = "amount"
    NUMBER = "number"
    NAME = "name"
    PHRASE = "phrase"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer a question can be asked for: `text` is the claim's slice from `start` to `end`."""

    text: str
    start: int
    end: int
    kind: Kind


_MONTH = rf"(?:{'|'.join(month.capitalize() for month in sorted(words.MONTHS))})"
_CURRENCY = r"(?:dollars?|euros?|pounds?|yen|cents?|percent|per cent|%|€|USD|EUR|GBP)"
_FIGURE = r"\d+(?:[.,]\d+)*(?:\s(?:hundred|thousand|million|billion|trillion))?"
_NUMBER_WORD = rf"(?:{'|'.join(sorted(words.NUMBER_WORDS - {'one', 'half'}))})"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:1[0-9]|20)\d{2}"
_PATTERNS = (
    (Kind.DATE, rf"\b(?:{_DAY} {_MONTH}|{_MONTH} {_DAY}|{_MONTH}(?=,? {_YEAR}\b))(?:,? {_YEAR})?\b"),
    (Kind.YEAR, rf"\b{_YEAR}\b(?![.,]\d)"),
    (Kind.AMOUNT, rf"[$€£¥]\s?{_FIGURE}|\b{_FIGURE}\s?{_CURRENCY}(?!\w)"),
    (Kind.NUMBER, rf"(?<![\w.,]){_FIGURE}(?![\w%€])|\b{_NUMBER_WORD}(?:[ -]{_NUMBER_WORD})*\b"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)
_TOKEN = re.compile(r"\w+(?:(?:['’.\-/]|,(?=\d))\w+)*|\S")
_LINKS = frozenset({"of", "the", "de", "la", "von", "van", "del", "and"})


def candidates(text: str) -> list[Candidate]:
    """The candidates of `text` in order, the longer first where two begin together; pronouns are none."""
    found: dict[tuple[int, int], Candidate] = {}
    for candidate in (*_figures(text), *_names(text), *_phrases(text)):
        found.setdefault((candidate.start, candidate.end), candidate)
    return sorted(found.values(), key=lambda candidate: (candidate.start, -candidate.end))


def _figures(text: str) -> Iterator[Candidate]:
    """Dates, years, amounts and numbers; a figure within a longer one is not repeated."""
    taken: list[tuple[int, int]] = []
    for kind, pattern in _COMPILED:
        for match in pattern.finditer(text):
            if not any(start < match.end() and match.start() < end for start, end in taken):
                taken.append(match.span())
                yield Candidate(match[0], match.start(), match.end(), kind)


def _names(text: str) -> Iterator[Candidate]:
    """Runs of capitalised words, `of` and the like within them; an opening function word is left out."""
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
    return word in words.FUNCTION or word in words.MONTHS | words.WEEKDAYS or words.is_adverb(word)


def _phrases(text: str) -> Iterator[Candidate]:
    """Runs of words that are neither function words nor verbs, with the determiner before them."""
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
    """Whether the word goes on with the run, or begins one: no function word, no verb, no adverb."""
    if not word or not word[0].isalnum() or word in words.FUNCTION | words.NEGATIONS | words.PARTICIPLES:
        return False
    if words.is_finite(word):
        return run[-1:] != [] and run[-1] in words.DETERMINERS and word.endswith("ed")
    if word in words.PRESENT_PLURAL:  # "the tenants pay", but "the pay"
        return not run or not run[-1].endswith("s")
    return not words.is_adverb(word) or (len(run) == 1 and run[0] in words.DETERMINERS)


def _candidate(text: str, start: int, end: int, kind: Kind) -> Candidate:
    return Candidate(text[start:end], start, end, kind)
