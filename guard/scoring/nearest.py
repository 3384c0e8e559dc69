"""Retrieve, then judge: the claim against the few source sentences whose words are most like its own.

They are read one by one, so that a supporting sentence is not lost among others, and together, so that a condition or a
later change counts. That takes a handful of pairs a claim, however long the source. Word likeness is BM25's.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from groundrail.entailment.asking import Asking, answered
from groundrail.entailment.base import EntailmentModel, FloatArray
from groundrail.entailment.loading import load
from groundrail.entailment.remembered import Remembered
from groundrail.errors import ClaimTooLongError, InputError
from groundrail.runtime.progress import begin
from groundrail.scoring.base import Reader, Score, Scorer, ScorerMetadata
from groundrail.scoring.index import TOGETHER, Places, SentenceIndex
from groundrail.scoring.weighing import INVENTED, RIVALS, between, citable, conflict, weigh_rivals
from groundrail.types import Source


@dataclass(frozen=True, slots=True)
class _Reading:
    """The premises of a document for a claim: sentences, each with its likeness as a share of the greatest; the window."""

    alone: Mapping[Places, float]
    window: Places | None

    @property
    def premises(self) -> Sequence[Places]:
        """All premises, the window last; a window of one sentence may be there twice."""
        return [*self.alone, self.window] if self.window else [*self.alone]


class NearestScorer(Scorer):
    """The `k` sentences nearest to the claim, one by one and together.

    A document's score is the weighted mean, in log-odds, of two probabilities: that of the window, and the highest of its
    sentences among the `k`. The highest document counts. The citation is the sentence with the highest log-odds and
    likeness together; the conflict is the contradicting sentence with the lowest P(neutral). A sentence too long to be
    read beside a claim is cut, none is truncated.

    Args:
        k: Number of sentences that are read alone; the sentences of all documents compete.
        window: Tokens of the nearest sentence and the most similar others, read together in the order of the document.
            At 0 no window is read, and the sentences alone decide.
        rivals: The claim's loss to a likelier rival (`groundrail.scoring.weighing`), as a share of the difference in
            log-odds.
        invented: The least loss, in log-odds, to an entailed rival of an invented figure. If both are 0, no rival is asked.
    """

    def __init__(
        self,
        entailment: EntailmentModel | str | None = None,
        *,
        k: int = 5,
        window: int = TOGETHER,
        rivals: float = RIVALS,
        invented: float = INVENTED,
    ) -> None:
        if k < 1:
            raise InputError(f"k is {k}; at least one sentence must be read")
        if window < 0:
            raise InputError(f"window is {window} tokens; 0 reads none")
        for name, weight in {"rivals": rivals, "invented": invented}.items():
            if not 0 <= weight < math.inf:
                raise InputError(f"{name} is {weight}; it is taken from log-odds, a number from 0")
        self.entailment = load(entailment)
        self.k = k
        self.window = window
        self.rivals, self.invented = rivals, invented

    @property
    def metadata(self) -> ScorerMetadata:
        """The sentences that it reads and its judge."""
        judge = self.entailment.metadata
        together = f" and {self.window} tokens of the nearest together" if self.window else ""
        weights = {"rivals": self.rivals, "invented figures": self.invented}
        beside = "".join(f", {name} at {weight:g}" for name, weight in weights.items() if weight)
        identity = f"the {self.k} nearest sentences{together}{beside}, judged by {judge.identity}"
        return ScorerMetadata.around(judge, identity, "nearest", tells_contradiction=judge.tells_contradiction)

    def read(self, source: Source) -> Reader:
        """Index the source's sentences."""
        index = SentenceIndex(source, self.entailment, max(1, self.entailment.max_tokens // 2))
        return _NearestReader(self, index, Remembered(self.entailment))

    def _asking(self, claims: Sequence[str], index: SentenceIndex, model: Remembered) -> Asking[list[Score]]:
        """One score a claim, NaN where the source is blank; all claims in one model call, all rivals in a second.

        Raises: ClaimTooLongError for a claim that leaves no room for a premise.
        """
        if not index.passages:
            return [Score(math.nan) for _ in claims]
        read = [self._readings(claim, index) for claim in claims]
        asked = [[places for reading in of_claim for places in reading.premises] for of_claim in read]
        pairs = [(index.text(some), claim) for claim, of_claim in zip(claims, asked, strict=True) for some in of_claim]
        begin("judging", len(pairs))
        rows = iter((yield from model.asking(pairs)))
        judged = [{places: next(rows) for places in of_claim} for of_claim in asked]
        scores = [_scored(readings, of_claim, index) for readings, of_claim in zip(read, judged, strict=True)]
        alone = [[places[0] for reading in of_claim for places in reading.alone] for of_claim in read]
        weights = {"weight": self.rivals, "charge": self.invented}
        return index.noted((yield from weigh_rivals(claims, scores, alone, index, model, **weights)))

    def _readings(self, claim: str, index: SentenceIndex) -> list[_Reading]:
        """One for each document of the `k`; of sentences that are equally near, the first."""
        size = index.room(claim)
        likeness = index.likeness(claim)
        fitting = (int(n) for n in np.argsort(-likeness, kind="stable") if index.passages[n].tokens <= size)
        of_document: dict[int, dict[Places, float]] = defaultdict(dict)
        for place in islice(fitting, self.k):
            of_document[index.document(place)][place,] = float(likeness[place]) / (float(likeness.max()) or 1.0)
        if not of_document:
            raise ClaimTooLongError(f"the claim leaves room for {size} tokens, less than any sentence: {claim[:80]!r}")
        in_context = index.in_context(likeness)
        most = min(self.window, size)
        return [
            _Reading(alone, index.window(next(iter(alone))[0], in_context, most) if most else None)
            for alone in of_document.values()
        ]


@dataclass(frozen=True, slots=True)
class _NearestReader(Reader):
    """A source as sentences, with the judge's earlier answers; all scores are exact."""

    scorer: NearestScorer
    index: SentenceIndex
    model: Remembered

    def score(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        return answered(self.asking(claims, threshold))

    def asking(self, claims: Sequence[str], threshold: float | None = None) -> Asking[list[Score]]:
        return self.scorer._asking(claims, self.index, self.model)


def _scored(readings: Sequence[_Reading], judged: Mapping[Places, FloatArray], index: SentenceIndex) -> Score:
    """`judged`: entailment, neutral, contradiction of every premise, each (3,)."""
    known = {places: row for places, row in judged.items() if not math.isnan(row[0])}
    scores = [score for reading in readings if (score := _of_document(reading, known, index)) is not None]
    if not scores:
        return Score(math.nan)
    best = max(scores, key=lambda score: score.value)
    read = tuple(index.passages[places[0]].detail() for reading in readings for places in reading.alone)
    return Score(best.value, best.citations, conflict(known, index), read=read)


def _of_document(reading: _Reading, known: Mapping[Places, FloatArray], index: SentenceIndex) -> Score | None:
    entailed = {places: float(known[places][0]) for places in reading.alone if places in known}
    if not entailed:
        return None
    value = max(entailed.values())
    cited = max(entailed, key=lambda places: citable(entailed[places], reading.alone[places]))
    if reading.window and (together := known.get(reading.window)) is not None:
        value = between(float(together[0]), value)
    return Score(value, (index.passages[cited[0]].cite(entailed[cited]),))
