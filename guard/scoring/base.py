"""The seam to scorers: how far does a source support a claim, and where.

A scorer reads a source once and answers for as many claims as an answer has.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from groundrail.entailment.base import EntailmentModel
from groundrail.runtime.deadlines import awithin
from groundrail.types import Citation, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Score:
    """`value` in [0, 1] for entailment scorers, NaN where the model gave none; best citation first.

    conflict: the place that says otherwise, where the model tells contradiction from silence.
    exact: False where the source was not read to its end, so that `value` is a lower bound.
    note: what whoever reads the verdict should know of how it came about.
    threshold: what the value is compared with, where another scorer than the guard's own gave it.
    first: the value of the guard's own scorer, where it was in doubt and another was asked.
    """

    value: float
    citations: tuple[Citation, ...] = ()
    conflict: Citation | None = None
    exact: bool = True
    note: str | None = None
    threshold: float | None = None
    first: float | None = None


def below_all(value: float) -> float:
    """A score's place in a ranking: NaN comes last."""
    return -math.inf if math.isnan(value) else value


def best_first(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Each place once, with the best score it has, the best place first, equals in order and NaN last."""
    ranked = sorted(citations, key=lambda citation: below_all(citation.score), reverse=True)
    places: dict[tuple[str, int, int], Citation] = {}
    for citation in ranked:
        places.setdefault((citation.document_id, citation.start, citation.end), citation)
    return tuple(places.values())


@runtime_checkable
class Reader(Protocol):
    """A source that was read: tokens, chunks, an index, whatever is the same for every claim. Subclass it."""

    @abstractmethod
    def score(self, claims: Sequence[str]) -> list[Score]:
        """One `Score` a claim, in order."""
        ...

    async def ascore(self, claims: Sequence[str]) -> list[Score]:
        """`score` without blocking the event loop: in a thread, where a reader has nothing better."""
        return await awithin(None, self.score, claims)

    def decide(self, claims: Sequence[str], threshold: float) -> list[Score]:
        """Scores that fall on the same side of `threshold` as those of `score`, with less work where there is a way.

        A value of at least `threshold` may be a lower bound of the full one (`Score.exact`).
        """
        return self.score(claims)

    async def adecide(self, claims: Sequence[str], threshold: float) -> list[Score]:
        """`decide` without blocking the event loop; a reader with a `decide` of its own has one of its own."""
        return await self.ascore(claims)


@runtime_checkable
class Scorer(Protocol):
    """Anything that scores claims against documents. Subclass it: only `read` is required."""

    threshold: float = 0.5
    """The score from which a claim counts as supported."""

    english_only: bool = False
    """Whether its model was made for English, so that a verdict on another language deserves little trust."""

    takes_context: bool = False
    """Whether a claim joined with the sentence before it scores no higher than either. Scorers that average over
    a claim's words or parts cannot say so."""

    @property
    def identity(self) -> str:
        """What a threshold or a calibration was fitted on: one name for one way to score."""
        model = getattr(self, "entailment", None)
        around = f" around {model.identity}" if isinstance(model, EntailmentModel) else ""
        return type(self).__name__ + around

    def unread(self, claim: str) -> Sequence[str]:
        """Words of a claim that its model has no token for: it would judge as if something else stood there."""
        return ()

    @abstractmethod
    def read(self, source: Source) -> Reader:
        """Read a source once. Documents are scored apart: a chunk never crosses two."""
        ...

    def score(self, claims: Sequence[str], source: Source) -> list[Score]:
        """`read` and `Reader.score` in one: one `Score` a claim, in order."""
        return self.read(source).score(claims)


@dataclass(frozen=True, slots=True)
class Prepared(Reader, Generic[T]):
    """A reader that is a function of the claims and of what its scorer made of the source."""

    judge: Callable[[Sequence[str], T], list[Score]]
    source: T

    def score(self, claims: Sequence[str]) -> list[Score]:
        """What the scorer's own function gives."""
        return self.judge(claims, self.source)
