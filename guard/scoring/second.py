"""Two scorers: the first scores every claim, the second scores the claims about which the first is in doubt.

`under_policy` makes the scorer of a guard.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, field, replace

from groundrail.entailment.asking import Asking, answered
from groundrail.errors import InputError
from groundrail.policy import Policy
from groundrail.runtime.deadlines import calls
from groundrail.scoring.base import Reader, Score, Scorer, ScorerMetadata
from groundrail.scoring.known import KnownScorer
from groundrail.scoring.read_source import Readers
from groundrail.text.context import claimed
from groundrail.types import Source, as_documents


@dataclass(frozen=True)
class SecondOpinion(Scorer):
    """Score with `first`; if the value lies from `doubt[0]` to `doubt[1]`, score with `second` and use its threshold.

    `calibration` maps the values of the first scorer before they are compared with the range; the values of the second
    scorer are not mapped. The second scorer reads the source only when it is needed.

        SecondOpinion(NearestScorer(), ScaleScorer(large_judge), doubt=(0.3, 0.8))

    Raises: InputError if the range does not contain the threshold.
    """

    first: Scorer
    second: Scorer
    doubt: tuple[float, float]
    threshold: InitVar[float | None] = field(default=None, kw_only=True)
    calibration: Callable[[float], float] | None = field(default=None, kw_only=True)

    def __post_init__(self, threshold: float | None) -> None:
        decisive = self.first.metadata.threshold if threshold is None else threshold
        if not self.doubt[0] <= decisive <= self.doubt[1]:
            raise InputError(f"doubt is from {self.doubt[0]} to {self.doubt[1]}; it must hold the threshold, {decisive}")

    @property
    def metadata(self) -> ScorerMetadata:
        """The metadata of the first scorer, with the judges of both scorers."""
        first, second = self.first.metadata, self.second.metadata
        both = first.scores_jointly and second.scores_jointly
        tells = first.tells_contradiction and second.tells_contradiction
        return replace(first, scores_jointly=both, judges=first.judges + second.judges, tells_contradiction=tells)

    def read(self, source: Source) -> Reader:
        """Read the source with the first scorer."""
        return _BothReaders(self, self.first.read(source), Readers(self.second, as_documents(source)))


@dataclass(frozen=True, slots=True)
class _BothReaders(Reader):
    scorer: SecondOpinion
    first: Reader
    second: Readers

    def score(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        return answered(self.asking(claims, threshold))

    def asking(self, claims: Sequence[str], threshold: float | None = None) -> Asking[list[Score]]:
        firsts = yield from self.first.asking(claims, self._above_band(threshold))
        doubted = self._doubted(claims, firsts)
        if not doubted:
            return firsts
        limit = self.scorer.second.metadata.threshold
        seconds = yield from self.second.read().asking([*doubted.values()], limit)
        return self._settled(firsts, doubted, seconds)

    async def ascore(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        firsts = await self.first.ascore(claims, self._above_band(threshold))
        doubted = self._doubted(claims, firsts)
        if not doubted:
            return firsts
        second, limit = await calls().awithin(None, self.second.read), self.scorer.second.metadata.threshold
        return self._settled(firsts, doubted, await second.ascore([*doubted.values()], limit))

    def _above_band(self, threshold: float | None) -> float | None:
        """The `threshold` for the first scorer: above the range of doubt, where a lower bound decides."""
        return None if threshold is None else max(threshold, math.nextafter(self.scorer.doubt[1], math.inf))

    def _doubted(self, claims: Sequence[str], scores: Sequence[Score]) -> dict[int, str]:
        """The claims about which the first scorer is in doubt, by their places, as the second one reads them."""
        (low, high), calibrated = self.scorer.doubt, self.scorer.calibration or float
        values = [calibrated(score.value) for score in scores]
        read = str if self.scorer.second.metadata.reads_context else claimed
        return {place: read(claim) for place, claim in enumerate(claims) if low <= values[place] <= high}

    def _settled(self, firsts: Sequence[Score], doubted: Iterable[int], seconds: Sequence[Score]) -> list[Score]:
        """The first scores, with the second scorer's in the places of doubt."""
        scores, threshold = list(firsts), self.scorer.second.metadata.threshold
        for place, score in zip(doubted, seconds, strict=True):
            scores[place] = replace(score, threshold=threshold, first=firsts[place].value)
        return scores


def under_policy(first: Callable[[], Scorer], second: Callable[[], Scorer] | None, policy: Policy) -> Scorer:
    """The first scorer, with the second one where it is in the policy's doubt, and beside both the policy's known sentences.

    `first` and `second` make the scorers.

    Raises: InputError for a calibration of another scorer, and for a judge without contradiction where the policy needs it.
    """
    scorer, fitted_on = first(), getattr(policy.calibration, "scorer", "")
    if fitted_on and fitted_on != scorer.metadata.identity:
        raise InputError(
            f"the calibration was fitted on another scorer: {fitted_on}; this guard's is {scorer.metadata.identity}. Run "
            f"`groundrail calibrate` with the one that is used"
        )
    threshold = policy.decisive(scorer.metadata) if policy.doubt or policy.known else 0.0
    doubt = policy.range_of_doubt(scorer.metadata)
    if doubt is not None and second is not None:
        scorer = SecondOpinion(scorer, second(), doubt, threshold=threshold, calibration=policy.calibration)
    if policy.refuse == "contradicted" and not scorer.metadata.tells_contradiction:
        raise InputError(
            f'Policy(refuse="contradicted") takes a judge that tells contradiction from silence, which {scorer.metadata.identity} '
            'does not; take the built-in judge or a model of three classes, or refuse="unsupported"'
        )
    return KnownScorer(scorer, policy.known, threshold, policy.calibration) if policy.known else scorer
