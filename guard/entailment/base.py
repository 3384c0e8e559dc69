"""The seam to entailment models: P(claim | premise).

Two protocols, and what models around other models share. Chunking, maxima and citations belong to `groundrail.scoring`.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from groundrail.errors import ModelError

FloatArray: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[str, str]


def reads_every_word(text: str) -> Sequence[str]:
    """No word of any text is unknown: the judge has a token for each, or does not say which it lacks."""
    return ()


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """The facts about a judge that are known before it is asked; a model around another hands them on whole.

    identity: the name under which a threshold was fitted; one name for one model.
    max_tokens: tokens of premise and claim together that fit beside the model's own prompt.
    threshold: the score from which a claim counts as supported.
    chunk_tokens: the length of the premise that the judge reads best, in tokens; None where it does not know.
    english_only: whether the judge was made for English.
    unread: the words of a text that the judge has no token for; it reads them as if something else stood there.
    weights: the model in this process that answers. A generator that writes with the same object must wait for it.
    thresholds: fitted thresholds of a scorer by name, for example `thresholds["scale"]["strict"]`.

    >>> JudgeFacts("my judge", max_tokens=512, threshold=0.7).english_only
    False
    """

    identity: str
    max_tokens: int
    threshold: float = 0.5
    chunk_tokens: int | None = None
    english_only: bool = False
    unread: Callable[[str], Sequence[str]] = reads_every_word
    weights: object = None
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def refuse_former(cls: type, names: Set[str], facts: str) -> None:
    """Raises: TypeError for a class that declares a name which nothing reads any more, so that it is not ignored."""
    if former := sorted(names & vars(cls).keys()):
        raise TypeError(f"{cls.__name__} declares {', '.join(former)}; declare facts = {facts}(..., {former[0]}=...)")


@runtime_checkable
class EntailmentModel(Protocol):
    """A judge: says how likely a premise entails a claim. Subclass it with `max_tokens`, `offsets` and `entailment`.

    A judge that knows more about itself than `max_tokens` also has `facts`.
    """

    max_tokens: int
    """Tokens of premise and claim together that fit beside the model's own prompt."""

    @property
    def facts(self) -> JudgeFacts:
        """All that is known of the judge; by default its class's name, `max_tokens` and the defaults of `JudgeFacts`."""
        return JudgeFacts(type(self).__name__, self.max_tokens)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        refuse_former(cls, {"threshold", "chunk_tokens", "english_only", "identity", "unread"}, "JudgeFacts")

    @abstractmethod
    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span of every token of `text`, in order."""
        ...

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
        self.model, self.max_tokens = model, model.max_tokens

    @property
    def facts(self) -> JudgeFacts:
        """The model's."""
        return self.model.facts

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The model's."""
        return self.model.offsets(text)
