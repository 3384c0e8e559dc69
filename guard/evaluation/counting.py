"""A wrapper that counts what a scorer asks of its entailment model.

It changes no answer. Timing belongs to `groundrail.evaluation.run`.
"""

from collections.abc import Sequence

from groundrail.entailment.base import EntailmentModel, FloatArray, NLIModel, Pair, Wrapped


class CountingEntailment(Wrapped):
    """An entailment model that counts its calls and the premise-claim pairs in them."""

    def __init__(self, model: EntailmentModel) -> None:
        super().__init__(model)
        self.calls = 0
        self.pairs = 0

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """The wrapped model's, counted."""
        self._count(pairs)
        return self.model.entailment(pairs)

    def _count(self, pairs: Sequence[Pair]) -> None:
        self.calls += 1
        self.pairs += len(pairs)


class CountingNLI(CountingEntailment):
    """The same for a model of three classes."""

    model: NLIModel

    def __init__(self, model: NLIModel) -> None:
        super().__init__(model)

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """The wrapped model's, counted."""
        self._count(pairs)
        return self.model.classify(pairs)


def counted(model: EntailmentModel) -> CountingEntailment:
    """Wrap `model`; a model of three classes stays one."""
    return CountingNLI(model) if isinstance(model, NLIModel) else CountingEntailment(model)
