"""The maximum over chunks, computed in full or only until it is known to reach a threshold.

For a decision the chunks whose words are most like the claim's are read first, a few at a time, until one reaches the
threshold. The maximum then reaches it too, so that the decision is the same as with all chunks. The scorer sets the
boundaries of chunks and chooses the citation.
"""

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from groundrail.entailment.base import EntailmentModel, Pair
from groundrail.runtime.progress import begin, step
from groundrail.scoring.passages import Passage
from groundrail.scoring.scale.tree import Node, Search
from groundrail.scoring.word_index import WordIndex

_LARGEST = 64
"""Maximum number of chunks that are read at once for one claim, if only a decision is needed."""

_CALL = 4096
"""Maximum number of pairs in one model call; it bounds the copies of a long source's text in memory."""

_NEAREST = 3
"""Maximum number of sentences of the winning chunk that are tried alone before the tree is searched."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The best chunk found for a claim.

    chunk: number of the chunk.
    read, chunks: number of chunks that were read, and number of all chunks.
    limited: whether chunks were left out because of the maximum number of chunks.
    """

    chunk: int
    score: float
    read: int
    chunks: int
    limited: bool


class Chunks:
    """All chunks of one size by number, in document order. `text` cuts out the text of a chunk when it is needed."""

    def __init__(self, count: int, text: Callable[[int], str]) -> None:
        self.count, self.text = count, text
        self._index: WordIndex | None = None

    def nearest_first(self, claim: str) -> "array[int]":
        """Numbers of all chunks, the chunks most like the claim first; four bytes each."""
        if self.count == 1:
            return array("i", [0])
        if self._index is None:
            begin("indexing the chunks", self.count)
            self._index = WordIndex(self._texts())
        ranked = self._index.ranked(claim)
        return array("i", [*ranked, *sorted(set(range(self.count)).difference(ranked))])

    def to_read(self, claim: str, threshold: float | None, most: int | None) -> Sequence[int]:
        """Numbers of the chunks to read for a claim, in order; the nearest `most` chunks if there are more."""
        if threshold is not None:
            return self.nearest_first(claim)[:most]
        if most is None or most >= self.count:
            return range(self.count)
        return sorted(self.nearest_first(claim)[:most])

    def _texts(self) -> Iterator[str]:
        for number in range(self.count):
            yield self.text(number)
            step()


def winners(
    model: EntailmentModel,
    claims: Sequence[str],
    chunks: Sequence[Chunks],
    threshold: float | None,
    most: int | None,
) -> list[Winner]:
    """Find the best chunk for each claim; NaN if the model gives NaN for any chunk that was read.

    The chunk that was read first wins among chunks with equal scores. With a threshold, the chunks of a claim are read
    best first, in rounds of one, two, four and so on, until a chunk reaches the threshold; this chunk is the winner, and
    its score is a lower bound of the maximum. If no chunk reaches the threshold, all are read. Each round is one model
    call for all claims, or several calls of `_CALL` pairs.
    """
    orders = [of_one.to_read(claim, threshold, most) for claim, of_one in zip(claims, chunks, strict=True)]
    best: list[tuple[int, float]] = [(-1, -math.inf)] * len(claims)
    read = [0] * len(claims)
    begin("judging", sum(map(len, orders)))
    waiting = {index: iter(order) for index, order in enumerate(orders)}
    size = 1 if threshold is not None else None
    while waiting:
        batch = {index: list(islice(order, size)) for index, order in waiting.items()}
        pairs = ((chunks[index].text(chunk), claims[index]) for index, some in batch.items() for chunk in some)
        scores = _asked(model, pairs)
        for index, some in batch.items():
            for chunk in some:
                score = next(scores)
                if score > best[index][1] or (math.isnan(score) and not math.isnan(best[index][1])):
                    best[index] = chunk, score
            read[index] += len(some)
            decided = threshold is not None and not best[index][1] < threshold
            if decided or read[index] == len(orders[index]):
                step(len(orders[index]) - read[index])
                del waiting[index]
        size = None if size is None else min(2 * size, _LARGEST)
    return [
        Winner(
            *best[index],
            read[index],
            chunks[index].count,
            read[index] == len(orders[index]) < chunks[index].count,
        )
        for index in range(len(claims))
    ]


def _asked(model: EntailmentModel, pairs: Iterator[Pair]) -> Iterator[float]:
    while some := list(islice(pairs, _CALL)):
        yield from map(float, model.entailment(some))


def carried_alone(model: EntailmentModel, searches: Sequence[Search], lowest: Sequence[float]) -> list[Node | None]:
    """For each search, try the sentences most like the claim alone; return the best with at least `lowest`, or None.

    This takes one model call and makes the search tree unnecessary for most supported claims.
    """
    tried: list[list[Passage]] = []
    for search in searches:
        nearest = WordIndex(sentence.text for sentence in search.sentences).ranked(search.claim)
        tried.append([search.sentences[place] for place in nearest[:_NEAREST]])
    pairs = [(one.text, search.claim) for search, some in zip(searches, tried, strict=True) for one in some]
    scores = iter(model.entailment(pairs)) if pairs else iter(())
    found: list[Node | None] = []
    for some, bound in zip(tried, lowest, strict=True):
        nodes = [Node((sentence,), float(next(scores))) for sentence in some]
        carrying = [node for node in nodes if node.score >= bound]
        found.append(max(carrying, key=lambda node: node.score, default=None))
    return found
