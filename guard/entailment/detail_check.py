"""A hint for small models: the numbers, dates, units and names of a claim should be in the premise.

`DetailCheck` wraps any entailment model: it asks it about the claim in the premise's spelling (`spelling.py`) and
takes a little of the odds for each detail that the premise gives in no spelling (`english/details.py`), and more for
a figure in a claim that says all else in the premise's words: there another figure stands in its place. A hint and no
veto: a model that is sure is still believed, as "two people signed" may stand for "Anna and Ben signed".
"""

import math
from collections.abc import Sequence

import numpy as np

from groundrail.english.details import Missing, missing, said_alike
from groundrail.english.spelling import respelled
from groundrail.entailment.base import EntailmentModel, FloatArray, NLIModel, Pair, Wrapped
from groundrail.errors import InputError, ModelError

WEIGHT = 0.25
"""In log-odds, for a missing detail; chosen on development sets (docs/benchmarks.md)."""

EXCHANGED = 2.0
"""The same for a figure of a claim that is said in the premise's words but for its figures."""

_FIGURES = 2
"""So many missing parts of figures count; a claim with more is a list or a sum."""


class DetailCheck(Wrapped):
    """An entailment model that reads claims in the premise's spelling, its log-odds of entailment lowered by `weight`
    for every detail that is missing, by `exchanged` for a figure where the claim's other words are in the premise.

    Both are 0 or more; 0 leaves the probability as it is. Everything else is the model's own.
    """

    def __init__(self, model: EntailmentModel, weight: float = WEIGHT, exchanged: float = EXCHANGED) -> None:
        for name, given in (("weight", weight), ("exchanged", exchanged)):
            if not 0 <= given < math.inf:
                raise InputError(f"{name} is {given}; it is taken from log-odds, a number from 0")
        super().__init__(model)
        self.weight, self.exchanged = weight, exchanged

    @property
    def identity(self) -> str:
        """The model's, and the weights."""
        return f"{self.model.identity} with details at {self.weight:g} and {self.exchanged:g}"

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim), lowered, shape (n,)."""
        return self._lowered(self.model.entailment(self._respelled(pairs)), pairs)

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Entailment lowered, shape (n, 3). What it loses is neutral, or for exchanged figures a contradiction.

        Raises: ModelError without classes.
        """
        if not isinstance(self.model, NLIModel):
            raise ModelError(f"{type(self.model).__name__} does not tell neutral from contradiction")
        classes = self.model.classify(self._respelled(pairs)).copy()
        lost = classes[:, 0] - self._lowered(classes[:, 0], pairs)
        classes[:, 0] -= lost
        to = [2 if _exchanged(_missing(*pair)[0], *pair) else 1 for pair in pairs]
        classes[np.arange(len(to)), to] += lost
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

    def _lowered(self, entailed: FloatArray, pairs: Sequence[Pair]) -> FloatArray:
        left = entailed * np.exp(-np.array([self._cost(*pair) for pair in pairs], dtype=np.float64))
        return left / (left + 1 - entailed)

    def _cost(self, premise: str, claim: str) -> float:
        """What is taken from the log-odds."""
        figures, names = _missing(premise, claim)
        each = self.exchanged if _exchanged(figures, premise, claim) else self.weight
        return self.weight * len(names) + each * min(sum(detail.parts for detail in figures), _FIGURES)


def _missing(premise: str, claim: str) -> tuple[list[Missing], list[Missing]]:
    """The claim's figures that the premise does not give, and its names."""
    details = list(missing(premise, claim))
    return [each for each in details if each.kind != "name"], [each for each in details if each.kind == "name"]


def _exchanged(figures: Sequence[Missing], premise: str, claim: str) -> bool:
    return bool(figures) and said_alike(premise, claim, figures)
