"""`WeakestPartScorer`: a claim gets the score of its weakest part.

`groundrail.papers.units.clauses` cuts clauses, appositions and relative clauses; the wrapped scorer scores them.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from groundrail.papers.units.base import Units
from groundrail.papers.units.subsentences import SubSentenceUnits
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerFacts
from groundrail.scoring.registry import as_scorer
from groundrail.types import Source


class WeakestPartScorer(Scorer):
    """The minimum score of a claim and its sub-sentences.

        Guard(scorer=WeakestPartScorer(scorer))

    Claims and parts are scored in the same call; a claim that cannot be cut costs nothing more. The citations belong to
    the whole claim, the conflict to the weakest part. The value is NaN if the score of the claim or of a part is NaN.
    """

    def __init__(self, scorer: Scorer | None = None, units: Units | None = None) -> None:
        self.scorer = as_scorer(scorer)
        self.units: Units = SubSentenceUnits() if units is None else units

    @property
    def facts(self) -> ScorerFacts:
        """The facts about the wrapped scorer, under a name with the units."""
        inner = self.scorer.facts
        identity = f"the weakest of a claim and its {type(self.units).__name__} by {inner.identity}"
        return replace(inner, identity=identity, takes_context=False)

    def read(self, source: Source) -> Reader:
        """Read the source with the wrapped scorer."""
        return Prepared(self._score, self.scorer.read(source))

    def _score(self, claims: Sequence[str], reader: Reader) -> list[Score]:
        asked = [[claim, *self._parts(claim)] for claim in claims]
        scores = iter(reader.score([text for texts in asked for text in texts]))
        return [_weakest([next(scores) for _ in texts]) for texts in asked]

    def _parts(self, claim: str) -> list[str]:
        parts = [text for unit in self.units.split(claim) if (text := unit.text.strip())]
        return parts if len(parts) > 1 else []


def _weakest(scores: Sequence[Score]) -> Score:
    """The minimum of `scores`: first the score of the whole claim, then the scores of its parts."""
    weakest = min(scores, key=lambda score: -math.inf if math.isnan(score.value) else score.value)
    return replace(weakest, citations=scores[0].citations)
