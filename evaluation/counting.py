"""A wrapper that counts a scorer's calls of its judge, without changing any answer.

`groundrail.evaluation.run` measures the time.
"""

from collections.abc import Sequence

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped


class CountingEntailment(Wrapped):
    """A judge that counts its calls and the pairs of premise and claim in them."""

    def __init__(self, model: EntailmentModel) -> None:
        super().__init__(model)
        self.calls = 0
        self.pairs = 0

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Ask the wrapped model, and count the call."""
        self.calls += 1
        self.pairs += len(pairs)
        return self.model.classify(pairs)
