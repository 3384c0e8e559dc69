"""A wrapper that counts a scorer's calls of its judge, without changing any answer.

`groundrail.evaluation.run` measures the time.
"""

from collections.abc import Sequence

from groundrail.entailment.base import EntailmentModel, FloatArray, NLIModel, Pair, Wrapped


class CountingEntailment(Wrapped):
    """A judge that counts its calls and the pairs of premise and claim in them."""

    def __init__(self, model: EntailmentModel) -> None:
        super().__init__(model)
        self.calls = 0
        self.pairs = 0

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """Ask the wrapped model, and count the call."""
        self._count(pairs)
        return self.model.entailment(pairs)

    def _count(self, pairs: Sequence[Pair]) -> None:
        self.calls += 1
        self.pairs += len(pairs)


class CountingNLI(CountingEntailment):
    """A judge of three classes that counts its calls and pairs."""

    model: NLIModel

    def __init__(self, model: NLIModel) -> None:
        super().__init__(model)

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Ask the wrapped model, and count the call."""
        self._count(pairs)
        return self.model.classify(pairs)


def counted(model: EntailmentModel) -> CountingEntailment:
    """Wrap `model`; a judge of three classes becomes `CountingNLI`."""
    return CountingNLI(model) if isinstance(model, NLIModel) else CountingEntailment(model)
