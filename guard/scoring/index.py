"""The sentences of a source, searchable by their words (BM25, by bm25s), and in chunks of whole sentences.

What a chunk says about a claim belongs to the scorers.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import bm25s  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from groundrail.english.stems import stems
from groundrail.entailment.base import EntailmentModel
from groundrail.scoring.passages import Passage, fitted
from groundrail.sentences import split
from groundrail.types import Document, Span


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbouring sentences of one document: `passages[first:last]` of the index."""

    first: int
    last: int
    text: str


class SentenceIndex:
    """All sentences of all documents, each cut where it is longer than `longest` tokens."""

    def __init__(self, documents: Sequence[Document], model: EntailmentModel, longest: int) -> None:
        self.passages: list[Passage] = []
        for document in documents:
            self.passages += fitted(_sentences(document, model), longest, model)
        words = [stems(passage.text) for passage in self.passages]
        self._bm25: bm25s.BM25 | None = None
        if any(words):
            self._bm25 = bm25s.BM25()
            self._bm25.index(words, show_progress=False)
        self._chunks: dict[int, list[Chunk]] = {}

    def likeness(self, claim: str) -> NDArray[np.float64]:
        """How much every sentence has of the claim's words, shape (sentences,); 0 where they share none."""
        words = [word for word in dict.fromkeys(stems(claim)) if self._bm25 and word in self._bm25.vocab_dict]
        if self._bm25 is None or not words:
            return np.zeros(len(self.passages))
        return np.asarray(self._bm25.get_scores(words), dtype=np.float64)

    def chunks(self, tokens: int) -> list[Chunk]:
        """The whole source in chunks of at most `tokens` tokens, or one sentence; none crosses a document.

        Each begins with the last sentences of the one before, up to a quarter of `tokens`.
        """
        if tokens not in self._chunks:
            self._chunks[tokens] = list(self._cut(tokens))
        return self._chunks[tokens]

    def nearest(self, claim: str, tokens: int, k: int) -> list[Chunk]:
        """The `k` chunks most like the claim, by their three best sentences; equals in document order."""
        likeness, chunks = self.likeness(claim), self.chunks(tokens)
        likenesses = [np.sort(likeness[chunk.first : chunk.last])[-3:].sum() for chunk in chunks]
        return [chunks[place] for place in np.argsort(-np.asarray(likenesses), kind="stable")[:k]]

    def _cut(self, tokens: int) -> Iterator[Chunk]:
        first = 0
        while first < len(self.passages):
            last, room = first, tokens
            document = self.passages[first].document
            while last < len(self.passages) and self.passages[last].document is document:
                room -= self.passages[last].tokens
                if room < 0 and last > first:
                    break
                last += 1
            yield Chunk(first, last, document.text[self.passages[first].start : self.passages[last - 1].end])
            if last == len(self.passages) or self.passages[last].document is not document:
                first = last
                continue
            again, shared = last, tokens // 4
            while again - 1 > first and shared >= self.passages[again - 1].tokens:
                again -= 1
                shared -= self.passages[again].tokens
            first = again


def _sentences(document: Document, model: EntailmentModel) -> Iterator[Passage]:
    """Sentences without white space at their ends, their tokens counted in one pass over the document."""
    starts = [start for start, _ in model.offsets(document.text)]
    for part in split(document.text):
        start, end = Span.trimmed(document.text, part.start, part.end)
        if start < end:
            yield Passage(document, start, end, bisect_left(starts, end) - bisect_left(starts, start))
