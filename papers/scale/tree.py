"""SCALE's greedy search tree (section 3.2): from many sentences down to the sentence that supports a claim.

All claims go down together, with one model call for each level. `groundrail.papers.scale.scorer` sets the start of a
search.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from groundrail.entailment.base import EntailmentModel
from groundrail.scoring.base import below_all
from groundrail.scoring.index import Passage
from groundrail.scoring.scale import children


@dataclass(frozen=True, slots=True)
class Search:
    """A claim, the neighbouring sentences to search, and the number of premise tokens that fit beside the claim.

    Each sentence fits beside the claim; all sentences together may not fit.
    """

    claim: str
    sentences: tuple[Passage, ...]
    size: int


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
        runs = {index: fitting_children(model, some, branches, searches[index].size) for index, some in below.items()}
        pairs = [(_run(child).text, searches[index].claim) for index in runs for child in runs[index]]
        scores = iter(model.entailment(pairs))
        below = {}
        for index, some in runs.items():
            best = max((Node(run, float(next(scores))) for run in some), key=lambda node: below_all(node.score))
            if not math.isnan(best.score):
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
        if len(run) == 1 or len(model.offsets(_run(run).text)) <= size:
            fitting.append(run)
        else:
            waiting += children(run, branches)[::-1]
    return fitting


def _run(sentences: tuple[Passage, ...]) -> Passage:
    tokens = sum(sentence.tokens for sentence in sentences)
    return Passage(sentences[0].document, sentences[0].start, sentences[-1].end, tokens)
