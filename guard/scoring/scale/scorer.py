"""SCALE (Lattimer et al., EMNLP 2023): the best chunk of the source decides, a search tree finds the sentence.

Chunks are cut in `groundrail.scoring.scale.chunks`, the tree is `groundrail.scoring.scale.tree`; whether a score is good
enough belongs to the policy.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundrail.entailment import load
from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.scoring.passages import Passage, fitted, room
from groundrail.scoring.scale.chunks import Windows
from groundrail.scoring.scale.tree import Search, descend, widened
from groundrail.sentences import split
from groundrail.types import Citation, Document, Source, as_documents

_WIDEST = 4
"""Sentences cited together at most, where no single one carries a claim."""

_STEP = 32
"""Chunks beside long claims get sizes in steps, so that claims of similar length share them."""


@dataclass(frozen=True, slots=True)
class _Winner:
    """The chunk that speaks most for a claim: `read.document.text[start:end]`."""

    claim: str
    size: int
    read: "_Read"
    start: int
    end: int
    score: float


class ScaleScorer(Scorer):
    """Score of a claim = the highest P(entailment) from any chunk of any document (section 3.1).

    `chunk_tokens` is the premise's length, None for the model's own choice (its `chunk_tokens`, else 512), and
    less where the model has no room for it beside the claim;
    `overlap` the share of a chunk that the next one repeats; `branches` the children of a node in the search
    tree. The tree ends at one sentence, which is cited unless it scores lower than the chunk by more than
    `slack`: then the smallest node above it that does not, of at most four sentences, is cited, because the
    claim takes several sentences to support. `slack=None` always cites one sentence, as in the paper.

    `entailment` is a model, a hub id or folder, or None for the built-in judge.
    """

    takes_context = True

    def __init__(
        self,
        entailment: EntailmentModel | str | None = None,
        *,
        chunk_tokens: int | None = None,
        overlap: float = 0.25,
        branches: int = 2,
        slack: float | None = 0.25,
    ) -> None:
        self.entailment = load(entailment)
        if chunk_tokens is None:
            chunk_tokens = self.entailment.chunk_tokens or 512
        if chunk_tokens < 1:
            raise InputError(f"chunk_tokens is {chunk_tokens}; a chunk holds at least one token")
        if not 0 <= overlap < 1:
            raise InputError(f"overlap is {overlap}; it is a share of a chunk, from 0 to below 1")
        if branches < 2:
            raise InputError(f"branches is {branches}; a tree needs at least 2")
        if slack is not None and not slack >= 0:
            raise InputError(f"slack is {slack}; pass 0 or more, or None to cite one sentence always")
        self.chunk_tokens = chunk_tokens
        self.overlap = overlap
        self.branches = branches
        self.slack = slack

    def read(self, source: Source) -> Reader:
        """Tokenize every document once, to be cut into chunks beside the claims. Raises: InputError for a blank source."""
        return Prepared(self._score, self._documents(source))

    def _documents(self, source: Source) -> "list[_Read]":
        documents = [document for document in as_documents(source) if document.text.strip()]
        if not documents:
            raise InputError("the source is blank, so there is nothing to score claims against")
        return [_Read(document, self.entailment) for document in documents]

    def _score(self, claims: Sequence[str], documents: "Sequence[_Read]") -> list[Score]:
        """One score a claim, with the citation the search tree finds in the winning chunk.

        The citation is the best there is, whether the claim is supported or not. NaN from the model for any
        chunk makes the claim's value NaN, without a citation; other claims keep theirs.

        Raises: InputError for a blank claim, ClaimTooLongError for a claim that leaves no room.
        """
        winners = self._winners(claims, documents)
        citations = self._citations([winner for winner in winners if not math.isnan(winner.score)])
        return [Score(winner.score, () if math.isnan(winner.score) else next(citations)) for winner in winners]

    def best_chunks(self, claims: Sequence[str], source: Source) -> list[Citation]:
        """The chunk that won for each claim, before any search for a sentence. Raises as `score`."""
        return [
            Citation(
                document_id=winner.read.document.id,
                start=winner.start,
                end=winner.end,
                text=winner.read.document.text[winner.start : winner.end],
                score=winner.score,
            )
            for winner in self._winners(claims, self._documents(source))
        ]

    def _winners(self, claims: Sequence[str], documents: "Sequence[_Read]") -> list[_Winner]:
        if isinstance(claims, str):
            raise InputError("claims is one text; pass a list of claims")
        sizes = [self._size(claim) for claim in claims]
        places: list[tuple[int, _Read, int, int]] = []
        for size in dict.fromkeys(sizes):
            sharing = [index for index, other in enumerate(sizes) if other == size]
            for document in documents:
                for start, end in document.windows.cut(size, self.overlap):
                    places += [(index, document, start, end) for index in sharing]
        pairs = [(document.document.text[start:end], claims[index]) for index, document, start, end in places]
        best: list[_Winner | None] = [None] * len(claims)
        for (index, document, start, end), score in zip(places, self.entailment.entailment(pairs), strict=True):
            known = best[index]
            if known is None or score > known.score or (math.isnan(score) and not math.isnan(known.score)):
                best[index] = _Winner(claims[index], sizes[index], document, start, end, float(score))
        return [winner for winner in best if winner is not None]

    def _size(self, claim: str) -> int:
        """Tokens of a chunk beside this claim."""
        if not claim.strip():
            raise InputError("a claim is blank; leave out sentences that claim nothing")
        free = room(claim, self.entailment)
        if free >= self.chunk_tokens:
            return self.chunk_tokens
        return free - free % _STEP if free > 4 * _STEP else free

    def _citations(self, winners: Sequence[_Winner]) -> Iterator[tuple[Citation, ...]]:
        """What to cite for each winner, in order; nothing where the model gave no number."""
        searches = [Search(winner.claim, self._around(winner), winner.size) for winner in winners]
        paths = descend(self.entailment, searches, self.branches)
        if self.slack is not None:
            lowest = [winner.score - self.slack for winner in winners]
            paths = widened(self.entailment, searches, paths, lowest, _WIDEST)
        for path in paths:
            yield (path[-1].passage.cite(path[-1].score),) if path else ()

    def _around(self, winner: _Winner) -> tuple[Passage, ...]:
        """The sentences that the winning chunk has a part of, whole; one that does not fit is cut up."""
        passages: list[Passage] = []
        for passage in winner.read.sentences(winner.start, winner.end):
            if passage.tokens > winner.size:
                clipped = winner.read.passage(max(passage.start, winner.start), min(passage.end, winner.end))
                passages += fitted([clipped], winner.size, self.entailment)
            else:
                passages.append(passage)
        return tuple(passage for passage in passages if passage.start < passage.end)


class _Read:
    """A document as its reader keeps it: tokenized once, cut into chunks and sentences when first asked."""

    def __init__(self, document: Document, entailment: EntailmentModel) -> None:
        self.document, self._entailment = document, entailment
        self.windows = Windows(document.text, entailment.offsets)
        self._sentences: list[Passage] | None = None

    def sentences(self, start: int, end: int) -> list[Passage]:
        """The sentences that have a part of `text[start:end]`."""
        if self._sentences is None:
            found = (self.passage(part.start, part.end) for part in split(self.document.text))
            self._sentences = [passage for passage in found if passage.start < passage.end]
        first = bisect_right(self._sentences, start, key=lambda passage: passage.end)
        last = bisect_left(self._sentences, end, key=lambda passage: passage.start)
        return self._sentences[first:last]

    def passage(self, start: int, end: int) -> Passage:
        """A slice without white space at its ends."""
        return Passage.trimmed(self.document, start, end, self._entailment)
