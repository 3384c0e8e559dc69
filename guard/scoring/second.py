"""Two scorers: the first scores every claim, the second scores the claims about which the first is in doubt.

A large judge is then asked about few sentences. `Policy.doubt` sets the range of scores that count as doubt.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from groundrail.errors import InputError
from groundrail.runtime.deadlines import calls
from groundrail.scoring.base import Reader, Score, Scorer, ScorerFacts
from groundrail.types import Source


class SecondOpinion(Scorer):
    """Score with `first`; if the value lies from `doubt[0]` to `doubt[1]`, score with `second` and use its threshold.

    `calibration` maps the values of the first scorer before they are compared with the range; the values of the second
    scorer are not mapped. The second scorer reads the source only when it is needed.

        SecondOpinion(NearestScorer(), ScaleScorer(large_judge), doubt=(0.3, 0.8))

    Raises: InputError if the range does not contain the threshold.
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
        """The facts about the first scorer, with the judges of both scorers."""
        first, second = self.first.facts, self.second.facts
        both = first.takes_context and second.takes_context
        return replace(first, takes_context=both, judges=first.judges + second.judges)

    def read(self, source: Source) -> Reader:
        """Read the source with the first scorer."""
        return _BothReaders(self, source, self.first.read(source))

    def doubted(self, scores: Sequence[Score]) -> list[int]:
        """Indices of the claims about which the first scorer is in doubt."""
        return [number for number, score in enumerate(scores) if self._in_doubt(score.value)]

    def _in_doubt(self, value: float) -> bool:
        low, high = self.doubt
        return low <= (self.calibration(value) if self.calibration else value) <= high

    def settled(self, firsts: Sequence[Score], doubted: Sequence[int], seconds: Sequence[Score]) -> list[Score]:
        """Replace the scores of doubted claims by the scores of the second scorer."""
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
        second, limit = await calls().awithin(None, lambda: self.second), self.scorer.second.facts.threshold
        return self.scorer.settled(firsts, doubted, await second.ascore([claims[n] for n in doubted], limit))

    def _above_band(self, reach: float | None) -> float | None:
        """The `reach` for the first scorer: above the range of doubt, where a lower bound decides."""
        return None if reach is None else max(reach, math.nextafter(self.scorer.doubt[1], math.inf))
