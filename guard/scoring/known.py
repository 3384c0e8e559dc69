"""A scorer that also asks whether a claim follows from a sentence that the app itself vouches for (`Policy.known`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from groundrail.entailment.asking import Asking, answered
from groundrail.runtime.deadlines import calls
from groundrail.scoring.base import Reader, Score, Scorer, ScorerMetadata
from groundrail.scoring.read_source import Readers
from groundrail.text.rendering.visible import is_blank
from groundrail.types import Document, Source, as_documents


@dataclass(frozen=True)
class KnownScorer(Scorer):
    """Score with `scorer`; a claim that the source does not support is scored against each of the `known` sentences alone.

    A claim that one of them supports has `Score.known` and no citations. A blank source supports nothing: its scores are
    NaN but for these. `threshold` and `calibration` are the policy's.

        KnownScorer(NearestScorer(), ("You can reach us in the chat window.",), threshold=0.5)
    """

    scorer: Scorer
    known: tuple[str, ...]
    threshold: float
    calibration: Callable[[float], float] | None = None

    @property
    def metadata(self) -> ScorerMetadata:
        """The metadata of the wrapped scorer."""
        return self.scorer.metadata

    @property
    def of_source(self) -> Scorer:
        """The wrapped scorer: the app vouches for no mark of a document."""
        return self.scorer

    @cached_property
    def own(self) -> Readers:
        """The known sentences, each a document, as the scorer reads them: once, when a claim first needs it."""
        return Readers(self.scorer, [Document(text=text, id=f"known-{n}") for n, text in enumerate(self.known, start=1)])

    def read(self, source: Source) -> Reader:
        """Read a source, which may be blank, with the wrapped scorer."""
        has_text = any(not is_blank(document.text) for document in as_documents(source))
        return _ReaderBesideKnown(self, self.scorer.read(source) if has_text else None)

    def supports(self, score: Score) -> bool:
        """Whether a score reaches the threshold."""
        value, threshold = score.weighed(self.threshold, self.calibration)
        return value >= threshold


@dataclass(frozen=True, slots=True)
class _ReaderBesideKnown(Reader):
    """`reader`: None for a blank source."""

    scorer: KnownScorer
    reader: Reader | None

    def score(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        return answered(self.asking(claims, threshold))

    def asking(self, claims: Sequence[str], threshold: float | None = None) -> Asking[list[Score]]:
        scores = _none(claims) if self.reader is None else (yield from self.reader.asking(claims, threshold))
        unsupported = self._unsupported(claims, scores)
        if not unsupported:
            return scores
        found = yield from self.scorer.own.read().asking([*unsupported.values()], threshold)
        return self._vouched(scores, dict(zip(unsupported, found, strict=True)))

    async def ascore(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        scores = _none(claims) if self.reader is None else await self.reader.ascore(claims, threshold)
        unsupported = self._unsupported(claims, scores)
        if not unsupported:
            return scores
        own = await calls().awithin(None, self.scorer.own.read)
        found = await own.ascore([*unsupported.values()], threshold)
        return self._vouched(scores, dict(zip(unsupported, found, strict=True)))

    def _unsupported(self, claims: Sequence[str], scores: Sequence[Score]) -> dict[int, str]:
        """The claims that the source does not support, by their places."""
        places = (place for place, score in enumerate(scores) if not self.scorer.supports(score))
        return {place: claims[place] for place in places}

    def _vouched(self, scores: Sequence[Score], found: dict[int, Score]) -> list[Score]:
        """The scores, with the known sentence's in the places of claims that it supports."""
        vouched = {place: score for place, score in found.items() if self.scorer.supports(score)}
        return [vouched[place].as_known() if place in vouched else score for place, score in enumerate(scores)]


def _none(claims: Sequence[str]) -> list[Score]:
    return [Score(float("nan")) for _ in claims]
