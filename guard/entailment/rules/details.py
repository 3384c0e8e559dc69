"""A check for small models: the numbers, dates, units and names of a claim must be in the premise.

`DetailCheck` wraps any entailment model: it asks it about the claim in the premise's spelling (`spelling.py`)
and lowers P(entailment) for each detail that the premise does not give in any spelling, or gives otherwise
(`conflicts.py`). It reads no meaning; what is not explicit in both texts is left to the model.
"""

from collections.abc import Sequence

import numpy as np

from groundrail.english.details import missing
from groundrail.english.spelling import respelled
from groundrail.entailment.base import EntailmentModel, FloatArray, NLIModel, Pair, Wrapped
from groundrail.entailment.rules.conflicts import conflicts
from groundrail.errors import InputError, ModelError


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
        counts = [
            sum(each.parts for each in missing(premise, claim)) + conflicts(premise, claim) for premise, claim in pairs
        ]
        return np.array([self.discount**count for count in counts], dtype=np.float64)
