"""A check that small models need: the numbers, dates, units and names of a claim must be in the premise.

`DetailCheck` wraps any entailment model: it asks it about the claim in the premise's spelling (`spelling.py`)
and lowers P(entailment) for each detail that the premise does not give in any spelling, or gives otherwise
(`conflicts.py`). It reads no meaning; what is not explicit in both texts is left to the model.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from groundrail.english.mentions import MONTH_STEMS, Meaning, Mention, mentions
from groundrail.english.quantities import DAYS, MONTHS, UNITS
from groundrail.english.spelling import respelled
from groundrail.entailment.base import EntailmentModel, FloatArray, NLIModel, Pair, Wrapped
from groundrail.entailment.rules.conflicts import conflicts
from groundrail.errors import InputError, ModelError

_WORD = re.compile(r"[^\W\d_]+")
_COMPOUND = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CODE = re.compile(r"\b(?:[^\W\d_]+\d\w*|\d+[A-Z]\b)")
_ARTICLE_UNIT = re.compile(rf"\b(?:an?|per|each|every) ({'|'.join(unit for unit in UNITS if unit.isalpha())})\b")
_SHORT_MONTH = re.compile(rf"\b({'|'.join(stem.capitalize() for stem in MONTH_STEMS)})(?:t?\b|[a-z]+)")
_IN_MAY = re.compile(r"\b(?:in|of|since|until|till|from|by|before|after|early|late|mid|next|last)[ -]May\b")
_UNREMARKABLE = frozenset("i mr mrs ms dr the a an if in on at it he she they this that may".split())
_CALENDAR = {*MONTHS, *DAYS} - {"may"}
_PLAIN, _CELSIUS, _FAHRENHEIT = (float(UNITS[unit][0]) for unit in ("°", "°c", "°f"))
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
    months = {stem.lower() for stem in _SHORT_MONTH.findall(premise)}
    months |= {MONTH_STEMS[int(m.meaning[2] or 1) - 1] for m in found if m.meaning[0] == "date"}
    return Given(
        frozenset(meanings),
        frozenset(number for mention in found for number in mention.numbers),
        frozenset(mention.numbers[0] for mention in found if mention.meaning[0] == "number"),
        frozenset({*(m for m in MONTHS if m[:3] in months), *(d for d in DAYS if {d, d + "s"} & words)}),
        frozenset(word.removesuffix("s") for word in words),
        frozenset(code.lower() for code in _CODE.findall(premise)),
    )


def missing(premise: str, claim: str) -> int:
    """How many of the claim's details the premise gives in no spelling."""
    source, figures = given(premise), mentions(claim)
    count = sum(_missing_figure(source, figure.meaning) for figure in figures)
    count += sum(code[0].lower() not in source.codes for code in _outside(figures, _CODE.finditer(claim)))
    count += bool(_IN_MAY.search(claim)) and "may" not in source.calendar
    for word in _outside(figures, _COMPOUND.finditer(claim)):
        parts = [part.lower() for part in _WORD.findall(word[0]) if len(part) > 1]
        dated = [day for part in parts for day in (part, part.removesuffix("s")) if day in _CALENDAR]
        if not word[0][0].isupper() or _UNREMARKABLE.intersection(parts):
            continue
        if dated:
            count += not source.calendar.issuperset(dated)
        elif len(word[0]) > 1 and not _starts_sentence(claim, word.start()):
            count += any(part.removesuffix("s") not in source.words for part in parts)
    return count


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


class DetailCheck(Wrapped):
    """An entailment model that reads claims in the premise's spelling, its P(entailment) multiplied by `discount`
    for every detail that is missing or in conflict.

    `discount` is in (0, 1]; 1 leaves the probability as it is. Everything else is the model's own.
    """

    def __init__(self, model: EntailmentModel, discount: float = 0.1) -> None:
        if not 0 < discount <= 1:
            raise InputError(f"discount is {discount}; it multiplies a probability and lies above 0, up to 1")
        super().__init__(model)
        self.discount = discount

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim), discounted, shape (n,)."""
        return self.model.entailment(self._respelled(pairs)) * self._factors(pairs)

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Entailment discounted, what it loses given to neutral, shape (n, 3). Raises: ModelError without classes."""
        if not isinstance(self.model, NLIModel):
            raise ModelError(f"{type(self.model).__name__} does not tell neutral from contradiction")
        classes = self.model.classify(self._respelled(pairs)).copy()
        lost = classes[:, 0] * (1 - self._factors(pairs))
        classes[:, 0] -= lost
        classes[:, 1] += lost
        return classes

    def _respelled(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Claims respelled, but for one that would no longer fit beside its premise."""
        changed = [(premise, respelled(premise, claim)) for premise, claim in pairs]
        return [
            new if new == old or self._length(new) <= self.max_tokens else old
            for old, new in zip(pairs, changed, strict=True)
        ]

    def _length(self, pair: Pair) -> int:
        return sum(len(self.offsets(text)) for text in pair)

    def _factors(self, pairs: Sequence[Pair]) -> FloatArray:
        counts = [missing(premise, claim) + conflicts(premise, claim) for premise, claim in pairs]
        return np.array([self.discount**count for count in counts], dtype=np.float64)
