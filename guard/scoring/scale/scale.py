"""SCALE (Lattimer et al., EMNLP 2023): the best chunk of the source decides, a search tree finds the sentence.

Chunks are cut in `groundrail.scoring.scale.chunks`, the tree is `groundrail.scoring.scale.tree`; whether a score is good
enough belongs to the policy.
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
from groundrail.scoring.rivals import RIVALS, weigh_rivals
from groundrail.scoring.scale.best_first import carried_alone, winners
from groundrail.scoring.scale.chunked import ChunkedSource, ReadDocument
from groundrail.scoring.scale.tree import Node, Search, descend, widened
from groundrail.scoring.weighing import between
from groundrail.scoring.word_index import WordIndex
from groundrail.types import Citation, Source

_WIDEST = 4
"""Sentences cited together at most, where no single one carries a claim."""

_STEP = 32
"""Chunks beside long claims get sizes in steps, so that claims of similar length share them."""


@dataclass(frozen=True, slots=True)
class _Winner:
    """The chunk that speaks most for a claim: `read.document.text[start:end]`."""

    claim: str
    size: int
    read: ReadDocument
    start: int
    end: int
    score: float
    exact: bool
    note: str | None


class ScaleScorer(Scorer):
    """Score of a claim = the highest P(entailment) from any chunk of any document (section 3.1).

    `search` is where the tree begins: "document" halves the whole document of the best chunk, as in section 3.2, a
    part longer than a chunk being scored by the best of its runs of sentences that fit one; "chunk" begins with the
    sentences of the best chunk, which reads less. None leaves the search out, and the citation with it.

    `chunk_tokens` is the premise's length, None for the model's own choice (its `chunk_tokens`, else 512), and
    less where the model has no room for it beside the claim;
    `overlap` the share of a chunk that the next one repeats; `branches` the children of a node in the search
    tree. The tree ends at one sentence, which is cited unless it scores lower than the chunk by more than
    `slack`: then the smallest node above it that does not, of at most four sentences, is cited, because the
    claim takes several sentences to support. `slack=None` always cites one sentence, as in the paper.

    Its readers' `score` reads every chunk for every claim. With a `reach` it reads the chunks most like the claim first and
    stops at the first that reaches it, which leaves the decision as it is (a NaN in a chunk that was
    never read aside); of a supported claim the sentences most like it are tried first, and the tree is searched
    where none of them carries it. `max_chunks` reads no more than that many chunks for a claim, the ones most like
    it, and says so in `Score.note`. What was asked before, of this source, is not asked again.

    `leaf=True` departs from the paper: the score is the mean, in log-odds, of the best chunk and of the sentence that the
    tree ends in, weighed against the claim's rivals; the tree chooses also by the words that sentences share with the
    claim, and the last sentence is cited. The mean is no maximum, so that a decision has no shorter way:
    `max_chunks` bounds its cost.

    `leaves="lines"` makes the lines of a document the leaves of the tree, as for the utterances of a dialogue (table 7).

    `exact=True` is the paper's maximum and tree whatever is asked: a decision too reads every chunk, the search begins
    with the whole document and ends in one leaf (as with `search="document"` and `slack=None`, which it sets), and a
    chunk is as long as the model has room for beside its claim, to the token. A decision then costs what a score does.

        Guard(scorer=ScaleScorer(exact=True))

    `entailment` is a model, a hub id or folder, or None for the built-in judge.

    Raises: InputError for a number out of range; what `groundrail.entailment.load` raises.
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
        """The chunks that it reads and its judge."""
        judge = self.entailment.facts
        most = "" if self.max_chunks is None else f"the nearest {self.max_chunks} "
        leaf = " and the last leaf" if self.leaf else ""
        identity = f"SCALE on {most}chunks of {self.chunk_tokens} tokens{leaf}, judged by {judge.identity}"
        return ScorerFacts.around(judge, identity)

    def read(self, source: Source) -> Reader:
        """Tokenize every document once, to be cut into chunks beside the claims. Raises: InputError for a blank source."""
        return _ScaleReader(self, source)

    def judged(self, claims: Sequence[str], source: ChunkedSource, threshold: float | None) -> list[Score]:
        """One score a claim, with the citation the search tree finds in the winning chunk; for its readers.

        The citation is the best there is, whether the claim is supported or not. NaN from the model for any
        chunk makes the claim's value NaN, without a citation; other claims keep theirs.

        Raises: InputError for a blank claim, ClaimTooLongError for a claim that leaves no room.
        """
        if self.leaf:
            return self._with_leaves(self._winners(claims, source, None), source.model)
        found = self._winners(claims, source, threshold)
        citations = self._citations([one for one in found if not math.isnan(one.score)], source.model, threshold)
        return [
            Score(one.score, () if math.isnan(one.score) else next(citations), exact=one.exact, note=one.note)
            for one in found
        ]

    def _with_leaves(self, winners: Sequence[_Winner], model: EntailmentModel) -> list[Score]:
        """The mean of each winning chunk and the sentence that its tree ends in; the chunk alone where the tree has none."""
        searches = [
            Search(w.claim, around, w.size, _likeness(w.claim, around)) for w in winners for around in [self._around(w)]
        ]
        paths = descend(model, searches, self.branches)
        scores = [self._mean(winner, path) for winner, path in zip(winners, paths, strict=True)]
        leaves = [[path[-1].passage] if path else [] for path in paths]
        return weigh_rivals([w.claim for w in winners], scores, leaves, model.entailment, model, RIVALS)

    def _mean(self, winner: _Winner, path: Sequence[Node]) -> Score:
        if not path or math.isnan(winner.score):
            return Score(winner.score, exact=winner.exact, note=winner.note)
        last = path[-1]
        value = between(winner.score, last.score)
        return Score(value, (last.passage.cite(last.score),), exact=winner.exact, note=winner.note)

    def chunked(self, source: Source) -> ChunkedSource:
        """The documents of a source, to be cut into this scorer's chunks and leaves."""
        return ChunkedSource(source, self.entailment, self.overlap, self.leaves)

    def best_chunks(self, claims: Sequence[str], source: Source) -> list[Citation]:
        """The chunk that won for each claim, before any search for a sentence. Raises as `score`."""
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
        """Tokens of a chunk beside this claim."""
        if not claim.strip():
            raise InputError("a claim is blank; leave out sentences that claim nothing")
        free = room(claim, self.entailment)
        if self.exact or free >= self.chunk_tokens:
            return min(free, self.chunk_tokens)
        return free - free % _STEP if free > 4 * _STEP else free

    def _citations(
        self, winners: Sequence[_Winner], model: EntailmentModel, threshold: float | None
    ) -> Iterator[tuple[Citation, ...]]:
        """What to cite for each winner, in order; nothing where the model gave no number."""
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
        """The sentences to search in, those that the winning chunk has a part of or all; one that does not fit is cut."""
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
    """A source as chunks, with what its claims were scored before."""

    def __init__(self, scorer: ScaleScorer, source: Source) -> None:
        self._scorer, self._source = scorer, scorer.chunked(source)

    def score(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        """The maximum over all chunks. Where it is at least `reach` it may be a lower bound, unless the scorer is exact."""
        return self._scorer.judged(claims, self._source, None if self._scorer.exact else reach)


def _likeness(claim: str, sentences: Sequence[Passage]) -> dict[Passage, float]:
    """How much of the claim's words each sentence has, as a share of the most."""
    likeness = WordIndex(sentence.text for sentence in sentences).likeness(claim)
    return dict(zip(sentences, (likeness / (likeness.max() or 1.0)).tolist(), strict=True))
