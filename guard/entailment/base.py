"""The seam to entailment models: P(claim | premise).

Two protocols, and what models around other models share. Chunking, maxima and citations belong to `groundrail.scoring`.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from groundrail.errors import ModelError

FloatArray: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[str, str]


@runtime_checkable
class EntailmentModel(Protocol):
    """Anything that can say how likely a premise entails a claim. Subclass it for the defaults."""

    threshold: float = 0.5
    """The score from which its claims count as supported."""

    chunk_tokens: int | None = None
    """The premise's length that it judges best, None where it does not know."""

    english_only: bool = False
    """Whether it was made for English."""

    max_tokens: int
    """Tokens of premise and claim together that fit beside the model's own prompt."""

    @abstractmethod
    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span of every token of `text`, in order."""
        ...

    @property
    def identity(self) -> str:
        """What a threshold was fitted on: one name for one model."""
        return type(self).__name__

    def unread(self, text: str) -> Sequence[str]:
        """Words of `text` that it has no token for, where it knows."""
        return ()

    @abstractmethod
    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim) for each `(premise, claim)`, shape (n,)."""
        ...


@runtime_checkable
class NLIModel(EntailmentModel, Protocol):
    """An entailment model that also tells neutral from contradiction."""

    @abstractmethod
    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Probabilities of entailment, neutral, contradiction, in this order, shape (n, 3)."""
        ...


def three_way(model: EntailmentModel) -> NLIModel | None:
    """The model, where it tells neutral from contradiction; None where it only says how far a claim is entailed."""
    if not isinstance(model, NLIModel):
        return None
    try:
        model.classify([])
    except ModelError:
        return None
    return model


class Wrapped(EntailmentModel):
    """An entailment model around another; what a subclass leaves alone is the other's."""

    def __init__(self, model: EntailmentModel) -> None:
        self.model = model
        self.threshold, self.chunk_tokens, self.max_tokens = model.threshold, model.chunk_tokens, model.max_tokens
        self.english_only = model.english_only

    @property
    def identity(self) -> str:
        """The model's."""
        return self.model.identity

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The model's."""
        return self.model.offsets(text)

    def unread(self, text: str) -> Sequence[str]:
        """The model's."""
        return self.model.unread(text)
