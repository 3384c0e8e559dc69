"""`WeakestPartScorer`: a claim gets the score of its weakest part.

`groundrail.papers.units.clauses` cuts clauses, appositions and relative clauses; the wrapped scorer scores them.
"""

from collections.abc import Sequence
from dataclasses import replace

from groundrail.evaluation.units import SubSentenceUnits, Units, UnitScorer
from groundrail.scoring.base import Score, Scorer, ScorerFacts, below_all
from groundrail.scoring.registry import as_scorer


class WeakestPartScorer(UnitScorer):
    """The minimum score of a claim and its sub-sentences.

        Guard(scorer=WeakestPartScorer(scorer))

    Claims and parts are scored in the same call; a claim that cannot be cut costs nothing more. The citations belong to
    the whole claim, the conflict to the weakest part. The value is NaN if the score of the claim or of a part is NaN.
    """

    def __init__(self, scorer: Scorer | None = None, units: Units | None = None) -> None:
        super().__init__(as_scorer(scorer), SubSentenceUnits() if units is None else units, "minimum")

    @property
    def facts(self) -> ScorerFacts:
        """The facts about the wrapped scorer, under a name with the units."""
        inner = self.scorer.facts
        identity = f"the weakest of a claim and its {type(self.units).__name__} by {inner.identity}"
        return replace(inner, identity=identity, takes_context=False)

    def _cut(self, claim: str) -> list[str]:
        parts = [text.strip() for text in super()._cut(claim)]
        return [claim, *parts] if len(parts) > 1 else [claim]

    def _join(self, scores: Sequence[Score]) -> Score:
        weakest = min(scores, key=lambda score: below_all(score.value))
        return replace(weakest, citations=scores[0].citations)
