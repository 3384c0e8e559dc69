"""Which details of a claim, its dates, times, numbers, quantities, codes and names, a premise gives in no spelling.

Literal comparison of what both texts say outright; it reads no meaning. What it is taken for is up to the callers.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from groundrail.english.mentions import MONTH_STEMS, Meaning, Mention, mentions
from groundrail.english.quantities import DAYS, MONTHS, UNITS
from groundrail.english.stems import stem

_WORD = re.compile(r"[^\W\d_]+")
_COMPOUND = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CODE = re.compile(r"\b(?:[^\W\d_]+\d\w*|\d+[A-Z]\b)")
_ARTICLE_UNIT = re.compile(rf"\b(?:an?|per|each|every) ({'|'.join(unit for unit in UNITS if unit.isalpha())})\b")
_MONTH = re.compile(rf"\b(?:{'|'.join(f'{month[:3].capitalize()}(?:{month[3:]})?' for month in MONTHS)}|Sept)\b")
_IN_MAY = re.compile(r"\b(?:in|of|since|until|till|from|by|before|after|early|late|mid|next|last)[ -]May\b")
_UNREMARKABLE = frozenset("i mr mrs ms dr the a an if in on at it he she they this that may".split())
_CALENDAR = {*MONTHS, *DAYS} - {"may"}
_PLAIN, _CELSIUS, _FAHRENHEIT = (float(UNITS[unit][0]) for unit in ("°", "°c", "°f"))
_ALIKE = 0.8
"""Share of a claim's words; chosen on development sets, as the weights in `entailment/detail_check.py`."""
_SAME_IF_UNNAMED = {_PLAIN: (_CELSIUS, _FAHRENHEIT), _CELSIUS: (_PLAIN,), _FAHRENHEIT: (_PLAIN,)}
"""Degrees of either scale may be called degrees."""


class Given(NamedTuple):
    """What a premise gives: meanings of its figures, its numbers, those of them without a unit, months and
    weekdays, words without a final s, and codes such as B12; text in lower case.
    """

    meanings: frozenset[Meaning]
    numbers: frozenset[float]
    bare: frozenset[float]
    calendar: frozenset[str]
    words: frozenset[str]
    codes: frozenset[str]


@lru_cache(maxsize=4096)
def given(premise: str) -> Given:
    """What of a premise a claim can be compared with literally."""
    found = mentions(premise)
    meanings = {mention.meaning for mention in found}
    for unit in _ARTICLE_UNIT.findall(premise.lower()):  # a week is one week
        family, size = UNITS[unit]
        meanings.add(("quantity", float(family), size))
    words = {word.lower() for word in _WORD.findall(premise)}
    months = {month[:3].lower() for month in _MONTH.findall(premise)}
    months |= {MONTH_STEMS[int(m.meaning[2] or 1) - 1] for m in found if m.meaning[0] == "date"}
    return Given(
        frozenset(meanings),
        frozenset(number for mention in found for number in mention.numbers),
        frozenset(mention.numbers[0] for mention in found if mention.meaning[0] == "number"),
        frozenset({*(m for m in MONTHS if m[:3] in months), *(d for d in DAYS if {d, d + "s"} & words)}),
        frozenset(word.removesuffix("s") for word in words),
        frozenset(code.lower() for code in _CODE.findall(premise)),
    )


class Missing(NamedTuple):
    """`claim[start:end]`, which the premise does not give. `parts`: how many of its parts, as day and month."""

    kind: str
    start: int
    end: int
    parts: int = 1


def missing(premise: str, claim: str) -> Iterator[Missing]:
    """The claim's details that the premise gives in no spelling."""
    source, figures = given(premise), mentions(claim)
    for figure in figures:
        if count := _missing_figure(source, figure.meaning):
            yield Missing(str(figure.meaning[0]), figure.start, figure.end, count)
    for code in _outside(figures, _CODE.finditer(claim)):
        if code[0].lower() not in source.codes:
            yield Missing("name", code.start(), code.end())
    if (may := _IN_MAY.search(claim)) and "may" not in source.calendar:
        yield Missing("date", may.end() - 3, may.end())
    for word in _outside(figures, _COMPOUND.finditer(claim)):
        parts = [part.lower() for part in _WORD.findall(word[0]) if len(part) > 1]
        dated = [day for part in parts for day in (part, part.removesuffix("s")) if day in _CALENDAR]
        if not word[0][0].isupper() or _UNREMARKABLE.intersection(parts):
            continue
        if dated:
            if not source.calendar.issuperset(dated):
                yield Missing("date", word.start(), word.end())
        elif (
            len(word[0]) > 1
            and not _starts_sentence(claim, word.start())
            and any(part.removesuffix("s") not in source.words for part in parts)
        ):
            yield Missing("name", word.start(), word.end())


def said_alike(premise: str, claim: str, details: Sequence[Missing]) -> bool:
    """Whether a premise has nearly all words of a claim but for these details: then others stand in their place."""
    rest = list(claim)
    for detail in details:
        rest[detail.start : detail.end] = " " * (detail.end - detail.start)
    words = _long_words("".join(rest))
    return len(words & _long_words(premise)) >= _ALIKE * max(1, len(words))


@lru_cache(maxsize=4096)
def _long_words(text: str) -> frozenset[str]:
    """Stems of the words of more than three letters, which are seldom grammar."""
    return frozenset(stem(word) for word in _WORD.findall(text) if len(word) > 3)


def _missing_figure(source: Given, meaning: Meaning) -> int:
    if meaning in source.meanings:
        return 0
    match meaning:
        case ("number" | "ordinal", float(value)):
            return int(value not in source.numbers)
        case ("time", float(minutes)):  # "from 9 to 17" gives 9 am
            hours = {minutes // 60, minutes // 60 % 12 or 12.0}
            return int(bool(minutes % 60) or not hours & source.bare)
        case ("date", float(day), float(month), year):
            return _missing_date(source, day, month, year if isinstance(year, float) else None)
        case ("quantity", float(family), float(value)):
            sizes = {size for kind, size in UNITS.values() if kind == family}
            bare = any(round(number * size, 6) == value for number in source.bare for size in sizes)
            unnamed = {("quantity", other, value) for other in _SAME_IF_UNNAMED.get(family, ())}
            return int(not (bare or unnamed & source.meanings))
        case _:
            return 1


def _missing_date(source: Given, day: float, month: float, year: float | None) -> int:
    dates = {meaning[1:] for meaning in source.meanings if meaning[0] == "date"}
    same_day = {found[2] for found in dates if found[:2] == (day, month)}
    if same_day and (year is None or year in same_day or (None in same_day and year in source.numbers)):
        return 0
    parts = (day not in source.numbers) + (MONTHS[int(month) - 1] not in source.calendar)
    parts += year is not None and year not in source.numbers
    ranged = day in source.bare  # from 5 to 10 March
    return parts if ranged else max(1, parts)


def _outside(figures: Sequence[Mention], matches: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    """The matches that no figure holds."""
    return (m for m in matches if not any(f.start <= m.start() and m.end() <= f.end for f in figures))


def _starts_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\"'“‘(*_-•")
    return not before or before[-1] in ".!?:;\n" or text[:start].rstrip(" ").endswith("\n")
