"""A check that small models need: the numbers, dates, units and names of a claim must be in the premise.

`DetailCheck` wraps any entailment model: it asks it about the claim in the premise's spelling (`spelling.py`)
and lowers P(entailment) for each detail that the premise does not give in any spelling. It reads no
meaning: whether a detail belongs where the claim puts it is left to the model.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, NLIModel, Pair
from groundrail.entailment.quantities import DAYS, MONTHS, SCALES, UNITS, VALUES
from groundrail.entailment.spelling import respelled
from groundrail.errors import InputError, ModelError

_TOKEN = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|[^\W\d_]+(?:['’-][^\W\d_]+)*|[€$£%]")
_WORD = re.compile(r"[^\W\d_]+")
_UNREMARKABLE = frozenset("i mr mrs ms dr the a an if in on at it he she they this that".split())


class Details(NamedTuple):
    """Numbers by value, those of them without a unit, quantities as (kind of unit, value in its smallest unit),
    months and weekdays, and names: the capitalised words inside a sentence, in lower case.
    """

    numbers: frozenset[float]
    bare: frozenset[float]
    quantities: frozenset[tuple[int, float]]
    calendar: frozenset[str]
    names: frozenset[str]


@lru_cache(maxsize=4096)
def details(text: str) -> Details:
    """What of a text can be compared literally."""
    text = text.replace("per cent", "percent")
    tokens = list(_TOKEN.finditer(text))
    numbers, quantities, calendar, names = set[float](), set[tuple[int, float]](), set[str](), set[str]()
    measured = set[float]()
    value: float | None = None
    for position, token in enumerate(tokens):
        word = token.group()
        lower = word.lower()
        number = float(word.replace(",", "")) if word[0].isdigit() else VALUES.get(lower)
        if number is not None:
            value = number
            numbers.add(value)
            if position and tokens[position - 1].group() in UNITS:  # a currency sign comes first
                quantities.add(_quantity(tokens[position - 1].group(), value))
                measured.add(value)
            continue
        if value is not None and lower in SCALES:
            numbers.discard(value)
            value *= SCALES[lower]
            numbers.add(value)
            continue
        unit = lower if lower in UNITS else lower.removesuffix("s")
        if value is not None and unit in UNITS:
            quantities.add(_quantity(unit, value))
            measured.add(value)
        elif (lower in MONTHS and (word[0].isupper() and (lower != "may" or value is not None))) or lower in DAYS:
            calendar.add(lower)
        elif (
            len(word) > 1
            and word[0].isupper()
            and lower not in _UNREMARKABLE
            and not _starts_sentence(text, token.start())
        ):
            names.add(lower)
        if lower not in ("to", "and", "or", "per", "of", "degrees", "full"):
            value = None
    for iso in re.finditer(r"\b(\d{4})-(\d{2})-(\d{2})\b", text):
        if 1 <= int(iso[2]) <= 12:
            calendar.add(MONTHS[int(iso[2]) - 1])
            numbers |= {float(iso[1]), float(iso[3])}
            numbers.discard(float(iso[2]))
    return Details(
        frozenset(numbers), frozenset(numbers - measured), frozenset(quantities), frozenset(calendar), frozenset(names)
    )


def missing(premise: str, claim: str) -> int:
    """How many of the claim's details the premise gives in no spelling."""
    wanted, given = details(claim), details(premise)
    words = {word.lower().removesuffix("s") for word in _WORD.findall(premise)}
    count = sum(not _gives_quantity(given, quantity) for quantity in wanted.quantities)
    for number in wanted.bare - {1.0, 0.5}:  # "one" is as often a pronoun, "half" a manner of speaking
        clock = number < 12 and number + 12 in given.numbers
        count += number not in given.numbers and not clock
    count += len(wanted.calendar - given.calendar)
    return count + sum(name.removesuffix("s") not in words for name in wanted.names)


def _quantity(unit: str, value: float) -> tuple[int, float]:
    family, size = UNITS[unit]
    return family, round(value * size, 6)


def _gives_quantity(given: Details, quantity: tuple[int, float]) -> bool:
    """Whether the quantity is given, in any unit of its kind, or as a number that stands without a unit."""
    family, value = quantity
    sizes = {size for kind, size in UNITS.values() if kind == family}
    return quantity in given.quantities or any(
        round(number * size, 6) == value for number in given.bare for size in sizes
    )


def _starts_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\"'“‘(*_-•")
    return not before or before[-1] in ".!?:;\n" or text[:start].rstrip(" ").endswith("\n")


class DetailCheck:
    """An entailment model that reads claims in the premise's spelling, its P(entailment) multiplied by `discount`
    for every missing detail.

    `discount` is in (0, 1]; 1 leaves the probability as it is. Everything else is the model's own.
    """

    def __init__(self, model: EntailmentModel, discount: float = 0.1) -> None:
        if not 0 < discount <= 1:
            raise InputError(f"discount is {discount}; it multiplies a probability and lies above 0, up to 1")
        self.model, self.discount = model, discount
        self.threshold = float(getattr(model, "threshold", 0.5))
        self.chunk_tokens: int | None = getattr(model, "chunk_tokens", None)

    @property
    def max_tokens(self) -> int:
        """The model's."""
        return self.model.max_tokens

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The model's."""
        return self.model.offsets(text)

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
        counts = [missing(premise, claim) for premise, claim in pairs]
        return np.array([self.discount**count for count in counts], dtype=np.float64)
