"""Sentences of a source as the papers' scorers read them: split, ranked, joined and cited.

`SentenceScorer` is the base of the scorers that cut the source into sentences.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, room
from groundrail.entailment.loading import load
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerMetadata, below_all, best_first
from groundrail.scoring.index import Passage, fitted, joined
from groundrail.text.sentences import split
from groundrail.types import Citation, Source, as_documents


@dataclass(frozen=True, slots=True)
class Task:
    """One claim and one document, with the passages of the document that fit beside the claim.

    size: maximum number of tokens of a premise beside the claim.
    """

    claim: str
    size: int
    passages: list[Passage]

    def pair(self, chosen: Sequence[Passage]) -> Pair:
        """The chosen passages, joined in document order, as the premise of the claim."""
        return joined(chosen), self.claim


class SentenceScorer(Scorer, ABC):
    """Judge each claim by the sentences of each document by itself; the best document counts."""

    def __init__(self, entailment: EntailmentModel | str | None = None) -> None:
        self.entailment = load(entailment)

    @property
    def metadata(self) -> ScorerMetadata:
        """The identity of the class around its judge, and the metadata of the judge."""
        judge = self.entailment.metadata
        return ScorerMetadata.around(judge, f"{type(self).__name__} around {judge.identity}")

    def read(self, source: Source) -> Reader:
        """Cut the source into sentences; each is tokenized once."""
        documents, premises = sentences(source, self.entailment), dict[int, list[list[Passage]]]()

        def tasks(claim: str) -> list[Task]:
            size = room(claim, self.entailment)
            if size not in premises:  # made once for all claims that leave the same room
                premises[size] = [self._premises(document, size) for document in documents]
            return [Task(claim, size, passages) for passages in premises[size]]

        return Prepared(self._score, tasks)

    def _score(self, claims: Sequence[str], tasks_of: Callable[[str], list[Task]]) -> list[Score]:
        """Score each claim; NaN if the source is blank.

        Raises: ClaimTooLongError for a claim that leaves no room for a premise.
        """
        tasks = [tasks_of(claim) for claim in claims]
        scores = iter(self._scores([task for of_claim in tasks for task in of_claim]))
        return [best([next(scores) for _ in of_claim]) for of_claim in tasks]

    def _premises(self, document: Sequence[Passage], size: int) -> list[Passage]:
        """The passages for the first model call: sentences, unless a subclass makes longer passages."""
        return fitted(document, size, self.entailment)

    @abstractmethod
    def _scores(self, tasks: Sequence[Task]) -> Iterable[Score]:
        """The score of each task."""


def parted(rows: FloatArray, counts: Iterable[int]) -> list[FloatArray]:
    """Cut rows into runs of these lengths.

    >>> [run.tolist() for run in parted(np.array([1.0, 2.0, 3.0]), [2, 1])]
    [[1.0, 2.0], [3.0]]
    """
    return np.split(rows, np.cumsum([*counts])[:-1]) if len(rows) else []


def sentences(source: Source, model: EntailmentModel) -> list[list[Passage]]:
    """The sentences of every document, in order, blank ones and blank documents left out."""
    documents = []
    for document in as_documents(source):
        found = [Passage.trimmed(document, part.start, part.end, model) for part in split(document.text)]
        passages = [passage for passage in found if passage.end > passage.start]
        if passages:
            documents.append(passages)
    return documents


def as_many_as_fit(ranked: Sequence[Passage], size: int, model: EntailmentModel) -> list[Passage]:
    """The longest run of best passages that, joined, has at most `size` tokens; at least the first."""
    chosen = list(ranked[:1])
    for passage in ranked[1:]:
        if len(model.offsets(joined([*chosen, passage]))) > size:
            break
        chosen.append(passage)
    return chosen


def ranked(scores: FloatArray) -> list[int]:
    """Indices from the highest score to the lowest, equals in order, NaN last."""
    return sorted(range(len(scores)), key=lambda index: below_all(float(scores[index])), reverse=True)


def cited(passages: Iterable[Passage], score_of: Callable[[Passage], float]) -> tuple[Citation, ...]:
    """Citations of passages, the best score first."""
    return best_first(passage.cite(score_of(passage)) for passage in passages)


def best(scores: Sequence[Score]) -> Score:
    """The highest of a claim's scores against each document; NaN where there is none."""
    return max(scores, key=lambda score: below_all(score.value), default=Score(math.nan))
