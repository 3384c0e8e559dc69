"""What a claim is cut into before it is scored, and how the pieces' scores become one.

Splitters only say where the units are; the scorer underneath decides what each is worth. Sentence boundaries
belong to `groundrail.text.sentences`, smaller units to whoever implements `Units`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from groundrail.errors import InputError
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerFacts, below_all, best_first
from groundrail.types import Source

Aggregate: TypeAlias = Literal["mean", "minimum"]


class Unit(Protocol):
    """A piece of a claim: its words, and the slice of the claim they come from."""

    @property
    def text(self) -> str:
        """What is scored."""
        ...

    @property
    def start(self) -> int:
        """Where the slice begins, in characters of the claim."""
        ...

    @property
    def end(self) -> int:
        """Where the slice ends, in characters of the claim."""
        ...


class Units(Protocol):
    """Cuts a claim into pieces that are scored one by one."""

    def split(self, claim: str) -> Sequence[Unit]:
        """The units of `claim` in order; none only where the claim holds no words."""
        ...


class SentenceUnits:
    """Sentences, as SCALE and most NLI metrics take them."""

    def split(self, claim: str) -> Sequence[Unit]:
        """The claim's sentences, in order; what is scored are their words without the blanks around them."""
        from groundrail.text.sentences import split

        return [_Slice(sentence.text.strip(), sentence.start, sentence.end) for sentence in split(claim)]


@dataclass(frozen=True, slots=True)
class _Slice:
    text: str
    start: int
    end: int


class WholeClaim:
    """The claim as it is, however many sentences it has, with the blanks that it begins with."""

    def split(self, claim: str) -> Sequence[Unit]:
        """The claim, or nothing where it is blank."""
        return [_Slice(claim.rstrip(), 0, len(claim))] if claim.strip() else []


class UnitScorer(Scorer):
    """A scorer that scores every unit of a claim and takes the mean or the minimum.

    The mean over sentences is Falke et al.'s aggregation; the minimum over the sub-sentences of a sentence is
    InFusE's: nest one in the other for both, as `groundrail.scoring.registry.in_units` does.
    A claim without units, or with a unit the scorer has no value for, has the value NaN. The conflict is the weakest
    unit's.
    """

    def __init__(self, scorer: Scorer, units: Units | None = None, aggregate: Aggregate = "mean") -> None:
        if aggregate not in ("mean", "minimum"):
            raise InputError(f"units are joined by 'mean' or 'minimum', not {aggregate!r}")
        self.scorer = scorer
        self.units = SentenceUnits() if units is None else units
        self.aggregate = aggregate

    @property
    def facts(self) -> ScorerFacts:
        """The scorer's, under a name that tells the units and how they are joined; a mean may rise with the claim."""
        inner = self.scorer.facts
        identity = f"the {self.aggregate} over {type(self.units).__name__} of {inner.identity}"
        return replace(inner, identity=identity, takes_context=False)

    def read(self, source: Source) -> Reader:
        """The scorer's own reading."""
        return Prepared(self._score, self.scorer.read(source))

    def _score(self, claims: Sequence[str], reader: Reader) -> list[Score]:
        """One score a claim, from its units."""
        return self.score_units([self._cut(claim) for claim in claims], reader)

    def units_of(self, sentences: Sequence[str]) -> list[str]:
        """The units of a text whose sentences are known: they are not cut apart again."""
        if isinstance(self.units, SentenceUnits):
            return [sentence.strip() for sentence in sentences]
        return self._cut(" ".join(sentences))

    def _cut(self, claim: str) -> list[str]:
        return [unit.text for unit in self.units.split(claim) if unit.text.strip()]

    def score_units(self, units: Sequence[Sequence[str]], reader: Reader) -> list[Score]:
        """One score for each list of units; `reader`, the scorer's, scores all units in one call."""
        scores = iter(reader.score([text for texts in units for text in texts]))
        return [self._join([next(scores) for _ in texts]) for texts in units]

    def _join(self, scores: Sequence[Score]) -> Score:
        if not scores:
            return Score(math.nan)
        values = [score.value for score in scores]
        if any(math.isnan(value) for value in values):
            value = math.nan
        else:
            value = min(values) if self.aggregate == "minimum" else math.fsum(values) / len(values)
        weakest = min(scores, key=lambda score: below_all(score.value))
        return Score(
            value,
            best_first(citation for score in scores for citation in score.citations),
            weakest.conflict,
            exact=all(score.exact for score in scores),
            note=next((score.note for score in scores if score.note), None),
        )
