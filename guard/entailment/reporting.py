"""An entailment model that says how far it has come, for whoever waits: a progress bar, a log."""

from collections.abc import Callable, Sequence

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair

_PART = 64
"""Pairs between two reports."""


class Reporting:
    """Answers as `model` does, in parts, with a call of `report(pairs done, pairs in all)` before and after each."""

    def __init__(self, model: EntailmentModel, report: Callable[[int, int], None]) -> None:
        self.model, self.report = model, report
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
        """P(premise entails claim), shape (n,)."""
        scores = np.empty(len(pairs))
        self.report(0, len(pairs))
        for start in range(0, len(pairs), _PART):
            part = pairs[start : start + _PART]
            scores[start : start + len(part)] = self.model.entailment(part)
            self.report(start + len(part), len(pairs))
        return scores
