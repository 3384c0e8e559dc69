"""Chunked SCALE (Lattimer et al., EMNLP 2023): the best chunk of the source, and the sentence in it that a search tree finds.

`groundrail.scoring.index` cuts the source into sentences and chunks. `groundrail.papers.scale` is SCALE by the letter of its
paper.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from groundrail.entailment import load
from groundrail.entailment.asking import Asking, answered
from groundrail.entailment.base import EntailmentModel, FloatArray
from groundrail.entailment.remembered import Remembered
from groundrail.errors import ClaimTooLongError, InputError
from groundrail.runtime.progress import begin
from groundrail.scoring.base import Reader, Score, Scorer, ScorerMetadata, below_all
from groundrail.scoring.index import TOGETHER, Places, SentenceIndex
from groundrail.scoring.weighing import between, citable, conflict, weigh_rivals
from groundrail.types import Source, TreeStep, as_documents

T = TypeVar("T")

LEAVES = 4
"""Maximum number of sentences of a chunk that the tree searches; chosen on development sets (docs/method.md)."""

_LIKELY = 0.5
"""P(entailment) from which the first chunk is searched before others are read."""

_BESIDE = 5
"""Maximum number of sentences of the winning chunk that a claim's rivals are taken from."""


class ScaleScorer(Scorer):
    """The weighted mean, in log-odds, of the best chunk and of the sentence in it that a search tree finds.

        Guard(scorer=ScaleScorer(chunk_tokens=256))

    The tree takes the four sentences of a chunk whose words are most like the claim's, halves them, and goes down in the
    child with the highest log-odds and likeness together, to one sentence: the citation. The score is weighed against the
    claim's rivals (`groundrail.scoring.weighing`).

    The chunk whose words are most like the claim's (BM25) is read first, and searched if it entails the claim. Unless its
    score reaches `threshold`, the next chunks are read, and the nearest sentences together as a further chunk; the likeliest of
    all is searched, and the highest score counts. A decision is the same with and without `threshold`. No pair is read twice.

    Args:
        entailment: The judge: a model, a hub id or folder, or None for the built-in judge.
        chunk_tokens: Maximum number of tokens of a chunk; fewer if the model has no room beside the claim. None takes
            the model's `chunk_tokens`, or else 512.
        chunks: Maximum number of chunks that are read for a claim beside the further one.

    Raises: InputError for a number below 1; the errors of `groundrail.entailment.load`.
    """

    def __init__(
        self, entailment: EntailmentModel | str | None = None, *, chunk_tokens: int | None = None, chunks: int = 1
    ) -> None:
        self.entailment = load(entailment)
        self.chunk_tokens = self.entailment.metadata.chunk_tokens or 512 if chunk_tokens is None else chunk_tokens
        self.chunks = chunks
        for name, number in {"chunk_tokens": self.chunk_tokens, "chunks": chunks}.items():
            if number < 1:
                raise InputError(f"{name} is {number}; pass 1 or more")

    @property
    def metadata(self) -> ScorerMetadata:
        """The identity of SCALE with its chunks, and the metadata of the judge."""
        judge = self.entailment.metadata
        chosen = "the most similar chunk" if self.chunks == 1 else f"the {self.chunks} most similar chunks"
        together = f"{TOGETHER} tokens of the nearest sentences"
        identity = f"SCALE on {chosen} of {self.chunk_tokens} tokens and {together}, judged by {judge.identity}"
        return ScorerMetadata.around(judge, identity, "scale", tells_contradiction=judge.tells_contradiction)

    def read(self, source: Source) -> Reader:
        """Index the source's sentences. Raises: InputError for a blank source."""
        longest = min(self.chunk_tokens, max(1, self.entailment.max_tokens // 2))
        if not any(document.text.strip() for document in as_documents(source)):
            raise InputError("the source is blank, so there is nothing to score claims against")
        index = SentenceIndex(source, self.entailment, longest)
        return _ScaleReader(self, index, Remembered(self.entailment))


@dataclass(slots=True)
class _Search:
    """The search for one claim.

    likeness: likeness of each sentence of the source to the claim, as a share of the greatest.
    names: the chunks to read, the most similar first, with their names in the citation's path.
    read: entailment, neutral and contradiction, shape (3,), of each premise that was read.
    path: the nodes that were chosen last, from the chunk down to one sentence.
    """

    claim: str
    likeness: FloatArray
    names: dict[Places, str]
    read: dict[Places, FloatArray] = field(default_factory=dict)
    path: list[Places] = field(default_factory=list)
    score: Score = field(default_factory=lambda: Score(math.nan))

    def entailed(self, places: Places) -> float:
        return float(self.read[places][0])

    def best(self) -> Places:
        """The likeliest chunk that was read, the first of equals."""
        read = [chunk for chunk in self.names if chunk in self.read]
        return max(read, key=lambda chunk: below_all(self.entailed(chunk)))

    def leaves(self, chunk: Places) -> Places:
        """The sentences of a chunk that the tree searches, in order."""
        return tuple(sorted(sorted(chunk, key=lambda place: -self.likeness[place])[:LEAVES]))

    def rank(self, places: Places) -> float:
        """Sort key of a node of the tree."""
        if math.isnan(self.entailed(places)):
            return -math.inf
        return citable(self.entailed(places), float(self.likeness[list(places)].max()))


@dataclass(frozen=True, slots=True)
class _ScaleReader(Reader):
    """A source as sentences and chunks, with the judge's earlier answers."""

    scorer: ScaleScorer
    index: SentenceIndex
    model: Remembered

    def score(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        """NaN if the source has nothing to read. Raises: InputError for a blank claim, ClaimTooLongError."""
        return answered(self.asking(claims, threshold))

    def asking(self, claims: Sequence[str], threshold: float | None = None) -> Asking[list[Score]]:
        """`score` as a coroutine."""
        if isinstance(claims, str):
            raise InputError("claims is one text; pass a list of claims")
        if not self.index.passages:
            return [Score(math.nan) for _ in claims]
        searches = [self._search(claim) for claim in claims]
        yield from self._judge(searches, [list(search.names)[:1] for search in searches])
        yield from self._descend([search for search in searches if search.entailed(search.best()) >= _LIKELY])
        open = [search for search in searches if threshold is None or not search.score.value >= threshold]
        further = [list(search.names)[1:] for search in open]
        # it is mostly the likeliest, so the first step of its tree is asked with it, and remembered
        ahead = [[] if each.path else children(each.leaves(list(each.names)[-1])) for each in open]
        yield from self._judge(open, further, ahead)
        yield from self._descend([search for search in open if [search.best()] != search.path[:1]])
        scores = [replace(each.score, exact=each.names.keys() <= each.read.keys()) for each in searches]
        return self.index.noted(scores)

    def _search(self, claim: str) -> _Search:
        if not claim.strip():
            raise InputError("a claim is blank; leave out sentences that claim nothing")
        free = self.index.room(claim)
        size = min(self.scorer.chunk_tokens, free)
        chunks = self.index.chunks(size)
        if not chunks:
            raise ClaimTooLongError(f"the claim leaves room for {free} tokens, less than any sentence: {claim[:80]!r}")
        likeness = self.index.likeness(claim)
        order = np.argsort([-likeness[list(chunk)].sum() for chunk in chunks], kind="stable")[: self.scorer.chunks]
        names = {chunks[n]: f"chunk {n + 1} of {len(chunks)}" for n in map(int, order)}
        nearest = int(np.where(self.index.tokens <= size, likeness, -1.0).argmax())
        together = self.index.window(nearest, self.index.in_context(likeness), min(TOGETHER, free))
        if not any(set(together) <= set(chunk) for chunk in names):
            names[together] = f"the {len(together)} nearest sentences"
        return _Search(claim, likeness / (likeness.max() or 1.0), names)

    def _judge(
        self,
        searches: Sequence[_Search],
        premises: Sequence[Sequence[Places]],
        ahead: Sequence[Sequence[Places]] = (),
    ) -> Asking[None]:
        """Read premises of each search, all in one model call; those `ahead` are only remembered for a later call."""
        asked = [(search, places) for search, some in zip(searches, premises, strict=True) for places in some]
        if not asked:
            return
        beside = [(search, places) for search, some in zip(searches, ahead, strict=False) for places in some]
        begin("judging", len(asked) + len(beside))
        pairs = [(self.index.text(places), search.claim) for search, places in (*asked, *beside)]
        rows = yield from self.model.asking(pairs)
        for (search, places), row in zip(asked, rows, strict=False):
            search.read[places] = row

    def _descend(self, searches: Sequence[_Search]) -> Asking[None]:
        """Search the likeliest chunk of each search; its score counts if it is the highest so far."""
        for search in searches:
            search.path = [search.best()]
        going = {number: search.leaves(search.best()) for number, search in enumerate(searches)}
        while going := {number: run for number, run in going.items() if searches[number].path[-1] != run[:1]}:
            halves = [children(run) for run in going.values()]
            yield from self._judge([searches[number] for number in going], halves)
            for number, runs in zip(going, halves, strict=True):
                going[number] = max(runs, key=searches[number].rank)
                searches[number].path.append(going[number])
        scores = [self._scored(search) for search in searches]
        read = [sorted(search.path[0], key=lambda place: -search.likeness[place])[:_BESIDE] for search in searches]
        weighed = yield from weigh_rivals([search.claim for search in searches], scores, read, self.index, self.model)
        for search, score in zip(searches, weighed, strict=True):
            search.score = max(search.score, score, key=lambda score: below_all(score.value))

    def _scored(self, search: _Search) -> Score:
        chunk, last = search.path[0], search.path[-1]
        value = between(search.entailed(chunk), search.entailed(last))
        if math.isnan(value):
            return Score(value)
        passages = self.index.passages
        citation = passages[last[0]].cite(search.entailed(last), [self._step(search, run) for run in search.path[:-1]])
        read = tuple(passages[place].detail() for place in chunk)
        return Score(value, (citation,), conflict(search.read, self.index), read=read)

    def _step(self, search: _Search, run: Places) -> TreeStep:
        first, last = self.index.passages[run[0]], self.index.passages[run[-1]]
        name, score = search.names.get(run, f"{len(run)} sentences"), search.entailed(run)
        return TreeStep(document_id=first.document.id, start=first.start, end=last.end, name=name, score=score)


def children(run: tuple[T, ...], branches: int = 2) -> list[tuple[T, ...]]:
    """Runs of `len(run) // branches` elements; the remaining elements form another run (authors' code)."""
    width = max(1, len(run) // branches)
    return [run[start : start + width] for start in range(0, len(run), width)]
