"""Retrieve, then judge: one window of the source sentences whose words are most like the claim's.

One premise a claim however long the source, with what stands around the nearest sentences, so that pronouns,
corrections and facts told in several sentences are read together. A document that fits is read whole.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, three_way
from groundrail.entailment.loading import load
from groundrail.errors import InputError
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.scoring.index import SentenceIndex, Window
from groundrail.scoring.passages import Passage, best, room
from groundrail.types import Citation, Source, as_documents

_ALIEN = "the source shares no word with it"


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is asked for one claim in one document: its window, and the sentences that may be cited."""

    window: Window
    cited: tuple[Passage, ...]


class NearestScorer(Scorer):
    """The window of at most `tokens` tokens nearest to the claim decides; of its `k` nearest sentences, the one
    that says the claim best alone is cited.

    With several documents, the `documents` nearest ones are read, each in a window of its own.
    """

    takes_context = True

    def __init__(
        self,
        entailment: EntailmentModel | str | None = None,
        *,
        tokens: int = 320,
        k: int = 3,
        documents: int = 3,
    ) -> None:
        for name, value in (("tokens", tokens), ("k", k), ("documents", documents)):
            if value < 1:
                raise InputError(f"{name} is {value}; at least one must be read")
        self.entailment = load(entailment)
        self.tokens, self.k, self.documents = tokens, k, documents
        self.threshold = self.entailment.threshold
        self._nli = three_way(self.entailment)

    def unread(self, claim: str) -> Sequence[str]:
        """Its model's."""
        return self.entailment.unread(claim)

    def read(self, source: Source) -> Reader:
        """Index the source's sentences."""
        documents = [document for document in as_documents(source) if document.text.strip()]
        longest = min(self.tokens, max(1, self.entailment.max_tokens // 2))
        return Prepared(self._score, SentenceIndex(documents, self.entailment, longest))

    def _score(self, claims: Sequence[str], index: SentenceIndex) -> list[Score]:
        """One score a claim, NaN where the source is blank; all claims in one model call.

        Raises: ClaimTooLongError for a claim that leaves no room for a premise.
        """
        if not index.passages:
            return [Score(math.nan) for _ in claims]
        read = [self._readings(claim, index) for claim in claims]
        pairs = [
            (premise, claim)
            for claim, of_claim in zip(claims, read, strict=True)
            for reading in of_claim
            for premise in (reading.window.text, *(passage.text for passage in reading.cited))
        ]
        judged = iter(self._judge(pairs))
        return [
            best([_scored(reading, next(judged), [next(judged) for _ in reading.cited]) for reading in of_claim])
            if of_claim
            else Score(0.0, refusal=_ALIEN)
            for of_claim in read
        ]

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        """Entailment, neutral, contradiction, shape (n, 3); all that is not entailed is neutral to a model of two classes."""
        if self._nli is not None:
            return self._nli.classify(pairs)
        entailed = self.entailment.entailment(pairs)
        return np.stack([entailed, 1 - entailed, np.zeros_like(entailed)], axis=1)

    def _readings(self, claim: str, index: SentenceIndex) -> list[_Reading]:
        """None where no sentence shares a word with the claim, unless the source is read whole."""
        size = min(self.tokens, room(claim, self.entailment))
        ranked = index.ranked(claim)
        nearest: list[str | None] = [*dict.fromkeys(index.passages[place].document.id for place in ranked)]
        readings: list[_Reading] = []
        for name in nearest[: self.documents] or [None]:
            of_one = [place for place in ranked if name in (None, index.passages[place].document.id)]
            window = index.window(of_one, size)
            if not ranked and len(window.passages) < len(index.passages):
                return []
            within = [index.passages[place] for place in of_one if index.passages[place] in window.passages]
            readings.append(_Reading(window, tuple(within[: self.k] or window.passages[: self.k])))
        return readings


def _scored(reading: _Reading, window: FloatArray, alone: Sequence[FloatArray]) -> Score:
    """`window` and each row of `alone`: entailment, neutral, contradiction, shape (3,)."""
    value, silent, contrary = map(float, window)
    if math.isnan(value):
        return Score(math.nan)
    conflict = _place(reading, alone, 2) if contrary > max(value, silent) else None
    return Score(value, (_place(reading, alone, 0),), conflict)


def _place(reading: _Reading, alone: Sequence[FloatArray], column: int) -> Citation:
    """The sentence that says it, or the contrary, best alone."""
    scores = [-1.0 if math.isnan(row[column]) else float(row[column]) for row in alone]
    best_of = max(range(len(scores)), key=scores.__getitem__)
    return reading.cited[best_of].cite(scores[best_of])
