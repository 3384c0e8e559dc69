"""The sentences of a source, searchable by their words (BM25, by bm25s), and windows made of the nearest ones.

What a window says about a claim belongs to the scorers.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import bm25s  # type: ignore[import-untyped]
import numpy as np

from groundrail.english.stems import stems
from groundrail.entailment.base import EntailmentModel
from groundrail.errors import ClaimTooLongError
from groundrail.scoring.passages import Passage, fitted
from groundrail.sentences import split
from groundrail.types import Document

GAP = " … "
"""Between sentences of a window that are not neighbours in the document."""


@dataclass(frozen=True, slots=True)
class Window:
    """Some sentences of one document in document order, and what they read as one premise."""

    passages: tuple[Passage, ...]
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

    def ranked(self, claim: str) -> list[int]:
        """Sentences that share a word with the claim, the most alike first; equals in document order."""
        if self._bm25 is None:
            return []
        words = [word for word in dict.fromkeys(stems(claim)) if word in self._bm25.vocab_dict]
        if not words:
            return []
        likeness = np.asarray(self._bm25.get_scores(words), dtype=np.float64)
        order = np.argsort(-likeness, kind="stable")
        return [int(place) for place in order[: int((likeness > 0).sum())]]

    def window(self, ranked: Sequence[int], tokens: int) -> Window:
        """The best sentences of the first one's document, each with its neighbours, as many as `tokens` hold.

        The whole document where it fits, its beginning where `ranked` is empty.

        Raises: ClaimTooLongError where not even the best sentence fits.
        """
        first = self.passages[ranked[0] if ranked else 0]
        start, end = self._bounds(first.document)
        chosen: set[int] = set()
        room = tokens + 2
        for place in self._wanted(ranked, start, end):
            cost = self.passages[place].tokens + 2  # a gap
            if place not in chosen and cost <= room:
                chosen.add(place)
                room -= cost
            if not chosen:
                raise ClaimTooLongError(
                    f"the claim leaves room for {tokens} tokens of source, too few for: {first.text[:80]!r}"
                )
            if room < 4:
                break
        return self.joined(sorted(chosen))

    def _wanted(self, ranked: Sequence[int], start: int, end: int) -> Iterator[int]:
        """Each sentence, the one before it and the one after it; what is left, in document order."""
        for place in ranked:
            if start <= place < end:
                yield place
                yield from (near for near in (place - 1, place + 1) if start <= near < end)
        yield from range(start, end)

    def _bounds(self, document: Document) -> tuple[int, int]:
        places = [place for place, passage in enumerate(self.passages) if passage.document is document]
        return places[0], places[-1] + 1

    def joined(self, places: Sequence[int]) -> Window:
        """Sentences by their places, in document order, as one premise."""
        passages = tuple(self.passages[place] for place in places)
        text = ""
        for before, place, passage in zip([None, *places], places, passages, strict=False):
            if before is None:
                text = passage.text
            elif place == before + 1:
                text += passage.document.text[self.passages[before].end : passage.end]
            else:
                text += GAP + passage.text
        return Window(passages, text)


def _sentences(document: Document, model: EntailmentModel) -> Iterator[Passage]:
    """Sentences without white space at their ends, their tokens counted in one pass over the document."""
    starts = [start for start, _ in model.offsets(document.text)]
    for part in split(document.text):
        bare = part.text.strip()
        if bare:
            start = part.start + part.text.find(bare)
            end = start + len(bare)
            yield Passage(document, start, end, bisect_left(starts, end) - bisect_left(starts, start))
