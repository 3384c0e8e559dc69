"""The scorer interface: a scorer says how far a source supports a claim, and where.

A scorer reads a source once and then scores any number of claims.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

from groundrail.entailment.asking import Asking
from groundrail.entailment.base import JudgeMetadata
from groundrail.errors import InputError
from groundrail.runtime.deadlines import calls
from groundrail.runtime.former import refuse_former
from groundrail.types import Citation, Detail, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one claim, with citations, the best first.

    value: in [0, 1] for scorers that ask a judge; NaN if the model gave no number.
    conflict: the place that contradicts the claim, if the model can tell contradiction from silence.
    exact: False if the scorer did not read the whole source, so that `value` is a lower bound.
    note: a remark for the reader of the verdict on how the score was computed.
    threshold: the threshold for `value` if a second scorer gave it; None for the guard's own scorer.
    first: the value of the guard's own scorer, if it was in doubt and a second scorer was asked.
    read: the pieces of source that the claim was compared with one by one, if the scorer tells; figures of the claim
        may follow from them.
    known: the sentence of the app that supports the claim (`Policy.known`), if the source does not.

    >>> Score(0.9).exact
    True
    """

    value: float
    citations: tuple[Citation, ...] = ()
    conflict: Citation | None = None
    exact: bool = True
    note: str | None = None
    threshold: float | None = None
    first: float | None = None
    read: tuple[Detail, ...] = ()
    known: str | None = None

    def weighed(self, threshold: float, calibration: Callable[[float], float] | None) -> tuple[float, float]:
        """The value, calibrated, and the threshold for it; a second scorer's value has its own threshold, and no calibration.

        >>> Score(0.9).weighed(0.5, None)
        (0.9, 0.5)
        """
        if self.threshold is not None:
            return self.value, self.threshold
        return (calibration(self.value) if calibration and math.isfinite(self.value) else self.value), threshold

    def as_known(self) -> Self:
        """The score of a claim that a known sentence supports, without places of a source."""
        said = self.citations[0].text if self.citations else ""
        return replace(self, citations=(), conflict=None, read=(), known=said)

    def noting(self, *remarks: str) -> Self:
        """The score with further remarks in its note."""
        return replace(self, note="; ".join(filter(None, [self.note, *remarks])) or None)


def below_all(value: float) -> float:
    """Sort key of a score: the score itself, minus infinity for NaN."""
    return -math.inf if math.isnan(value) else value


def best_first(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Sort citations by score, the best first and NaN last; keep each place once, with its best score."""
    ranked = sorted(citations, key=lambda citation: below_all(citation.score), reverse=True)
    places: dict[tuple[str, int, int], Citation] = {}
    for citation in ranked:
        places.setdefault(citation.place, citation)
    return tuple(places.values())


@runtime_checkable
class Reader(Protocol):
    """A source as a scorer has read it (tokens, chunks, an index), ready for any claim. Subclass it."""

    @abstractmethod
    def score(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        """Score each claim, in order.

        Args:
            claims: The claims to score.
            threshold: The threshold, if only a decision is needed. Each value then only has to lie on the same side of
                `threshold` as the exact value; a value of at least `threshold` may be a lower bound (`Score.exact`). A reader
                that cannot save work ignores it. None: all values are exact.
        """
        ...

    def asking(self, claims: Sequence[str], threshold: float | None = None) -> Asking[list[Score]]:
        """`score` as a coroutine, so that readers of several sources can share the judge's calls; by default it shares none."""
        yield from ()
        try:
            return self.score(claims, threshold)
        except StopIteration as error:  # which would end the coroutine
            raise RuntimeError(f"{error!r} was raised") from error

    async def ascore(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        """Run `score` in a thread, so that it does not block the event loop. A subclass may override this."""
        return await calls().awithin(None, self.score, claims, threshold)


@dataclass(frozen=True, slots=True)
class ScorerMetadata:
    """Facts about a scorer that are known before it scores. A scorer that wraps another returns the inner scorer's.

    identity: the name of this way to score; a threshold or a calibration is fitted for one identity.
    threshold: the score from which a claim counts as supported.
    scores_jointly: whether a claim joined with the previous sentence never scores higher than the claim or the sentence
        alone. This is False for scorers that average over the words or parts of a claim.
    judges: the metadata of the judges that the scorer asks; the first judge is asked about every claim.
    thresholds: fitted thresholds by name ("strict", "balanced", "lenient"); empty if none were fitted.
    tells_contradiction: whether `Score.conflict` tells claims that the source contradicts from claims that it does not state.

    >>> ScorerMetadata("my scorer", threshold=0.7).unread("Any word.")
    ()
    """

    identity: str
    threshold: float = 0.5
    scores_jointly: bool = False
    judges: tuple[JudgeMetadata, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    tells_contradiction: bool = False

    @classmethod
    def around(cls, judge: JudgeMetadata, identity: str, name: str = "", *, tells_contradiction: bool = False) -> Self:
        """The metadata of a scorer that asks one judge and gives no higher score to a claim that says more.

        name: the scorer's name in the judge's fitted thresholds; "balanced" is then the scorer's threshold.
        """
        thresholds = judge.thresholds.get(name, {})
        threshold = thresholds.get("balanced", judge.threshold)
        return cls(identity, threshold, True, (judge,), thresholds, tells_contradiction)

    def named(self, name: str) -> float:
        """The fitted threshold called `name`. Raises: InputError if there is none."""
        if name not in self.thresholds:
            raise InputError(
                f"threshold={name!r} was not fitted for this scorer ({self.identity}): pass a number, such as its "
                f"default {self.threshold:g}, or fit one with `groundrail calibrate`"
            )
        return self.thresholds[name]

    @property
    def reads_context(self) -> bool:
        """Whether the first judge tells a claim from its context (`groundrail.text.context`)."""
        return any(judge.reads_context for judge in self.judges[:1])

    @property
    def english_only(self) -> bool:
        """Whether the first judge was made for English, so that its scores for other languages are unreliable."""
        return any(judge.english_only for judge in self.judges[:1])

    def unread(self, text: str) -> Sequence[str]:
        """The words of a text for which a judge has no token, each once."""
        return tuple(dict.fromkeys(word for judge in self.judges for word in judge.unread(text)))

    def asks(self, weights: object) -> bool:
        """Whether one of the judges uses the model `weights` in memory."""
        return weights is not None and any(judge.weights is weights for judge in self.judges)


@runtime_checkable
class Scorer(Protocol):
    """Score claims against documents. Subclass it: only `read` is required.

    A scorer that asks a judge, or needs another threshold than 0.5, also defines `metadata`.

        class VerbatimScorer(Scorer):
            def read(self, source):
                return Prepared(lambda claims, text: [Score(float(claim in text)) for claim in claims], source)
    """

    claim_units: str = "sentences"
    """Name of the units into which an evaluation cuts claims by default; see `groundrail.evaluation.units`."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        refuse_former(cls, "facts")

    @property
    def metadata(self) -> ScorerMetadata:
        """The metadata of the scorer; by default the name of the class and the defaults of `ScorerMetadata`."""
        return ScorerMetadata(type(self).__name__)

    @property
    def of_source(self) -> "Scorer":
        """The scorer of claims that name their documents, to which nothing but these documents counts; by default itself."""
        return self

    @abstractmethod
    def read(self, source: Source) -> Reader:
        """Read a source once. Each document is scored by itself: no chunk has text of two documents."""
        ...

    def score(self, claims: Sequence[str], source: Source) -> list[Score]:
        """Read the source and score each claim, in order."""
        return self.read(source).score(claims)


@dataclass(frozen=True, slots=True)
class Prepared(Reader, Generic[T]):
    """A reader that calls a function with the claims and the prepared source; all scores are exact."""

    judge: Callable[[Sequence[str], T], list[Score]]
    source: T

    def score(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        """Call the function."""
        return self.judge(claims, self.source)
