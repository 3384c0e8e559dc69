"""Retrieve, then judge: the claim against the few source sentences whose words are most like its own.

A handful of pairs a claim however long the source, and a small judge is spared the many sentences that have
nothing to do with the claim, each of which it may misjudge. Word likeness is BM25's.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, three_way
from groundrail.entailment.loading import load
from groundrail.errors import ClaimTooLongError, InputError
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.scoring.index import SentenceIndex
from groundrail.scoring.passages import room
from groundrail.types import Citation, Source, as_documents

_ALIEN = "the source shares no word with it"


@dataclass(frozen=True, slots=True)
class _Premise:
    """What is read for a claim, and the sentences, by their places in the index, that it is made of."""

    text: str
    places: tuple[int, ...]


class NearestScorer(Scorer):
    """The `k` sentences nearest to the claim, each alone and after the one before it; the highest score counts.

    Sentences of all documents compete for the `k` places. The citation is the sentence that reached the score, of
    two the one that scores higher alone; the conflict is the sentence that contradicts the claim most, where none
    says it. A sentence too long to be read beside a claim is cut, none is truncated.
    """

    takes_context = True

    def __init__(self, entailment: EntailmentModel | str | None = None, *, k: int = 3) -> None:
        if k < 1:
            raise InputError(f"k is {k}; at least one sentence must be read")
        self.entailment = load(entailment)
        self.k = k
        self.threshold = self.entailment.threshold
        self.english_only = self.entailment.english_only
        self._nli = three_way(self.entailment)

    @property
    def identity(self) -> str:
        """What it reads, and its model."""
        return f"the {self.k} nearest sentences, judged by {self.entailment.identity}"

    def unread(self, claim: str) -> Sequence[str]:
        """Its model's."""
        return self.entailment.unread(claim)

    def read(self, source: Source) -> Reader:
        """Index the source's sentences."""
        documents = [document for document in as_documents(source) if document.text.strip()]
        longest = max(1, self.entailment.max_tokens // 2)
        return Prepared(self._score, SentenceIndex(documents, self.entailment, longest))

    def _score(self, claims: Sequence[str], index: SentenceIndex) -> list[Score]:
        """One score a claim, NaN where the source is blank; all claims in one model call.

        Raises: ClaimTooLongError for a claim that leaves no room for a premise.
        """
        if not index.passages:
            return [Score(math.nan) for _ in claims]
        read = [self._premises(claim, index) for claim in claims]
        judged = iter(
            self._judge(
                [(premise.text, claim) for claim, of_one in zip(claims, read, strict=True) for premise in of_one]
            )
        )
        return [
            _scored(premises, [next(judged) for _ in premises], index) if premises else Score(0.0, refusal=_ALIEN)
            for premises in read
        ]

    def _premises(self, claim: str, index: SentenceIndex) -> list[_Premise]:
        """None where no sentence shares a word with the claim, unless all are read anyway."""
        size = room(claim, self.entailment)
        likeness = index.likeness(claim)
        if len(likeness) > self.k and not likeness.any():
            return []
        nearest = [int(place) for place in np.argsort(-likeness, kind="stable")[: self.k]]
        pairs = [(before, place) for place in nearest if (before := index.before(place)) is not None]
        alone = dict.fromkeys([*nearest, *(before for before, _ in pairs)])
        premises = [_Premise(index.passages[place].text, (place,)) for place in alone]
        for before, place in pairs:
            first, second = index.passages[before], index.passages[place]
            if first.tokens + second.tokens <= size:
                premises.append(_Premise(first.document.text[first.start : second.end], (before, place)))
        fitting = [premise for premise in premises if self._tokens(premise, index) <= size]
        if not fitting:
            raise ClaimTooLongError(f"the claim leaves room for {size} tokens, less than any sentence: {claim[:80]!r}")
        return fitting

    def _tokens(self, premise: _Premise, index: SentenceIndex) -> int:
        return sum(index.passages[place].tokens for place in premise.places)

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        """Entailment, neutral, contradiction, (n, 3); what is not entailed is neutral to a model of two classes."""
        if self._nli is not None:
            return self._nli.classify(pairs)
        entailed = self.entailment.entailment(pairs)
        return np.stack([entailed, 1 - entailed, np.zeros_like(entailed)], axis=1)


def _scored(premises: Sequence[_Premise], judged: Sequence[FloatArray], index: SentenceIndex) -> Score:
    """`judged`: entailment, neutral, contradiction of every premise, each (3,)."""
    known = [(premise, row) for premise, row in zip(premises, judged, strict=True) if not math.isnan(row[0])]
    if not known:
        return Score(math.nan)
    alone = {premise.places[0]: row for premise, row in known if len(premise.places) == 1}
    value = max(float(row[0]) for _, row in known)
    won = next(premise for premise, row in known if row[0] == value)
    cited = max(won.places, key=lambda place: float(alone[place][0]) if place in alone else -1.0)
    return Score(value, (index.passages[cited].cite(value),), _conflict(alone, value, index))


def _conflict(alone: Mapping[int, FloatArray], value: float, index: SentenceIndex) -> Citation | None:
    """The sentence that contradicts the claim most, where that is likelier than not and than that one says it."""
    contradicted = {place: float(row[2]) for place, row in alone.items() if row[2] > max(value, 0.5)}
    if not contradicted:
        return None
    place = max(contradicted, key=contradicted.__getitem__)
    return index.passages[place].cite(contradicted[place])
