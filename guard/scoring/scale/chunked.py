"""A source as SCALE reads it: each document is tokenized once, and cut into chunks and sentences when they are needed.

`groundrail.scoring.scale.best_first` chooses the chunks that are judged.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.remembered import Remembered
from groundrail.errors import InputError
from groundrail.runtime.progress import begin
from groundrail.scoring.passages import Passage
from groundrail.scoring.scale.best_first import Chunks
from groundrail.scoring.scale.chunks import Windows
from groundrail.text.facts.invented import Stated
from groundrail.text.sentences import splits
from groundrail.types import Document, Source, Span, as_documents


class ChunkedSource:
    """The documents of a source, their chunks of each size, and the model with its earlier scores."""

    def __init__(self, source: Source, model: EntailmentModel, overlap: float, leaves: str = "sentences") -> None:
        documents = [document for document in as_documents(source) if document.text.strip()]
        if not documents:
            raise InputError("the source is blank, so there is nothing to score claims against")
        self.model = Remembered(model)
        self._characters = sum(len(document.text) for document in documents)
        begin("reading the source", self._characters)
        self._documents = [ReadDocument(document, model, leaves) for document in documents]
        self._overlap = overlap
        self._cut: dict[int, tuple[list[tuple[ReadDocument, int, int]], Chunks]] = {}

    @cached_property
    def stated(self) -> Stated:
        """The details and figures that all documents state."""
        return Stated.by(read.document.text for read in self._documents)

    def chunks(self, size: int) -> "tuple[list[tuple[ReadDocument, int, int]], Chunks]":
        """The places of all chunks of this size (document, start, end), and the chunks by number."""
        if size not in self._cut:
            begin("cutting it into chunks", self._characters)
            places = [(read, *span) for read in self._documents for span in read.windows.cut(size, self._overlap)]
            self._cut[size] = places, Chunks(len(places), lambda number: _text(*places[number]))
        return self._cut[size]


class ReadDocument:
    """A document that is tokenized once, and cut into chunks and sentences when they are first needed.

    leaves: "lines" reads each line as a sentence, for example an utterance of a dialogue. The tokens of a sentence are
        counted only when the search reaches it.
    """

    def __init__(self, document: Document, entailment: EntailmentModel, leaves: str = "sentences") -> None:
        self.document, self._entailment, self._leaves = document, entailment, leaves
        self.windows = Windows(document.text, entailment.offsets)
        self._spans: tuple[array[int], array[int]] | None = None
        self._passages: dict[int, Passage] = {}

    def sentences(self, start: int, end: int) -> list[Passage]:
        """The sentences that overlap `text[start:end]`."""
        if self._spans is None:
            self._spans = self._split()
        starts, ends = self._spans
        found = range(bisect_right(ends, start), bisect_left(starts, end))
        for number in found:
            if number not in self._passages:
                self._passages[number] = self.passage(starts[number], ends[number])
        return [self._passages[number] for number in found]

    def _split(self) -> "tuple[array[int], array[int]]":
        """Starts and ends of the sentences or lines, without white space around them."""
        text = self.document.text
        starts, ends = array("q"), array("q")
        for first, last in lines(text) if self._leaves == "lines" else ((s.start, s.end) for s in splits(text)):
            start, end = Span.trimmed(text, first, last)
            if start < end:
                starts.append(start)
                ends.append(end)
        return starts, ends

    def passage(self, start: int, end: int) -> Passage:
        """`text[start:end]` without white space at both ends."""
        return Passage.trimmed(self.document, start, end, self._entailment)


def lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line, without the line break."""
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _text(read: ReadDocument, start: int, end: int) -> str:
    return read.document.text[start:end]
