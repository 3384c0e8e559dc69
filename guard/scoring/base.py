"""The seam to scorers: how far does a source support a claim, and where.

A scorer reads a source once and answers for as many claims as an answer has.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar, runtime_checkable

from groundrail.entailment.base import JudgeFacts, refuse_former
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
    def score(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        """One `Score` a claim, in order; exact where `reach` is None.

        `reach` is the threshold of a decision: each value then only has to fall on the same side of it as the exact
        one, and may be a lower bound where it reaches it (`Score.exact`). A reader without a shorter way ignores it.
        """
        ...

    async def ascore(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        """`score` without blocking the event loop: in a thread. A reader that has something better overrides this."""
        return await awithin(None, self.score, claims, reach)


@dataclass(frozen=True, slots=True)
class ScorerFacts:
    """The facts about a scorer that are known before it scores; a scorer around another hands them on.

    identity: the name under which a threshold or a calibration was fitted; one name for one way to score.
    threshold: the score from which a claim counts as supported.
    takes_context: whether a claim joined with the sentence before it scores no higher than either. Scorers that average
        over a claim's words or parts cannot say so.
    judges: the facts about the judges that the scorer asks, the one that always answers first.

    >>> ScorerFacts("my scorer", threshold=0.7).unread("Any word.")
    ()
    """

    identity: str
    threshold: float = 0.5
    takes_context: bool = False
    judges: tuple[JudgeFacts, ...] = ()

    @classmethod
    def around(cls, judge: JudgeFacts, identity: str) -> Self:
        """The facts about a scorer that asks one judge, and to which a claim with more to say is no likelier."""
        return cls(identity, judge.threshold, takes_context=True, judges=(judge,))

    @property
    def english_only(self) -> bool:
        """Whether the first judge was made for English, so that its verdict on another language deserves little trust."""
        return any(judge.english_only for judge in self.judges[:1])

    def unread(self, text: str) -> Sequence[str]:
        """The words of a text that a judge has no token for, each once."""
        return tuple(dict.fromkeys(word for judge in self.judges for word in judge.unread(text)))

    def asks(self, weights: object) -> bool:
        """Whether a judge answers with the same model in memory."""
        return weights is not None and any(judge.weights is weights for judge in self.judges)


@runtime_checkable
class Scorer(Protocol):
    """Scores claims against documents. Subclass it: only `read` is required.

    A scorer that asks a judge, or has a threshold of its own, also has `facts`.
    """

    claim_units: str = "sentences"
    """The units that an evaluation cuts claims into by default: a name in the registry's `UNITS`."""

    @property
    def facts(self) -> ScorerFacts:
        """All that is known of the scorer; by default its class's name and the defaults of `ScorerFacts`."""
        return ScorerFacts(type(self).__name__)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        refuse_former(cls, {"threshold", "takes_context", "english_only", "identity", "unread"}, "ScorerFacts")

    @abstractmethod
    def read(self, source: Source) -> Reader:
        """Read a source once. Documents are scored apart: a chunk never crosses two."""
        ...

    def score(self, claims: Sequence[str], source: Source) -> list[Score]:
        """`read` and `Reader.score` in one: one `Score` a claim, in order."""
        return self.read(source).score(claims)


@dataclass(frozen=True, slots=True)
class Prepared(Reader, Generic[T]):
    """A reader that is a function of the claims and of the source as its scorer prepared it; always exact."""

    judge: Callable[[Sequence[str], T], list[Score]]
    source: T

    def score(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        """The scores by the scorer's own function."""
        return self.judge(claims, self.source)
