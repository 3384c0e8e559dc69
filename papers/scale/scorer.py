"""The paper's SCALE: the maximum over all windows of a source, and a search tree over a whole document.

`groundrail.papers.scale.windows` cuts windows and `groundrail.papers.scale.tree` has the tree. The guard's own scorer,
`groundrail.scoring.scale`, reads few chunks and weighs the cited sentence.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from groundrail.entailment import load
from groundrail.entailment.base import EntailmentModel, room
from groundrail.entailment.remembered import Remembered
from groundrail.errors import InputError
from groundrail.papers.scale.tree import Search, descend
from groundrail.papers.scale.windows import Windows
from groundrail.runtime.progress import begin
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerMetadata
from groundrail.scoring.index import Passage, fitted
from groundrail.text.sentences import splits
from groundrail.types import Citation, Document, Source, as_documents

_CALL = 4096
"""Maximum number of pairs in one model call; it bounds the copies of a long source's text in memory."""


@dataclass(slots=True)
class _Read:
    """A document and its windows."""

    document: Document
    windows: Windows
    leaves: list[Passage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Best:
    """The window with the highest score for a claim: `read.document.text[start:end]`."""

    claim: str
    size: int
    read: _Read
    start: int
    end: int
    score: float


class PaperScaleScorer(Scorer):
    """The highest P(entailment) of a claim from any window of any document (section 3.1).

        Guard(scorer=PaperScaleScorer("google/flan-t5-large"))

    Every window is read for every claim, also for a decision. The tree begins with the whole document and ends in one
    leaf (section 3.2), which is cited whether it supports the claim or not. If the model gives NaN for a window, the value
    of this claim is NaN without a citation. The model is never asked twice about a pair of the same source.

    Args:
        entailment: The judge: a model, a hub id or folder, or None for the built-in judge.
        chunk_tokens: Maximum number of tokens of a window; fewer if the model has no room beside the claim. None takes
            the model's `chunk_tokens`, or else 512.
        overlap: Share of a window that the next window repeats.
        search: Start of the tree: all sentences of the best window's "document", as in the paper, or the sentences of
            the best "chunk". None: no tree and no citation. A node longer than a window is replaced by its children.
        branches: Number of children of a node.
        leaves: "lines" makes the lines of a document the leaves, for example the utterances of a dialogue (table 7).

    Raises: InputError for a number out of range; the errors of `groundrail.entailment.load`.
    """

    def __init__(
        self,
        entailment: EntailmentModel | str | None = None,
        *,
        chunk_tokens: int | None = None,
        overlap: float = 0.25,
        search: Literal["document", "chunk"] | None = "document",
        branches: int = 2,
        leaves: Literal["sentences", "lines"] = "sentences",
    ) -> None:
        self.entailment = load(entailment)
        self.chunk_tokens = self.entailment.metadata.chunk_tokens or 512 if chunk_tokens is None else chunk_tokens
        if self.chunk_tokens < 1:
            raise InputError(f"chunk_tokens is {chunk_tokens}; a window holds at least one token")
        if not 0 <= overlap < 1:
            raise InputError(f"overlap is {overlap}; it is a share of a window, from 0 to below 1")
        if search not in ("document", "chunk", None):
            raise InputError(f"a search begins with the best 'chunk' or the whole 'document', not {search!r}")
        if branches < 2:
            raise InputError(f"branches is {branches}; a tree needs at least 2")
        if leaves not in ("sentences", "lines"):
            raise InputError(f"the tree ends in 'sentences' or in 'lines', not {leaves!r}")
        self.overlap, self.search, self.branches, self.leaves = overlap, search, branches, leaves

    @property
    def metadata(self) -> ScorerMetadata:
        """The paper's SCALE with its windows, and the metadata of the judge."""
        judge = self.entailment.metadata
        return ScorerMetadata.around(judge, f"SCALE on chunks of {self.chunk_tokens} tokens, judged by {judge.identity}")

    def read(self, source: Source) -> Reader:
        """Tokenize every document once; windows are cut when claims come. Raises: InputError for a blank source."""
        documents = [document for document in as_documents(source) if document.text.strip()]
        if not documents:
            raise InputError("the source is blank, so there is nothing to score claims against")
        begin("reading the source", sum(len(document.text) for document in documents))
        read = [_Read(document, Windows(document.text, self.entailment.offsets)) for document in documents]
        model = Remembered(self.entailment)
        return Prepared(lambda claims, documents: self._score(claims, documents, model), read)

    def _score(self, claims: Sequence[str], documents: Sequence[_Read], model: Remembered) -> list[Score]:
        """Raises: InputError for a blank claim, ClaimTooLongError for a claim that leaves no room for a window."""
        if isinstance(claims, str):
            raise InputError("claims is one text; pass a list of claims")
        found = self._bests(claims, documents, model)
        cited = self._cited([best for best in found if not math.isnan(best.score)], model)
        return [Score(best.score, () if math.isnan(best.score) else next(cited)) for best in found]

    def _windows(self, claim: str, documents: Sequence[_Read]) -> Iterator[tuple[_Read, int, int]]:
        size = self._size(claim)
        return ((read, *span) for read in documents for span in read.windows.cut(size, self.overlap))

    def _size(self, claim: str) -> int:
        if not claim.strip():
            raise InputError("a claim is blank; leave out sentences that claim nothing")
        return min(room(claim, self.entailment), self.chunk_tokens)

    def _bests(self, claims: Sequence[str], documents: Sequence[_Read], model: Remembered) -> list[_Best]:
        """For each claim the first of the windows with the highest score; a window with NaN if there is one."""
        bests: dict[int, _Best] = {}
        begin("judging", sum(1 for claim in claims for _ in self._windows(claim, documents)))
        tasks = ((n, *window) for n, claim in enumerate(claims) for window in self._windows(claim, documents))
        while some := list(islice(tasks, _CALL)):
            scores = model.entailment([(read.document.text[start:end], claims[n]) for n, read, start, end in some])
            for (n, read, start, end), score in zip(some, map(float, scores), strict=True):
                best = bests.get(n)
                if best is None or score > best.score or (math.isnan(score) and not math.isnan(best.score)):
                    bests[n] = _Best(claims[n], self._size(claims[n]), read, start, end, score)
        return [bests[n] for n in range(len(claims))]

    def _cited(self, found: Sequence[_Best], model: Remembered) -> Iterator[tuple[Citation, ...]]:
        """The leaf in which the tree of each claim ends; none if the model gave no number."""
        if self.search is None:
            return iter([()] * len(found))
        searches = [Search(best.claim, self._around(best), best.size) for best in found]
        paths = descend(model, searches, self.branches)
        return ((path[-1].passage.cite(path[-1].score),) if path else () for path in paths)

    def _around(self, best: _Best) -> tuple[Passage, ...]:
        """The leaves to search: all, or the leaves that overlap the best window; too long leaves are cut."""
        document, whole = best.read.document, self.search == "document"
        start, end = (0, len(document.text)) if whole else (best.start, best.end)
        if not best.read.leaves:
            best.read.leaves = list(self._leaves(document))
        passages: list[Passage] = []
        for leaf in best.read.leaves:
            if leaf.start < end and leaf.end > start:
                if leaf.tokens > best.size:
                    clipped = Passage.trimmed(document, max(leaf.start, start), min(leaf.end, end), self.entailment)
                    passages += fitted([clipped], best.size, self.entailment)
                else:
                    passages.append(leaf)
        return tuple(passage for passage in passages if passage.start < passage.end)

    def _leaves(self, document: Document) -> Iterator[Passage]:
        text = document.text
        spans = lines(text) if self.leaves == "lines" else ((part.start, part.end) for part in splits(text))
        for start, end in spans:
            leaf = Passage.trimmed(document, start, end, self.entailment)
            if leaf.start < leaf.end:
                yield leaf


def lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line, without the line break."""
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1
