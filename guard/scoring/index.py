"""The sentences of a source, searchable by their words.

What a sentence says about a claim belongs to the scorers.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from groundrail.entailment.base import EntailmentModel
from groundrail.runtime.progress import begin, step, stepping
from groundrail.scoring.passages import Passage, fitted
from groundrail.scoring.token_starts import token_starts
from groundrail.scoring.word_index import WordIndex
from groundrail.text.sentences import splits
from groundrail.types import Document, Span

BESIDE = 0.4
"""What a sentence has of the mean likeness of the two beside it."""


class SentenceIndex:
    """All sentences of all documents, each cut where it is longer than `longest` tokens."""

    def __init__(self, documents: Sequence[Document], model: EntailmentModel, longest: int) -> None:
        self.passages: list[Passage] = []
        self._starts: list[int] = []
        begin("reading the source", 3 * sum(len(document.text) for document in documents))  # tokens, sentences, words
        for document in documents:
            self._starts.append(len(self.passages))
            self.passages += fitted(_sentences(document, model), longest, model)
        self._starts.append(len(self.passages))
        first = np.isin(np.arange(1, len(self.passages)), self._starts)
        self._continues = (~first).astype(np.float64)
        self._words = WordIndex(stepping(passage.text for passage in self.passages))

    def likeness(self, claim: str) -> NDArray[np.float64]:
        """How much every sentence has of the claim's words, shape (sentences,); 0 where they share none."""
        return self._words.likeness(claim)

    def in_context(self, likeness: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same with a share of what the sentences beside each have, in its document: what "it" or "then" is about
        stands there."""
        beside = np.zeros_like(likeness)
        beside[1:] += likeness[:-1] * self._continues
        beside[:-1] += likeness[1:] * self._continues
        return likeness + BESIDE / 2 * beside

    def places(self, document: int) -> range:
        """The sentences of a document, by its number."""
        return range(self._starts[document], self._starts[document + 1])

    def document(self, place: int) -> int:
        """The number of the document that a sentence is of."""
        return bisect_right(self._starts, place) - 1


def _sentences(document: Document, model: EntailmentModel) -> Iterator[Passage]:
    """Sentences without white space at their ends, their tokens counted in one pass over the document."""
    starts = token_starts(document.text, model.offsets)
    for part in splits(document.text):
        start, end = Span.trimmed(document.text, part.start, part.end)
        if start < end:
            yield Passage(document, start, end, bisect_left(starts, end) - bisect_left(starts, start))
        step(part.end - part.start)
