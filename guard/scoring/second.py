"""Two scorers: the first answers for every claim, the second for those about which the first is in doubt.

So a large judge is asked about few sentences. What is doubt is the policy's choice.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from groundrail.errors import InputError
from groundrail.runtime.deadlines import awithin
from groundrail.scoring.base import Reader, Score, Scorer
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
        self.threshold = first.threshold
        decisive = self.threshold if threshold is None else threshold
        if not doubt[0] <= decisive <= doubt[1]:
            raise InputError(f"doubt is from {doubt[0]} to {doubt[1]}; it must hold the threshold, {decisive}")
        self.takes_context = first.takes_context and second.takes_context
        self.english_only = first.english_only

    @property
    def identity(self) -> str:
        """The first's: it is what a calibration maps."""
        return self.first.identity

    def unread(self, claim: str) -> Sequence[str]:
        """Words that either has no token for."""
        return tuple(dict.fromkeys([*self.first.unread(claim), *self.second.unread(claim)]))

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
            scores[number] = replace(score, threshold=self.second.threshold, first=firsts[number].value)
        return scores


@dataclass
class _BothReaders(Reader):
    scorer: SecondOpinion
    source: Source
    first: Reader

    @cached_property
    def second(self) -> Reader:
        return self.scorer.second.read(self.source)

    def score(self, claims: Sequence[str]) -> list[Score]:
        return self._asked(claims, self.first.score(claims))

    def decide(self, claims: Sequence[str], threshold: float) -> list[Score]:
        """As `score`; above the band the first scorer's value may be a lower bound."""
        above = math.nextafter(self.scorer.doubt[1], math.inf)
        return self._asked(claims, self.first.decide(claims, max(threshold, above)))

    async def ascore(self, claims: Sequence[str]) -> list[Score]:
        return await self._aasked(claims, await self.first.ascore(claims))

    async def adecide(self, claims: Sequence[str], threshold: float) -> list[Score]:
        above = math.nextafter(self.scorer.doubt[1], math.inf)
        return await self._aasked(claims, await self.first.adecide(claims, max(threshold, above)))

    def _asked(self, claims: Sequence[str], firsts: list[Score]) -> list[Score]:
        doubted = self.scorer.doubted(firsts)
        if not doubted:
            return firsts
        threshold = self.scorer.second.threshold
        return self.scorer.settled(firsts, doubted, self.second.decide([claims[n] for n in doubted], threshold))

    async def _aasked(self, claims: Sequence[str], firsts: list[Score]) -> list[Score]:
        doubted = self.scorer.doubted(firsts)
        if not doubted:
            return firsts
        second = await awithin(None, lambda: self.second)
        seconds = await second.adecide([claims[n] for n in doubted], self.scorer.second.threshold)
        return self.scorer.settled(firsts, doubted, seconds)
