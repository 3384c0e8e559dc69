"""A hint for small models: the numbers, dates, units and names of a claim should be in the premise.

`DetailCheck` wraps any entailment model: it asks it about the claim in the premise's spelling (`spelling.py`) and
takes a little of the odds for each detail that the premise gives in no spelling (`english/details.py`). A hint and no
veto: a model that is sure is still believed, as "two people signed" may stand for "Anna and Ben signed".
"""

import math
from collections.abc import Sequence

import numpy as np

from groundrail.english.details import missing
from groundrail.english.spelling import respelled
from groundrail.entailment.base import EntailmentModel, FloatArray, NLIModel, Pair, Wrapped
from groundrail.errors import InputError, ModelError

WEIGHT = 0.5
"""In log-odds, for a missing detail; chosen on development sets (docs/benchmarks.md)."""


class DetailCheck(Wrapped):
    """An entailment model that reads claims in the premise's spelling, its log-odds of entailment lowered by `weight`
    for every detail that is missing.

    `weight` is 0 or more; 0 leaves the probability as it is. Everything else is the model's own.
    """

    def __init__(self, model: EntailmentModel, weight: float = WEIGHT) -> None:
        if not 0 <= weight < math.inf:
            raise InputError(f"weight is {weight}; it is taken from log-odds, a number from 0")
        super().__init__(model)
        self.weight = weight

    @property
    def identity(self) -> str:
        """The model's, and the weight."""
        return f"{self.model.identity} with details at {self.weight:g}"

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim), lowered, shape (n,)."""
        return self._lowered(self.model.entailment(self._respelled(pairs)), pairs)

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Entailment lowered, what it loses given to neutral, shape (n, 3). Raises: ModelError without classes."""
        if not isinstance(self.model, NLIModel):
            raise ModelError(f"{type(self.model).__name__} does not tell neutral from contradiction")
        classes = self.model.classify(self._respelled(pairs)).copy()
        lost = classes[:, 0] - self._lowered(classes[:, 0], pairs)
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

    def _lowered(self, entailed: FloatArray, pairs: Sequence[Pair]) -> FloatArray:
        counts = [sum(detail.parts for detail in missing(premise, claim)) for premise, claim in pairs]
        left = entailed * np.exp(-self.weight * np.array(counts, dtype=np.float64))
        return left / (left + 1 - entailed)
