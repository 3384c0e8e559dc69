"""The premises of a source, searchable by their words: its sentences, and its tables and records by their form.

The scorers judge a claim by them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from groundrail.entailment.base import EntailmentModel
from groundrail.runtime.progress import begin, step, stepping
from groundrail.scoring.base import Score
from groundrail.scoring.passages import Passage, fitted
from groundrail.scoring.token_starts import token_starts
from groundrail.scoring.word_index import WordIndex
from groundrail.sources.reading import Reading, read_by_form
from groundrail.text.facts.invented import Stated
from groundrail.types import Document, Span

BESIDE = 0.4
"""What a sentence has of the mean likeness of the two beside it."""


class SentenceIndex:
    """All sentences of all documents, each cut where it is longer than `longest` tokens.

    A row of a table, a record or an item of a list is a sentence here, too (`groundrail.sources`).
    """

    def __init__(self, documents: Sequence[Document], model: EntailmentModel, longest: int) -> None:
        self.passages: list[Passage] = []
        self._starts: list[int] = []
        begin("reading the source", 3 * sum(len(document.text) for document in documents))  # tokens, sentences, words
        readings = [read_by_form(document.text) for document in documents]
        self._notes = list(dict.fromkeys(reading.note for reading in readings if reading.note))
        for document, reading in zip(documents, readings, strict=True):
            self._starts.append(len(self.passages))
            self.passages += fitted(_premises(document, reading, model), longest, model)
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

    def noted(self, scores: Sequence[Score]) -> list[Score]:
        """The scores, with a note on each if a source could not be read by its form."""
        if not self._notes:
            return list(scores)
        return [replace(score, note="; ".join(filter(None, [score.note, *self._notes]))) for score in scores]

    def places(self, document: int) -> range:
        """The sentences of a document, by its number."""
        return range(self._starts[document], self._starts[document + 1])

    def document(self, place: int) -> int:
        """The number of the document that a sentence is of."""
        return bisect_right(self._starts, place) - 1

    @cached_property
    def stated(self) -> Stated:
        """The details and figures that all sentences state."""
        return Stated.by(passage.text for passage in self.passages)


def _premises(document: Document, reading: Reading, model: EntailmentModel) -> Iterator[Passage]:
    """The premises of a document: its sentences, and what its tables, records and lists say, by their form.

    No white space is left at the ends. The tokens of sentences are counted in one pass over the document.
    """
    starts = token_starts(document.text, model.offsets)
    read = 0
    for premise in reading.premises():
        start, end = Span.trimmed(document.text, premise.start, premise.end)
        if start < end:
            if premise.said is None:
                tokens = bisect_left(starts, end) - bisect_left(starts, start)
            else:
                tokens = len(model.offsets(premise.said))
            yield Passage(document, start, end, tokens, premise.said)
        step(max(0, premise.end - read))
        read = max(read, premise.end)
