"""Retrieve, then judge: the claim against the few chunks of the source whose words are most like its own.

A handful of pairs a claim however long the source, in whole sentences with what stands around them, so that
pronouns, corrections and facts told in several sentences are read together. A source that fits is read whole.
"""

import math
from collections.abc import Sequence

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, three_way
from groundrail.entailment.loading import load
from groundrail.errors import InputError
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.scoring.index import Chunk, SentenceIndex
from groundrail.scoring.passages import Passage, room
from groundrail.types import Citation, Source, as_documents

_STEP = 64
"""Chunks beside long claims get sizes in steps, so that claims of similar length share them."""

_ALIEN = "the source shares no word with it"


class NearestScorer(Scorer):
    """The highest P(entailment) from the `k` chunks of at most `tokens` tokens that are nearest to the claim.

    Of the `sentences` nearest sentences in the chunk that reached it, the one that says the claim best alone is
    cited. Chunks of all documents compete; none crosses two.
    """

    takes_context = True

    def __init__(
        self,
        entailment: EntailmentModel | str | None = None,
        *,
        tokens: int = 360,
        k: int = 2,
        sentences: int = 4,
    ) -> None:
        for name, value in (("tokens", tokens), ("k", k), ("sentences", sentences)):
            if value < 1:
                raise InputError(f"{name} is {value}; at least one must be read")
        self.entailment = load(entailment)
        self.tokens, self.k, self.sentences = tokens, k, sentences
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
        """One score a claim, NaN where the source is blank; two model calls for all claims.

        Raises: ClaimTooLongError for a claim that leaves no room for a premise.
        """
        if not index.passages:
            return [Score(math.nan) for _ in claims]
        read = [index.nearest(claim, self._size(claim), self.k) for claim in claims]
        judged = iter(
            self._judge(
                [(chunk.text, claim) for claim, of_claim in zip(claims, read, strict=True) for chunk in of_claim]
            )
        )
        won = [max(((next(judged), chunk) for chunk in of_claim), key=_entailed) for of_claim in read]
        cited = [self._cited(claim, chunk, index) for claim, (_, chunk) in zip(claims, won, strict=True)]
        alone = iter(
            self._judge(
                [(passage.text, claim) for claim, passages in zip(claims, cited, strict=True) for passage in passages]
            )
        )
        scores = [
            _scored(row, passages, [next(alone) for _ in passages])
            for (row, _), passages in zip(won, cited, strict=True)
        ]
        return [
            Score(0.0, refusal=_ALIEN) if self._is_alien(claim, index) else score
            for claim, score in zip(claims, scores, strict=True)
        ]

    def _is_alien(self, claim: str, index: SentenceIndex) -> bool:
        """Whether nothing said which chunks to read: the claim shares no word with a source that is not read whole."""
        return len(index.chunks(self._size(claim))) > self.k and not index.likeness(claim).any()

    def _size(self, claim: str) -> int:
        free = room(claim, self.entailment)
        return self.tokens if free >= self.tokens else max(1, free - free % _STEP)

    def _cited(self, claim: str, chunk: Chunk, index: SentenceIndex) -> list[Passage]:
        likeness = index.likeness(claim)[chunk.first : chunk.last]
        places = np.argsort(-likeness, kind="stable")[: self.sentences]
        return [index.passages[chunk.first + int(place)] for place in places]

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        """Entailment, neutral, contradiction, shape (n, 3); all that is not entailed is neutral to a model of two classes."""
        if self._nli is not None:
            return self._nli.classify(pairs)
        entailed = self.entailment.entailment(pairs)
        return np.stack([entailed, 1 - entailed, np.zeros_like(entailed)], axis=1)


def _entailed(judged: tuple[FloatArray, Chunk]) -> float:
    value = float(judged[0][0])
    return math.inf if math.isnan(value) else value  # a chunk that could not be judged leaves the claim without a score


def _scored(row: FloatArray, passages: Sequence[Passage], alone: Sequence[FloatArray]) -> Score:
    """`row` and each of `alone`: entailment, neutral, contradiction, shape (3,)."""
    value, silent, contrary = map(float, row)
    if math.isnan(value):
        return Score(math.nan)
    conflict = _place(passages, alone, 2) if contrary > max(value, silent) else None
    return Score(value, (_place(passages, alone, 0),), conflict)


def _place(passages: Sequence[Passage], alone: Sequence[FloatArray], column: int) -> Citation:
    """The sentence that says it, or the contrary, best alone."""
    scores = [-1.0 if math.isnan(row[column]) else float(row[column]) for row in alone]
    best_of = max(range(len(scores)), key=scores.__getitem__)
    return passages[best_of].cite(scores[best_of])
