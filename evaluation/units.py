"""Units into which a claim is cut before it is scored, and the scorer that joins the scores of the units.

`UnitScorer` has another scorer score each unit. Splitters that cut a sentence into sub-sentences are entry points of the
group `groundrail.splitters`; `groundrail.papers.units` has three: by rule, by a spaCy pipeline, by a tuned model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self, TypeAlias

from groundrail.errors import InputError
from groundrail.runtime import entry_points
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerMetadata, below_all, best_first
from groundrail.types import Source, Span

Aggregate: TypeAlias = Literal["mean", "minimum"]
GROUP = "groundrail.splitters"


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a claim that can be judged alone: the text that is scored, and `claim[start:end]`, which it states."""

    text: str
    start: int
    end: int

    @classmethod
    def whole(cls, claim: str) -> Self:
        """The claim without the blanks around it."""
        return cls(claim.strip(), *Span.trimmed(claim))


class Units(Protocol):
    """Cut a claim into units that are scored one by one."""

    def split(self, claim: str) -> Sequence[Unit]:
        """The units of `claim` in order; none only if the claim has no words."""
        ...


class SentenceUnits:
    """Cut a claim into sentences, as SCALE and most NLI metrics do."""

    def split(self, claim: str) -> Sequence[Unit]:
        """The sentences of the claim in order; each is scored without the blanks around it."""
        from groundrail.text.sentences import split

        return [Unit(sentence.text.strip(), sentence.start, sentence.end) for sentence in split(claim)]


class WholeClaim:
    """Keep the claim whole, however many sentences it has, with the blanks at its start."""

    def split(self, claim: str) -> Sequence[Unit]:
        """The claim, or no unit if it is blank."""
        return [Unit(claim.rstrip(), 0, len(claim))] if claim.strip() else []


class SubSentenceUnits:
    """Cut a claim into the sub-sentences of all its sentences.

    Take the minimum over the units: a claim is supported if all its parts are. InFusE takes the minimum within each
    sentence and the mean over sentences: `in_units(scorer, "subsentences")`.

    Args:
        splitter: Cuts one sentence into statements that can be judged alone; None cuts by rule.
    """

    def __init__(self, splitter: Units | None = None) -> None:
        self.splitter: Units = entry_points.load(GROUP, "subsentences")() if splitter is None else splitter

    def split(self, claim: str) -> Sequence[Unit]:
        """The sub-sentences of all sentences of `claim`, in order, with offsets into it."""
        from groundrail.text.sentences import split

        return [
            Unit(part.text, sentence.start + part.start, sentence.start + part.end)
            for sentence in split(claim)
            for part in self.splitter.split(sentence.text)
        ]


class UnitScorer(Scorer):
    """Score every unit of a claim and take the mean or the minimum.

    The mean over sentences is Falke et al.'s aggregation, the minimum over the sub-sentences of a sentence is InFusE's.
    Nest two of these scorers for both, as `in_units` does. The value is NaN for a claim
    without units and if the score of any unit is NaN. The conflict is the conflict of the unit with the lowest score.

        UnitScorer(NearestScorer(), SentenceUnits(), "minimum")
    """

    def __init__(self, scorer: Scorer, units: Units | None = None, aggregate: Aggregate = "mean") -> None:
        if aggregate not in ("mean", "minimum"):
            raise InputError(f"units are joined by 'mean' or 'minimum', not {aggregate!r}")
        self.scorer = scorer
        self.units = SentenceUnits() if units is None else units
        self.aggregate = aggregate

    @property
    def metadata(self) -> ScorerMetadata:
        """The facts about the wrapped scorer, under a name with units and aggregation; a mean takes no context."""
        inner = self.scorer.metadata
        identity = f"the {self.aggregate} over {type(self.units).__name__} of {inner.identity}"
        return replace(inner, identity=identity, scores_jointly=False)

    def read(self, source: Source) -> Reader:
        """Read the source with the wrapped scorer."""
        return Prepared(self._score, self.scorer.read(source))

    def _score(self, claims: Sequence[str], reader: Reader) -> list[Score]:
        """Score each claim by its units."""
        return self.score_units([self._cut(claim) for claim in claims], reader)

    def units_of(self, sentences: Sequence[str]) -> list[str]:
        """The units of a text whose sentences are given, so that they are not found again."""
        if isinstance(self.units, SentenceUnits):
            return [sentence.strip() for sentence in sentences]
        return self._cut(" ".join(sentences))

    def _cut(self, claim: str) -> list[str]:
        return [unit.text for unit in self.units.split(claim) if unit.text.strip()]

    def score_units(self, units: Sequence[Sequence[str]], reader: Reader) -> list[Score]:
        """Score each list of units; `reader`, from the wrapped scorer, scores all units in one call."""
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


def unit_names() -> tuple[str, ...]:
    """The names of the units into which a claim can be cut."""
    return ("sentences", *entry_points.names(GROUP), "whole")


def load_units(name: str, splitter: str | None = None) -> Units:
    """Build the units called `name`; `splitter` is the model that cuts claims, for "parsed" and "seq2seq".

    Raises: InputError for an unknown name, for a missing splitter, or for a splitter that the units do not use; also
        the errors of loading the splitter.
    """
    if name not in unit_names():
        raise InputError(f"no units are called {name!r}; there are {', '.join(unit_names())}")
    if name == "seq2seq" and splitter is None:
        raise InputError("the units 'seq2seq' are written by a model: name one with --splitter")
    if splitter is not None and name not in ("parsed", "seq2seq"):
        raise InputError(f"the units {name!r} take no splitter, only 'parsed' and 'seq2seq' do, not {splitter!r}")
    if name == "sentences":
        return SentenceUnits()
    return WholeClaim() if name == "whole" else SubSentenceUnits(entry_points.load(GROUP, name)(*filter(None, [splitter])))


def in_units(scorer: Scorer, name: str, aggregate: Aggregate = "mean", splitter: str | None = None) -> UnitScorer:
    """Wrap `scorer`: cut claims into the units called `name` and join the scores of the units by `aggregate`.

    For sub-sentences the score of a sentence is the minimum over its sub-sentences, and `aggregate` joins the sentences
    (InFusE, sections 3 and 4).

    Raises: the errors of `load_units`.
    """
    units = load_units(name, splitter)
    if isinstance(units, SubSentenceUnits):
        scorer, units = UnitScorer(scorer, units, "minimum"), SentenceUnits()
    return UnitScorer(scorer, units, aggregate)
