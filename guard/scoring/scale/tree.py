"""SCALE's greedy search tree (section 3.2): from many sentences down to the sentence that supports a claim.

All claims go down together, with one model call for each level. `groundrail.scoring.scale.scale` sets the start of a
search and the node that is cited.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from groundrail.entailment.base import EntailmentModel
from groundrail.scoring.base import below_all
from groundrail.scoring.passages import Passage
from groundrail.scoring.weighing import citable


@dataclass(frozen=True, slots=True)
class Search:
    """A claim, the neighbouring sentences to search, and the number of premise tokens that fit beside the claim.

    Each sentence fits beside the claim; all sentences together may not fit.
    """

    claim: str
    sentences: tuple[Passage, ...]
    size: int
    likeness: Mapping[Passage, float] = field(default_factory=dict)
    """Likeness of each sentence to the claim, as a share of the greatest; empty if P(entailment) alone chooses."""

    def rank(self, node: "Node") -> float:
        """Sort key of a child: P(entailment), or its rank as a citation if the search has likenesses."""
        if not self.likeness or math.isnan(node.score):
            return below_all(node.score)
        return citable(node.score, max(self.likeness[sentence] for sentence in node.sentences))


@dataclass(frozen=True, slots=True)
class Node:
    """Neighbouring sentences of one document, and P(entailment) of the claim from them alone."""

    sentences: tuple[Passage, ...]
    score: float

    @property
    def passage(self) -> Passage:
        """The sentences as one slice of the document."""
        return _run(self.sentences)


def descend(model: EntailmentModel, searches: Sequence[Search], branches: int) -> list[list[Node]]:
    """The path of each search: the best child at every level, from the first split down to one sentence.

    A search in a single sentence has a path of one node. A path stops early if the model gives no number for any child;
    if this happens at the first level, the path is empty.
    """
    paths: list[list[Node]] = [[] for _ in searches]
    below = {index: search.sentences for index, search in enumerate(searches)}
    while below:
        children = {
            index: fitting_children(model, sentences, branches, searches[index].size)
            for index, sentences in below.items()
        }
        scores = iter(
            model.entailment(
                [(_run(child).text, searches[index].claim) for index in children for child in children[index]]
            )
        )
        for index, runs in children.items():
            nodes = [Node(run, float(next(scores))) for run in runs]
            best = max(nodes, key=searches[index].rank)
            del below[index]
            if math.isnan(best.score):
                continue
            paths[index].append(best)
            if len(best.sentences) > 1:
                below[index] = best.sentences
    return paths


def fitting_children(
    model: EntailmentModel, sentences: tuple[Passage, ...], branches: int, size: int
) -> list[tuple[Passage, ...]]:
    """The children of a node; a child that is too long for the model is replaced by its own children."""
    fitting = []
    waiting = children(sentences, branches)[::-1]
    while waiting:
        run = waiting.pop()
        if len(run) == 1 or fits(model, run, size):
            fitting.append(run)
        else:
            waiting += children(run, branches)[::-1]
    return fitting


def children(sentences: tuple[Passage, ...], branches: int) -> list[tuple[Passage, ...]]:
    """Runs of `len(sentences) // branches` sentences; the remaining sentences form another run (authors' code)."""
    width = max(1, len(sentences) // branches)
    return [sentences[start : start + width] for start in range(0, len(sentences), width)]


def fits(model: EntailmentModel, run: tuple[Passage, ...], size: int) -> bool:
    """Whether a run of sentences has at most `size` tokens as one slice of the document."""
    return len(model.offsets(_run(run).text)) <= size


def _run(sentences: tuple[Passage, ...]) -> Passage:
    tokens = sum(sentence.tokens for sentence in sentences)
    return Passage(sentences[0].document, sentences[0].start, sentences[-1].end, tokens)


def widened(
    model: EntailmentModel,
    searches: Sequence[Search],
    paths: Sequence[list[Node]],
    lowest: Sequence[float],
    most: int,
) -> list[list[Node]]:
    """Cut each path back to its smallest node with a score of at least `lowest`.

    Nodes of at most `most` sentences count, the root of the search included. If there is no such node, the path stays
    unchanged. A claim that no single sentence supports then gets several sentences as its citation.
    """
    ends = [_cut_back(path, bound, most) for path, bound in zip(paths, lowest, strict=True)]
    roots = [
        index
        for index, search in enumerate(searches)
        if paths[index]
        and not ends[index]
        and 1 < len(search.sentences) <= most
        and fits(model, search.sentences, search.size)
    ]
    scores = model.entailment([(_run(searches[index].sentences).text, searches[index].claim) for index in roots])
    for index, score in zip(roots, scores, strict=True):
        if score >= lowest[index]:
            ends[index] = [Node(searches[index].sentences, float(score))]
    return [end or path for end, path in zip(ends, paths, strict=True)]


def _cut_back(path: list[Node], lowest: float, most: int) -> list[Node]:
    """The path up to its smallest node that meets `lowest` and `most`; empty if there is none."""
    for length in range(len(path), 0, -1):
        if path[length - 1].score >= lowest and len(path[length - 1].sentences) <= most:
            return path[:length]
    return []
