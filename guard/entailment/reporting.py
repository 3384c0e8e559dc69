"""An entailment model that says how far it has come, for whoever waits: a progress bar, a log."""

from collections.abc import Callable, Sequence

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped

_PART = 64
"""Pairs between two reports."""


class Reporting(Wrapped):
    """Answers as `model` does, in parts, with a call of `report(pairs done, pairs in all)` before and after each."""

    def __init__(self, model: EntailmentModel, report: Callable[[int, int], None]) -> None:
        super().__init__(model)
        self.report = report

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim), shape (n,)."""
        scores = np.empty(len(pairs))
        self.report(0, len(pairs))
        for start in range(0, len(pairs), _PART):
            part = pairs[start : start + _PART]
            scores[start : start + len(part)] = self.model.entailment(part)
            self.report(start + len(part), len(pairs))
        return scores
