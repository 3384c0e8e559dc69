"""A claim is worth what its weakest part is: clauses, appositions and relative clauses are judged too.

Cutting belongs to `groundrail.papers.units.clauses`, judging to the scorer inside.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from groundrail.papers.units.base import Units
from groundrail.papers.units.subsentences import SubSentenceUnits
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerFacts
from groundrail.types import Source


class WeakestPartScorer(Scorer):
    """The minimum over a claim and its sub-sentences, where it has more than one: `Guard(scorer=WeakestPartScorer(scorer))`.

    A claim that cannot be cut costs nothing more; all others go to the scorer in the same call, whole and in parts.
    The citations are the whole claim's, the conflict is the weakest part's. A claim that the scorer has no value
    for, whole or in part, has NaN.
    """

    def __init__(self, scorer: Scorer | None = None, units: Units | None = None) -> None:
        from groundrail.scoring.registry import as_scorer

        self.scorer = as_scorer(scorer)
        self.units: Units = SubSentenceUnits() if units is None else units

    @property
    def facts(self) -> ScorerFacts:
        """The scorer's, under a name that tells the units."""
        inner = self.scorer.facts
        identity = f"the weakest of a claim and its {type(self.units).__name__} by {inner.identity}"
        return replace(inner, identity=identity, takes_context=False)

    def read(self, source: Source) -> Reader:
        """The scorer's own reading."""
        return Prepared(self._score, self.scorer.read(source))

    def _score(self, claims: Sequence[str], reader: Reader) -> list[Score]:
        asked = [[claim, *self._parts(claim)] for claim in claims]
        scores = iter(reader.score([text for texts in asked for text in texts]))
        return [_weakest([next(scores) for _ in texts]) for texts in asked]

    def _parts(self, claim: str) -> list[str]:
        parts = [text for unit in self.units.split(claim) if (text := unit.text.strip())]
        return parts if len(parts) > 1 else []


def _weakest(scores: Sequence[Score]) -> Score:
    """`scores`: the whole claim's, then its parts'."""
    weakest = min(scores, key=lambda score: -math.inf if math.isnan(score.value) else score.value)
    return replace(weakest, citations=scores[0].citations)
