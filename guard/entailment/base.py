"""The seam to entailment models, P(claim | premise). Chunking, maxima and citations belong to `groundrail.scoring`."""

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from groundrail.errors import ClaimTooLongError, InputError
from groundrail.runtime.former import refuse_former

FloatArray: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class JudgeMetadata:
    """Facts about a judge that are known before it is asked. A model that wraps another returns the metadata of the inner model.

    identity: the name under which a threshold was fitted; one name for one model.
    max_tokens: tokens of premise and claim together that fit beside the model's own prompt.
    threshold: the score from which a claim counts as supported.
    chunk_tokens: the length of the premise that the judge reads best, in tokens; None where it does not know.
    english_only: whether the judge was made for English.
    unread: the words of a text that the judge has no token for; by default none is known.
    weights: the model in this process that answers. A generator that writes with the same object must wait for it.
    thresholds: fitted thresholds of a scorer by name, for example `thresholds["scale"]["strict"]`.
    reads_context: whether the judge was trained on claims in their context, and tells both apart
        (`groundrail.text.context`). Other judges get the claim alone.
    tells_contradiction: whether the judge tells contradiction from silence.

    >>> JudgeMetadata("my judge", max_tokens=512, threshold=0.7).english_only
    False
    """

    identity: str
    max_tokens: int
    threshold: float = 0.5
    chunk_tokens: int | None = None
    english_only: bool = False
    unread: Callable[[str], Sequence[str]] = lambda text: ()
    weights: object = None
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    reads_context: bool = False
    tells_contradiction: bool = False


@runtime_checkable
class EntailmentModel(Protocol):
    """A judge: says how likely a premise entails a claim. Subclass it with `max_tokens`, `offsets` and `classify`.

    A judge that does not tell neutral from contradiction is a `BinaryEntailment`; one that knows more has `metadata`, too.
    """

    max_tokens: int
    """Tokens of premise and claim together that fit beside the model's own prompt."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        refuse_former(cls, "facts")

    @property
    def tells_contradiction(self) -> bool:
        """`JudgeMetadata.tells_contradiction`, by the classes of the judge."""
        return True

    @property
    def metadata(self) -> JudgeMetadata:
        """All that is known of the judge; by default its class's name, `max_tokens` and the defaults of `JudgeMetadata`."""
        return JudgeMetadata(type(self).__name__, self.max_tokens, tells_contradiction=self.tells_contradiction)

    @abstractmethod
    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span of every token of `text`, in order."""
        ...

    @abstractmethod
    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Probabilities of entailment, neutral, contradiction for each `(premise, claim)`, shape (n, 3).

        NaN where the model gives no number. Raises: InputError for a pair that does not fit, ClaimTooLongError if the
        claim alone is too long.
        """
        ...

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim) for each `(premise, claim)`, shape (n,): the first column of `classify`."""
        return self.classify(pairs)[:, 0]


class BinaryEntailment(EntailmentModel):
    """A judge of two classes, supported or not. Subclass it with `entailment` in the place of `classify`.

    class Verbatim(BinaryEntailment):
        max_tokens = 512

        def offsets(self, text):
            return [(place, place + 1) for place in range(len(text))]  # characters as tokens

        def entailment(self, pairs):
            return np.array([float(claim in premise) for premise, claim in pairs])
    """

    @property
    def tells_contradiction(self) -> bool:
        """False: what is not supported may be either."""
        return False

    @abstractmethod
    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim) for each `(premise, claim)`, shape (n,)."""
        ...

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Entailment, and all else as neutral, shape (n, 3)."""
        return rest_neutral(self.entailment(pairs))


TEMPLATE = '{premise} Question: Does this imply that "{claim}"? Yes or No?'
"""SCALE's question to a language model, in the wording of the authors' package."""


class Template:
    """A text with the names of `places` in it, in braces and once each; the texts are put in as they are, braces included.

    Raises: InputError where it holds others.

        >>> Template("{premise} So: {claim}").fill("It rains.", "The road is wet.")
        'It rains. So: The road is wet.'
    """

    def __init__(self, text: str, places: Sequence[str] = ("premise", "claim")) -> None:
        self.around = re.split(r"\{(?:premise|claim)\}", text)
        """The fixed text before, between and after the places."""
        self.names = re.findall(r"\{(premise|claim)\}", text)
        if sorted(self.names) != sorted(places):
            wanted = " and ".join(f"{{{place}}}" for place in places)
            raise InputError(f"a template holds {wanted} once each, unlike {text!r}")

    def fill(self, premise: str, claim: str = "") -> str:
        """The text with premise and claim in their places."""
        filling = {"premise": premise, "claim": claim}
        return "".join(text + filling.get(name, "") for text, name in zip(self.around, [*self.names, ""], strict=True))


def room(claim: str, model: EntailmentModel) -> int:
    """Tokens left for a premise beside `claim`. Raises: ClaimTooLongError where none are."""
    needed = len(model.offsets(claim))
    if needed >= model.max_tokens:
        raise ClaimTooLongError(
            f"a claim of {needed} tokens leaves no room for a premise in {model.max_tokens}; "
            f"split it into sentences: {claim[:80]!r}"
        )
    return model.max_tokens - needed


def rest_neutral(entailed: FloatArray) -> FloatArray:
    """P(entailment), shape (n,), as three classes, shape (n, 3): all else is neutral."""
    return np.stack([entailed, 1 - entailed, np.zeros_like(entailed)], axis=1)


class Wrapped(EntailmentModel):
    """An entailment model around another; everything that a subclass does not define comes from the other."""

    def __init__(self, model: EntailmentModel) -> None:
        self.model, self.max_tokens = model, model.max_tokens

    @property
    def metadata(self) -> JudgeMetadata:
        return self.model.metadata

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return self.model.offsets(text)
