"""Which details of a claim, its dates, times, numbers, quantities, codes and names, a premise gives in no spelling.

Literal comparison of what both texts say outright; it reads no meaning. The callers decide what that means.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from groundrail.facts.mentions import MONTH_STEMS, Meaning, Mention, mentions
from groundrail.text.english.quantities import DAYS, MONTHS, UNITS

_WORD = re.compile(r"[^\W\d_]+")
_COMPOUND = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CODE = re.compile(r"\b(?:[^\W\d_]+\d\w*|\d+[A-Z]\b)")
_ARTICLE_UNIT = re.compile(rf"\b(?:an?|per|each|every) ({'|'.join(unit for unit in UNITS if unit.isalpha())})\b")
_MONTH = re.compile(rf"\b(?:{'|'.join(f'{month[:3].capitalize()}(?:{month[3:]})?' for month in MONTHS)}|Sept)\b")
_IN_MAY = re.compile(r"\b(?:in|of|since|until|till|from|by|before|after|early|late|mid|next|last)[ -]May\b")
_UNREMARKABLE = frozenset("i mr mrs ms dr the a an if in on at it he she they this that may".split())
_CALENDAR = {*MONTHS, *DAYS} - {"may"}
_PLAIN, _CELSIUS, _FAHRENHEIT = (float(UNITS[unit][0]) for unit in ("°", "°c", "°f"))
_SAME_IF_UNNAMED = {_PLAIN: (_CELSIUS, _FAHRENHEIT), _CELSIUS: (_PLAIN,), _FAHRENHEIT: (_PLAIN,)}
"""Degrees of either scale may be called degrees."""


class Given(NamedTuple):
    """The details of a premise: meanings of its figures, its numbers, those of them without a unit, months and
    weekdays, words without a final s, and codes such as B12; text in lower case.
    """

    meanings: frozenset[Meaning]
    numbers: frozenset[float]
    bare: frozenset[float]
    calendar: frozenset[str]
    words: frozenset[str]
    codes: frozenset[str]

    def states(self, figure: Mention) -> bool:
        """Whether a claim's figure is among them, in any spelling or unit."""
        return not _is_missing(self, figure.meaning)


@lru_cache(maxsize=4096)
def given(premise: str) -> Given:
    """The parts of a premise that are compared with a claim literally."""
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


def given_by(premises: Iterable[str]) -> Given:
    """Collect the details that the premises give together.

    >>> given_by(["It costs 20 euros.", "It weighs 3 kg."]).states(mentions("3,000 g")[0])
    True
    """
    parts = [given(premise) for premise in premises] or [given("")]
    return Given(*(frozenset().union(*values) for values in zip(*parts, strict=True)))


class Missing(NamedTuple):
    """`claim[start:end]`, which the premise does not give."""

    kind: str
    start: int
    end: int


def missing(premise: str, claim: str) -> Iterator[Missing]:
    """The claim's details that the premise gives in no spelling."""
    source, figures = given(premise), mentions(claim)
    for figure in figures:
        if not source.states(figure):
            yield Missing(str(figure.meaning[0]), figure.start, figure.end)
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


def is_stated(figure: Mention, premise: str) -> bool:
    """Whether a premise states a claim's figure, in any spelling or unit.

    >>> is_stated(mentions("It costs 0.5 million euros.")[0], "The price is 500,000 euros.")
    True
    """
    return given(premise).states(figure)


def _is_missing(source: Given, meaning: Meaning) -> bool:
    if meaning in source.meanings:
        return False
    match meaning:
        case ("number" | "ordinal", float(value)):
            return value not in source.numbers
        case ("time", float(minutes)):  # "from 9 to 17" gives 9 am
            hours = {minutes // 60, minutes // 60 % 12 or 12.0}
            return bool(minutes % 60) or not hours & source.bare
        case ("date", float(day), float(month), year):
            return _is_missing_date(source, day, month, year if isinstance(year, float) else None)
        case ("quantity", float(family), float(value)):
            sizes = {size for kind, size in UNITS.values() if kind == family}
            bare = any(round(number * size, 6) == value for number in source.bare for size in sizes)
            unnamed = {("quantity", other, value) for other in _SAME_IF_UNNAMED.get(family, ())}
            return not (bare or unnamed & source.meanings)
        case _:
            return True


def _is_missing_date(source: Given, day: float, month: float, year: float | None) -> bool:
    dates = {meaning[1:] for meaning in source.meanings if meaning[0] == "date"}
    same_day = {found[2] for found in dates if found[:2] == (day, month)}
    if same_day and (year is None or year in same_day or (None in same_day and year in source.numbers)):
        return False
    parts_known = day in source.numbers and MONTHS[int(month) - 1] in source.calendar
    ranged = day in source.bare  # from 5 to 10 March
    return not (ranged and parts_known and (year is None or year in source.numbers))


def _outside(figures: Sequence[Mention], matches: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    """The matches that no figure holds."""
    return (m for m in matches if not any(f.start <= m.start() and m.end() <= f.end for f in figures))


def _starts_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\"'“‘(*_-•")
    return not before or before[-1] in ".!?:;\n" or text[:start].rstrip(" ").endswith("\n")
