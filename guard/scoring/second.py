"""Two scorers: the first answers for every claim, the second for those about which the first is in doubt.

So a large judge is asked about few sentences. What is doubt is the policy's choice.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from groundrail.errors import InputError
from groundrail.runtime.deadlines import awithin
from groundrail.scoring.base import Reader, Score, Scorer, ScorerFacts
from groundrail.types import Source


class SecondOpinion(Scorer):
    """Scores of `first`, but for values from `low` to `high`: there `second` is asked, and its own threshold holds.

    `calibration` maps the first's values before they are compared with the band; the second's are left alone.
    The second scorer reads the source when it is first needed. Raises: InputError for a band without the threshold.
    """

    def __init__(
        self,
        first: Scorer,
        second: Scorer,
        doubt: tuple[float, float],
        *,
        threshold: float | None = None,
        calibration: Callable[[float], float] | None = None,
    ) -> None:
        self.first, self.second, self.doubt, self.calibration = first, second, doubt, calibration
        decisive = first.facts.threshold if threshold is None else threshold
        if not doubt[0] <= decisive <= doubt[1]:
            raise InputError(f"doubt is from {doubt[0]} to {doubt[1]}; it must hold the threshold, {decisive}")

    @property
    def facts(self) -> ScorerFacts:
        """The first's, whose scores a calibration maps, with the judges of both."""
        first, second = self.first.facts, self.second.facts
        both = first.takes_context and second.takes_context
        return replace(first, takes_context=both, judges=first.judges + second.judges)

    def read(self, source: Source) -> Reader:
        """The source as the first scorer reads it."""
        return _BothReaders(self, source, self.first.read(source))

    def doubted(self, scores: Sequence[Score]) -> list[int]:
        """The numbers of the claims that the second scorer is asked about."""
        return [number for number, score in enumerate(scores) if self._in_doubt(score.value)]

    def _in_doubt(self, value: float) -> bool:
        low, high = self.doubt
        return low <= (self.calibration(value) if self.calibration else value) <= high

    def settled(self, firsts: Sequence[Score], doubted: Sequence[int], seconds: Sequence[Score]) -> list[Score]:
        """One score a claim, of whichever scorer has the last word."""
        scores = list(firsts)
        for number, score in zip(doubted, seconds, strict=True):
            scores[number] = replace(score, threshold=self.second.facts.threshold, first=firsts[number].value)
        return scores


@dataclass
class _BothReaders(Reader):
    scorer: SecondOpinion
    source: Source
    first: Reader

    @cached_property
    def second(self) -> Reader:
        return self.scorer.second.read(self.source)

    def score(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        firsts = self.first.score(claims, self._above_band(reach))
        doubted = self.scorer.doubted(firsts)
        if not doubted:
            return firsts
        limit = self.scorer.second.facts.threshold
        return self.scorer.settled(firsts, doubted, self.second.score([claims[n] for n in doubted], limit))

    async def ascore(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        firsts = await self.first.ascore(claims, self._above_band(reach))
        doubted = self.scorer.doubted(firsts)
        if not doubted:
            return firsts
        second, limit = await awithin(None, lambda: self.second), self.scorer.second.facts.threshold
        return self.scorer.settled(firsts, doubted, await second.ascore([claims[n] for n in doubted], limit))

    def _above_band(self, reach: float | None) -> float | None:
        """A lower bound from the first scorer decides nothing inside the band: it has to lie above it."""
        return None if reach is None else max(reach, math.nextafter(self.scorer.doubt[1], math.inf))
