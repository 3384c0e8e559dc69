"""SCALE (Lattimer et al., EMNLP 2023): the best chunk of the source gives the score, a search tree finds the citation.

`groundrail.scoring.scale.chunks` cuts chunks and `groundrail.scoring.scale.tree` has the tree. The policy holds the
threshold.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from groundrail.entailment import load
from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.scoring.base import Reader, Score, Scorer, ScorerFacts
from groundrail.scoring.passages import Passage, fitted, room
from groundrail.scoring.rivals import weigh_rivals
from groundrail.scoring.scale.best_first import carried_alone, winners
from groundrail.scoring.scale.chunked import ChunkedSource, ReadDocument
from groundrail.scoring.scale.tree import Node, Search, descend, widened
from groundrail.scoring.weighing import between
from groundrail.scoring.word_index import WordIndex
from groundrail.types import Citation, Source

_WIDEST = 4
"""Maximum number of sentences that are cited together, if no single sentence supports the claim."""

_STEP = 32
"""Step in tokens of the chunk sizes beside long claims, so that claims of similar length share chunks."""


@dataclass(frozen=True, slots=True)
class _Winner:
    """The chunk with the highest score for a claim: `read.document.text[start:end]`."""

    claim: str
    size: int
    read: ReadDocument
    start: int
    end: int
    score: float
    exact: bool
    note: str | None


class ScaleScorer(Scorer):
    """The highest P(entailment) of a claim from any chunk of any document (section 3.1).

        Guard(scorer=ScaleScorer(exact=True))

    A reader's `score` reads every chunk for every claim. If `reach` is given, it reads the chunks most like the claim
    first and stops at the first chunk that reaches it; the decision is the same as with all chunks, unless a chunk that
    was not read would have given NaN. For a supported claim the sentences most like the claim are then tried alone, and
    the tree is searched only if none of them supports the claim. The model is never asked twice about a pair of the
    same source.

    Args:
        entailment: The judge: a model, a hub id or folder, or None for the built-in judge.
        chunk_tokens: Maximum number of tokens of a chunk; fewer if the model has no room beside the claim. None takes
            the model's `chunk_tokens`, or else 512.
        overlap: Share of a chunk that the next chunk repeats.
        search: Start of the search tree. "document": all sentences of the best chunk's document, as in section 3.2; a
            node longer than a chunk is scored by the best of its runs of sentences that fit a chunk. "chunk": the
            sentences of the best chunk, which reads less. None: no search and no citation.
        branches: Number of children of a node in the tree.
        slack: If the last sentence scores lower than the chunk by more than `slack`, the claim needs several
            sentences: the smallest node above it within `slack`, of at most four sentences, is cited instead. None
            always cites one sentence, as in the paper.
        max_chunks: Maximum number of chunks to read for a claim; the chunks most like the claim are read, and
            `Score.note` says so.
        leaf: Depart from the paper: the score is the mean, in log-odds, of the best chunk and the last sentence of the
            tree, weighed against the claim's rivals. The tree also prefers sentences that share words with the claim,
            and the last sentence is cited. A decision then reads as many chunks as a score; `max_chunks` bounds them.
        leaves: "lines" makes the lines of a document the leaves of the tree, for example the utterances of a dialogue
            (table 7).
        exact: Compute the paper's maximum and tree also for a decision. Every chunk is read, the search begins with
            the whole document and ends in one leaf (this sets `search="document"` and `slack=None`), and a chunk
            fills the room beside the claim to the token. A decision then costs as much as a score.

    Raises: InputError for a number out of range; the errors of `groundrail.entailment.load`.
    """

    def __init__(
        self,
        entailment: EntailmentModel | str | None = None,
        *,
        chunk_tokens: int | None = None,
        overlap: float = 0.25,
        search: Literal["chunk", "document"] | None = "chunk",
        branches: int = 2,
        slack: float | None = 0.25,
        max_chunks: int | None = None,
        leaf: bool = False,
        leaves: Literal["sentences", "lines"] = "sentences",
        exact: bool = False,
    ) -> None:
        self.entailment = load(entailment)
        if chunk_tokens is None:
            chunk_tokens = self.entailment.facts.chunk_tokens or 512
        if chunk_tokens < 1:
            raise InputError(f"chunk_tokens is {chunk_tokens}; a chunk holds at least one token")
        if not 0 <= overlap < 1:
            raise InputError(f"overlap is {overlap}; it is a share of a chunk, from 0 to below 1")
        if search not in ("chunk", "document", None):
            raise InputError(f"a search begins with the best 'chunk' or the whole 'document', not {search!r}")
        if branches < 2:
            raise InputError(f"branches is {branches}; a tree needs at least 2")
        if slack is not None and not slack >= 0:
            raise InputError(f"slack is {slack}; pass 0 or more, or None to cite one sentence always")
        if max_chunks is not None and max_chunks < 1:
            raise InputError(f"max_chunks is {max_chunks}; at least one is read, and None reads all")
        if leaf and search is None:
            raise InputError("leaf=True takes the sentence that the search ends in; leave out search=None")
        if leaves not in ("sentences", "lines"):
            raise InputError(f"the tree ends in 'sentences' or in 'lines', not {leaves!r}")
        if exact and max_chunks is not None:
            raise InputError(f"exact reads every chunk, max_chunks={max_chunks} only some; leave one of them out")
        if exact:
            search, slack = None if search is None else "document", None
        self.leaf, self.leaves, self.exact = leaf, leaves, exact
        self.chunk_tokens = chunk_tokens
        self.overlap = overlap
        self.search = search
        self.branches = branches
        self.slack = slack
        self.max_chunks = max_chunks

    @property
    def facts(self) -> ScorerFacts:
        """The identity of SCALE with its chunks, and the facts about the judge."""
        judge = self.entailment.facts
        most = "" if self.max_chunks is None else f"the nearest {self.max_chunks} "
        leaf = " and the last leaf" if self.leaf else ""
        identity = f"SCALE on {most}chunks of {self.chunk_tokens} tokens{leaf}, judged by {judge.identity}"
        return ScorerFacts.around(judge, identity, "scale")

    def read(self, source: Source) -> Reader:
        """Tokenize every document once; chunks are cut when claims come. Raises: InputError for a blank source."""
        return _ScaleReader(self, source)

    def judged(self, claims: Sequence[str], source: ChunkedSource, threshold: float | None) -> list[Score]:
        """Score each claim and cite the sentences that the search tree finds; called by the reader.

        The best place is cited even if it does not support the claim. If the model gives NaN for a chunk, the value of
        this claim is NaN without a citation; other claims are not affected.

        Raises: InputError for a blank claim, ClaimTooLongError for a claim that leaves no room for a chunk.
        """
        if self.leaf:
            return self._with_leaves(self._winners(claims, source, None), source)
        found = self._winners(claims, source, threshold)
        citations = self._citations([one for one in found if not math.isnan(one.score)], source.model, threshold)
        return [
            Score(one.score, () if math.isnan(one.score) else next(citations), exact=one.exact, note=one.note)
            for one in found
        ]

    def _with_leaves(self, winners: Sequence[_Winner], source: ChunkedSource) -> list[Score]:
        """The mean of each winning chunk and the last sentence of its tree; the chunk's score if the tree is empty."""
        searches = [
            Search(w.claim, around, w.size, _likeness(w.claim, around)) for w in winners for around in [self._around(w)]
        ]
        paths = descend(source.model, searches, self.branches)
        scores = [self._mean(winner, path) for winner, path in zip(winners, paths, strict=True)]
        leaves = [[path[-1].passage] if path else [] for path in paths]
        return weigh_rivals([w.claim for w in winners], scores, leaves, source, source.model)

    def _mean(self, winner: _Winner, path: Sequence[Node]) -> Score:
        if not path or math.isnan(winner.score):
            return Score(winner.score, exact=winner.exact, note=winner.note)
        last = path[-1]
        value = between(winner.score, last.score)
        return Score(value, (last.passage.cite(last.score),), exact=winner.exact, note=winner.note)

    def chunked(self, source: Source) -> ChunkedSource:
        """The documents of a source, ready to be cut into this scorer's chunks and leaves."""
        return ChunkedSource(source, self.entailment, self.overlap, self.leaves)

    def best_chunks(self, claims: Sequence[str], source: Source) -> list[Citation]:
        """The best chunk for each claim, without the search for a sentence. Raises: the errors of `score`."""
        return [
            winner.read.document.cite(winner.start, winner.end, winner.score)
            for winner in self._winners(claims, self.chunked(source), None)
        ]

    def _winners(self, claims: Sequence[str], source: ChunkedSource, threshold: float | None) -> list[_Winner]:
        if isinstance(claims, str):
            raise InputError("claims is one text; pass a list of claims")
        sizes = [self._size(claim) for claim in claims]
        cut = [source.chunks(size) for size in sizes]
        best = winners(source.model, claims, [chunks for _, chunks in cut], threshold, self.max_chunks)
        return [
            _Winner(
                claim,
                size,
                *places[winner.chunk],
                winner.score,
                winner.read == winner.chunks,
                f"only the {winner.read} of {winner.chunks} chunks nearest to it were read" if winner.limited else None,
            )
            for claim, size, (places, _), winner in zip(claims, sizes, cut, best, strict=True)
        ]

    def _size(self, claim: str) -> int:
        """Maximum number of tokens of a chunk beside this claim."""
        if not claim.strip():
            raise InputError("a claim is blank; leave out sentences that claim nothing")
        free = room(claim, self.entailment)
        if self.exact or free >= self.chunk_tokens:
            return min(free, self.chunk_tokens)
        return free - free % _STEP if free > 4 * _STEP else free

    def _citations(
        self, winners: Sequence[_Winner], model: EntailmentModel, threshold: float | None
    ) -> Iterator[tuple[Citation, ...]]:
        """The citations for each winner, in order; none if the model gave no number."""
        if self.search is None:
            yield from (() for _ in winners)
            return
        searches = [Search(winner.claim, self._around(winner), winner.size) for winner in winners]
        paths: dict[int, list[Node]] = {}
        if threshold is not None and self.slack is not None:
            supported = [index for index, winner in enumerate(winners) if winner.score >= threshold]
            lowest = [winners[index].score - self.slack for index in supported]
            alone = carried_alone(model, [searches[index] for index in supported], lowest)
            paths = {index: [node] for index, node in zip(supported, alone, strict=True) if node is not None}
        left = [index for index in range(len(winners)) if index not in paths]
        below = [searches[index] for index in left]
        found = descend(model, below, self.branches)
        if self.slack is not None:
            lowest = [winners[index].score - self.slack for index in left]
            found = widened(model, below, found, lowest, _WIDEST)
        paths |= zip(left, found, strict=True)
        for index in range(len(winners)):
            path = paths[index]
            yield (path[-1].passage.cite(path[-1].score),) if path else ()

    def _around(self, winner: _Winner) -> tuple[Passage, ...]:
        """The sentences to search: all, or the sentences that overlap the winning chunk; too long sentences are cut."""
        start, end = winner.start, winner.end
        if self.search == "document":
            start, end = 0, len(winner.read.document.text)
        passages: list[Passage] = []
        for passage in winner.read.sentences(start, end):
            if passage.tokens > winner.size:
                clipped = winner.read.passage(max(passage.start, start), min(passage.end, end))
                passages += fitted([clipped], winner.size, self.entailment)
            else:
                passages.append(passage)
        return tuple(passage for passage in passages if passage.start < passage.end)


class _ScaleReader(Reader):
    """A source as chunks, with the scores of earlier pairs."""

    def __init__(self, scorer: ScaleScorer, source: Source) -> None:
        self._scorer, self._source = scorer, scorer.chunked(source)

    def score(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        """The maximum over all chunks; a value of at least `reach` may be a lower bound, unless the scorer is exact."""
        return self._scorer.judged(claims, self._source, None if self._scorer.exact else reach)


def _likeness(claim: str, sentences: Sequence[Passage]) -> dict[Passage, float]:
    """Likeness of each sentence's words to the claim's, as a share of the greatest likeness."""
    likeness = WordIndex(sentence.text for sentence in sentences).likeness(claim)
    return dict(zip(sentences, (likeness / (likeness.max() or 1.0)).tolist(), strict=True))
