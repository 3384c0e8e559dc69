"""A hint for small models: the numbers, dates, units and names of a claim should be in the premise.

`DetailCheck` wraps any entailment model: it asks it about the claim in the premise's spelling (`spelling.py`) and
takes a little of the odds for each detail that the premise gives in no spelling (`english/details.py`), and more for
a figure in a claim that says all else in the premise's words: there another figure stands in its place. A hint and no
veto: a model that is sure is still believed, as "two people signed" may stand for "Anna and Ben signed". It knows English
only: of claims in other languages the verdict is the model's alone.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groundrail.english.details import missing, said_alike
from groundrail.english.language import is_english
from groundrail.english.spelling import respelled
from groundrail.entailment.base import EntailmentModel, FloatArray, NLIModel, Pair, Wrapped
from groundrail.errors import InputError, ModelError

WEIGHT = 0.0
"""In log-odds, for a missing detail: development sets (docs/benchmarks.md) gain nothing by any."""

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
        costs, _ = self._weighed(pairs)
        return _lowered(self.model.entailment(self._respelled(pairs)), costs)

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Entailment lowered, shape (n, 3). What it loses is neutral, or for exchanged figures a contradiction.

        Raises: ModelError without classes.
        """
        if not isinstance(self.model, NLIModel):
            raise ModelError(f"{type(self.model).__name__} does not tell neutral from contradiction")
        classes = self.model.classify(self._respelled(pairs)).copy()
        costs, exchanged = self._weighed(pairs)
        lost = classes[:, 0] - _lowered(classes[:, 0], costs)
        classes[:, 0] -= lost
        classes[np.arange(len(pairs)), np.where(exchanged, 2, 1)] += lost
        return classes

    def _respelled(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Claims respelled, but for one that would no longer fit beside its premise."""
        changed = [(premise, respelled(premise, claim) if is_english(claim) else claim) for premise, claim in pairs]
        return [
            new if new == old or self._length(new) <= self.max_tokens else old
            for old, new in zip(pairs, changed, strict=True)
        ]

    def _length(self, pair: Pair) -> int:
        return sum(len(self.offsets(text)) for text in pair)

    def _weighed(self, pairs: Sequence[Pair]) -> tuple[FloatArray, NDArray[np.bool_]]:
        """What is taken from the log-odds, and whether figures are exchanged, shapes (n,)."""
        costs = np.zeros(len(pairs))
        exchanged = np.zeros(len(pairs), dtype=bool)
        for n, (premise, claim) in enumerate(pairs):
            details = list(missing(premise, claim)) if is_english(claim) else []
            figures = [detail for detail in details if detail.kind != "name"]
            exchanged[n] = bool(figures) and said_alike(premise, claim, figures)
            each = self.exchanged if exchanged[n] else self.weight
            parts = min(sum(detail.parts for detail in figures), _FIGURES)
            costs[n] = self.weight * (len(details) - len(figures)) + each * parts
        return costs, exchanged


def _lowered(entailed: FloatArray, costs: FloatArray) -> FloatArray:
    left = entailed * np.exp(-costs)
    return left / (left + 1 - entailed)
