"""An entailment model that says how far it has come, for whoever waits: a progress bar, a log."""

from collections.abc import Callable, Sequence

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped, three_way
from groundrail.errors import ModelError

_PART = 64
"""Pairs between two reports."""


class Reporting(Wrapped):
    """Answers as `model` does, in parts, with a call of `report(pairs done, pairs in all)` before and after each."""

    def __init__(self, model: EntailmentModel, report: Callable[[int, int], None]) -> None:
        super().__init__(model)
        self.report = report

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim), shape (n,)."""
        return self._in_parts(self.model.entailment, pairs, np.empty(len(pairs)))

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """The model's three classes, shape (n, 3). Raises: ModelError where it does not tell them apart."""
        model = three_way(self.model)
        if model is None:
            raise ModelError(f"{type(self.model).__name__} does not tell neutral from contradiction")
        return self._in_parts(model.classify, pairs, np.empty((len(pairs), 3))) if pairs else model.classify(pairs)

    def _in_parts(
        self, judge: Callable[[Sequence[Pair]], FloatArray], pairs: Sequence[Pair], scores: FloatArray
    ) -> FloatArray:
        self.report(0, len(pairs))
        for start in range(0, len(pairs), _PART):
            part = pairs[start : start + _PART]
            scores[start : start + len(part)] = judge(part)
            self.report(start + len(part), len(pairs))
        return scores
