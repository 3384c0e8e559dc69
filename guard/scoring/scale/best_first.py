"""The maximum over chunks, read in full or only until it is known to reach a threshold.

A decision reads the chunks whose words are most like the claim's first, a few at a time, and stops at the first
that reaches the threshold: the maximum reaches it too, so the decision is that of the full score. Where chunks
begin and end, and what is cited, belongs to the scorer.
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
"""Chunks of one claim read at once at most, where a decision is wanted."""

_CALL = 4096
"""Pairs in one model call at most, which bounds the copies of a long source's text that wait for their scores."""

_NEAREST = 3
"""Sentences of the winning chunk tried alone before the tree is searched."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The best chunk found for a claim, by number, how many chunks were read, and how many there are.

    `limited` where no more were read because no more may be.
    """

    chunk: int
    score: float
    read: int
    chunks: int
    limited: bool


class Chunks:
    """All chunks of one size, by number, in document order. `text` cuts one out; none is kept."""

    def __init__(self, count: int, text: Callable[[int], str]) -> None:
        self.count, self.text = count, text
        self._index: WordIndex | None = None

    def nearest_first(self, claim: str) -> "array[int]":
        """Every chunk, those most like the claim first, those that share no word with it last; four bytes each."""
        if self.count == 1:
            return array("i", [0])
        if self._index is None:
            begin("indexing the chunks", self.count)
            self._index = WordIndex(self._texts())
        ranked = self._index.ranked(claim)
        return array("i", [*ranked, *sorted(set(range(self.count)).difference(ranked))])

    def to_read(self, claim: str, threshold: float | None, most: int | None) -> Sequence[int]:
        """The chunks to read for a claim, in order; at most `most`, the nearest ones."""
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
    """The best of each claim's chunks, of equals the one read first; NaN where the model gives it for any.

    With a threshold, a claim's chunks are read best first, one, then two, four and so on, until one reaches it:
    the winner then is that one, and its score a lower bound of the maximum. Every round is one model call for all
    claims, unless that is more than `_CALL` pairs. A claim without such a chunk has every chunk read.
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
    """For each search the best of the sentences most like the claim that scores at least `lowest`, None without one.

    One model call for all; it spares most claims that are supported the search tree.
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
