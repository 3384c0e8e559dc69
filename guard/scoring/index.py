"""A source as premises, searchable by their words: its sentences, and its tables and records by their form.

The scorers choose the sentences that a claim is judged by, one by one or as chunks.
"""

import logging
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise, takewhile
from typing import Self, TypeAlias

import bm25s  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from groundrail.entailment.base import EntailmentModel, room
from groundrail.errors import ClaimTooLongError
from groundrail.facts.invented import Stated
from groundrail.runtime.progress import begin, step, stepping
from groundrail.scoring.base import Score
from groundrail.sources.above import LONGEST, NONE, ROOM, above, headings
from groundrail.sources.reading import Reading, read_by_form
from groundrail.text.english.words import stems
from groundrail.types import Citation, Detail, Document, Source, Span, TreeStep, as_documents

logging.getLogger("bm25s").setLevel(logging.WARNING)  # which sets a level of its own, DEBUG, when it is imported

BESIDE = 0.4
"""Weight of the mean likeness of the two neighbours of a sentence."""

TOGETHER = 250
"""Tokens of the nearest sentences that are read together; chosen on development sets (docs/method.md)."""

OVERLAP = 0.25
"""Share of a chunk that the next chunk may repeat (SCALE, section 3.1)."""

MOST = 16
"""Maximum number of sentences of a chunk."""

SIZES = 8
"""Sizes of chunks that are kept ready: a long claim leaves less room for a chunk."""

Places: TypeAlias = tuple[int, ...]
"""Sentences by their places in the index, in order: a premise is made of them."""

Offsets: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Character span of every token of a text, in order."""

_LABEL = 60
"""Number of characters in which the name of a field ends."""

PART = 100_000
"""Maximum number of characters tokenized at a time: a tokenizer holds hundreds of bytes for each token."""


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """`document.text[start:end]`, a sentence or a piece of one, without white space at its ends.

    Equal only to itself, so that it can be a key. `said`: the words that the judge reads instead, for a row of a table,
    for instance (`groundrail.sources`). `tokens` counts the words that are read.
    """

    document: Document
    start: int
    end: int
    tokens: int
    said: str | None = None

    @property
    def text(self) -> str:
        """The words that the judge reads."""
        return self.document.text[self.start : self.end] if self.said is None else self.said

    def cite(self, score: float, path: Sequence[TreeStep] = ()) -> Citation:
        """This passage as a citation, with the path on which it was found."""
        return self.document.cite(self.start, self.end, score).model_copy(update={"path": tuple(path)})

    def detail(self) -> Detail:
        """Its place in the source, with the source's own words."""
        text = self.document.text[self.start : self.end]
        return Detail(document_id=self.document.id, start=self.start, end=self.end, text=text)

    @classmethod
    def trimmed(cls, document: Document, start: int, end: int, model: EntailmentModel) -> Self:
        """A slice without white space at its ends, its tokens counted by `model`."""
        start, end = Span.trimmed(document.text, start, end)
        return cls(document, start, end, len(model.offsets(document.text[start:end])))


class SentenceIndex:
    """All sentences of all documents that are not blank, each cut where it is longer than `longest` tokens.

    A row of a table, a record or an item of a list is a sentence here, too (`groundrail.sources`).
    """

    def __init__(self, source: Source, model: EntailmentModel, longest: int) -> None:
        documents = [document for document in as_documents(source) if document.text.strip()]
        self.passages: list[Passage] = []
        self._starts: list[int] = []
        self._headings: list[list[int]] = []
        begin("reading the source", 3 * sum(len(document.text) for document in documents))  # tokens, sentences, words
        readings = [read_by_form(document.text) for document in documents]
        self._notes = list(dict.fromkeys(reading.note for reading in readings if reading.note))
        for document, reading in zip(documents, readings, strict=True):
            self._starts.append(len(self.passages))
            found = fitted(_premises(document, reading, model), longest, model)
            self._headings += [headings(document.text, found)] if model.metadata.reads_context else [[NONE] * len(found)]
            self.passages += found
        self._starts.append(len(self.passages))
        first = np.isin(np.arange(1, len(self.passages)), self._starts)
        self._continues = (~first).astype(np.float64)
        self._words = WordIndex(stepping(passage.text for passage in self.passages))
        self.tokens = np.array([passage.tokens for passage in self.passages])
        self._chunks: dict[int, list[Places]] = {}
        self._model, self._above = model, ROOM if model.metadata.reads_context else 0

    def likeness(self, claim: str) -> NDArray[np.float64]:
        """How much every sentence has of the claim's words, shape (sentences,); 0 where they share none."""
        return self._words.likeness(claim)

    def in_context(self, likeness: NDArray[np.float64]) -> NDArray[np.float64]:
        """Like `likeness`, plus a share of that of a sentence's neighbours in its document, which say who "it" is."""
        beside = np.zeros_like(likeness)
        beside[1:] += likeness[:-1] * self._continues
        beside[:-1] += likeness[1:] * self._continues
        return likeness + BESIDE / 2 * beside

    def text(self, places: Places) -> str:
        """The words of a premise that is made of these sentences, behind the words above them for a judge of contexts."""
        number = self.document(places[0])
        first, headings = self._starts[number], self._headings[number]
        added = above([place - first for place in places], headings, self.tokens[first : first + len(headings)])
        words = {place: self.passages[place].text for place in places}
        words |= {first + place: self._shortened(first + place) for place in added}
        return " ".join(words[place] for place in sorted(words))

    def room(self, claim: str) -> int:
        """Tokens left for the sentences of a premise beside a claim. Raises: ClaimTooLongError where none are."""
        return room(claim, self._model) - self._above

    def fits(self, place: int, claim: str) -> bool:
        """Whether the judge can read a claim beside a sentence."""
        return int(self.tokens[place]) + self._above + len(self._model.offsets(claim)) <= self._model.max_tokens

    def _shortened(self, place: int) -> str:
        """The first words of a title or heading."""
        text = self.passages[place].text
        offsets = self._model.offsets(text)[:LONGEST]
        return text[: offsets[-1][1]] if offsets else text

    def chunks(self, size: int) -> list[Places]:
        """All chunks: at most 16 neighbouring sentences of one document, at most `size` tokens together.

        A longer sentence is left out. A chunk repeats the last sentences of the chunk before, up to a quarter of `size`.
        """
        known = self._chunks  # replaced, never changed, since threads share it
        if size not in known:
            documents = range(len(self._starts) - 1)
            chunks = [chunk for number in documents for chunk in self._cut(self.places(number), size)]
            known = self._chunks = {**dict([*known.items()][1 - SIZES :]), size: chunks}
        return known[size]

    def _cut(self, document: range, size: int) -> Iterator[Places]:
        places = [place for place in document if self.passages[place].tokens <= size]
        start = 0
        while start < len(places):
            end = start + self._fitting(places[start : start + MOST], size)
            yield tuple(places[start:end])
            if end == len(places):
                return
            start = max(start + 1, end - self._fitting(places[start:end][::-1], int(OVERLAP * size)))

    def _fitting(self, places: Sequence[int], size: int) -> int:
        """How many of the first sentences have at most `size` tokens together."""
        tokens = accumulate(self.passages[place].tokens for place in places)
        return sum(1 for _ in takewhile(lambda count: count <= size, tokens))

    def window(self, nearest: int, likeness: NDArray[np.float64], size: int) -> Places:
        """A sentence, and of the others of its document the most similar that fit with it in `size` tokens, in order."""
        document = self.places(self.document(nearest))
        chosen, left = [nearest], size - self.passages[nearest].tokens
        ranked = np.argsort(-likeness[document.start : document.stop], kind="stable")
        for place in (document[int(n)] for n in ranked[:size]):
            if place != nearest and self.passages[place].tokens <= left:
                chosen.append(place)
                left -= self.passages[place].tokens
        return tuple(sorted(chosen))

    def noted(self, scores: Sequence[Score]) -> list[Score]:
        """The scores, with a note on each if a source could not be read by its form."""
        return [score.noting(*self._notes) for score in scores]

    def places(self, document: int) -> range:
        """The sentences of a document, by its number."""
        return range(self._starts[document], self._starts[document + 1])

    def document(self, place: int) -> int:
        """The number of the document that a sentence is of."""
        return bisect_right(self._starts, place) - 1

    @cached_property
    def cells(self) -> list[str]:
        """The words of all sentences if some are cells of tables or fields of records; else an empty list."""
        texts = [passage.text for passage in self.passages]
        fields = sum(": " in text[:_LABEL] for text in texts)
        is_record = any(passage.said is not None for passage in self.passages) or 2 * fields > len(texts)
        return texts if is_record else []

    @cached_property
    def stated(self) -> Stated:
        """The details and figures that all sentences state."""
        return Stated.by(passage.text for passage in self.passages)


def _premises(document: Document, reading: Reading, model: EntailmentModel) -> Iterator[Passage]:
    """The sentences of a document, and what its tables, records and lists say; tokens are counted in one pass."""
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


class WordIndex:
    """Texts by number, in the given order; each text is read once and not kept."""

    def __init__(self, texts: Iterable[str]) -> None:
        known: dict[str, int] = {}
        words = [array("i", (known.setdefault(word, len(known)) for word in stems(text))) for text in texts]
        self._texts = len(words)
        self._bm25: bm25s.BM25 | None = None
        if known:
            self._bm25 = bm25s.BM25()
            self._bm25.index((words, known), show_progress=False)

    def likeness(self, claim: str) -> NDArray[np.float64]:
        """BM25 score of each text for the words of the claim, shape (texts,); 0 if they share no word."""
        words = [word for word in dict.fromkeys(stems(claim)) if self._bm25 and word in self._bm25.vocab_dict]
        if self._bm25 is None or not words:
            return np.zeros(self._texts)
        return np.asarray(self._bm25.get_scores(words), dtype=np.float64)

    def ranked(self, claim: str) -> list[int]:
        """Numbers of the texts that share a word with the claim, the highest score first; equal scores in order."""
        likeness = self.likeness(claim)
        order = np.argsort(-likeness, kind="stable")
        return [int(place) for place in order[: int((likeness > 0).sum())]]


def fitted(passages: Iterable[Passage], size: int, model: EntailmentModel) -> list[Passage]:
    """The same words in passages of at most `size` tokens: longer ones are cut, between words if possible.

    Raises: ClaimTooLongError where not even one word of the source fits.
    """
    pieces: list[Passage] = []
    waiting = list(passages)[::-1]
    while waiting:
        passage = waiting.pop()
        if passage.tokens <= size:
            pieces.append(passage)
        else:
            place = _cut(passage, min(size, passage.tokens - 1), model)
            waiting += [piece for piece in reversed(_parted(passage, place, model)) if piece.text]
    return pieces


def _parted(passage: Passage, place: int, model: EntailmentModel) -> tuple[Passage, Passage]:
    """The passage cut before character `place` of its words; both parts of what is said cite the whole place."""
    if passage.said is None:
        ends = (passage.start, passage.start + place, passage.end)
        first, second = (Passage.trimmed(passage.document, *span, model) for span in pairwise(ends))
    else:
        said = (passage.said[:place].strip(), passage.said[place:].strip())
        first, second = (replace(passage, said=words, tokens=len(model.offsets(words))) for words in said)
    return first, second


def _cut(passage: Passage, size: int, model: EntailmentModel) -> int:
    """The character of its words before which the first `size` tokens end, moved back to white space if there is any."""
    text = passage.text
    ends = [end for _, end in model.offsets(text)[:size]]
    place = max((end for end in ends if end < len(text)), default=0)
    if place <= 0:
        raise ClaimTooLongError(
            f"the claim leaves room for {size} tokens of source, too few for a word of it: {text[:40]!r}"
        )
    spaces = [number for number in range(1, place + 1) if text[number].isspace()]
    return spaces[-1] if spaces else place


def joined(passages: Sequence[Passage]) -> str:
    """Passages of one document as one premise, in document order, with a blank between."""
    return " ".join(passage.text for passage in sorted(passages, key=lambda passage: passage.start))


def token_starts(text: str, offsets: Offsets, part: int = PART) -> "array[int]":
    """The character at which each token of `text` begins; progress is counted in characters.

    The text is tokenized in parts of at most `part` characters, cut before white space, which bounds the memory.
    """
    starts = array("q")
    begin = 0
    while begin < len(text):
        end = min(begin + part, len(text))
        if end < len(text):
            end = next((place for place in range(end, begin, -1) if text[place].isspace()), end)
        starts.extend(begin + start for start, _ in offsets(text[begin:end]))
        step(end - begin)
        begin = end
    return starts
