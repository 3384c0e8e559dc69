"""Scorers that cut the source into sentences: sentence pairs, top-k premise, full document and SeNtLI.

Sentence pairs are from Falke et al. and SummaC-ZS, top-k premise and full document from Glover et al., SeNtLI from
Schuster et al. Claims are not cut: `groundrail.papers.units.base` does that. InFusE's growing premise is in
`groundrail.papers.infuse`. Each document is scored by itself, and the best document counts.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, takewhile

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair
from groundrail.entailment.loading import load
from groundrail.errors import InputError
from groundrail.papers.premises import as_many_as_fit, best, cited, ranked
from groundrail.papers.premises import sentences as sentences_of
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerFacts
from groundrail.scoring.index import Passage, fitted, joined, room
from groundrail.types import Source


@dataclass(slots=True)
class _Task:
    """One claim and one document: the passages that fit beside the claim, and the model's judgement of each.

    `judged` has a row for each passage: entailment, shape (n,), or three classes, shape (n, 3).
    """

    claim: str
    size: int
    passages: list[Passage]
    judged: FloatArray

    def pair(self, chosen: Sequence[Passage]) -> Pair:
        return joined(chosen), self.claim


class _Decomposed(Scorer, ABC):
    """Judge each claim against each document, with one model call for the passages and at most one more call."""

    def __init__(self, entailment: EntailmentModel | str | None = None) -> None:
        self.entailment = load(entailment)

    @property
    def facts(self) -> ScorerFacts:
        """The identity of the class around its judge, and the facts about the judge."""
        judge = self.entailment.facts
        return ScorerFacts.around(judge, f"{type(self).__name__} around {judge.identity}")

    def read(self, source: Source) -> Reader:
        """Cut the source into sentences; each is tokenized once."""
        return Prepared(self._score, _Documents(sentences_of(source, self.entailment), self._premises))

    def _score(self, claims: Sequence[str], documents: "_Documents") -> list[Score]:
        """Score each claim; NaN if the source is blank.

        Raises: ClaimTooLongError for a claim that leaves no room for a premise.
        """
        tasks = [self._tasks(claim, documents) for claim in claims]
        flat = [task for of_claim in tasks for task in of_claim]
        judged = self._judge([task.pair([passage]) for task in flat for passage in task.passages])
        start = 0
        for task in flat:
            task.judged = judged[start : start + len(task.passages)]
            start += len(task.passages)
        scores = iter(self._scores(flat))
        return [best([next(scores) for _ in of_claim]) for of_claim in tasks]

    def _tasks(self, claim: str, documents: "_Documents") -> list[_Task]:
        size = room(claim, self.entailment)
        return [_Task(claim, size, premises, np.empty(0)) for premises in documents.premises(size)]

    def _premises(self, document: Sequence[Passage], size: int) -> list[Passage]:
        """The passages for the first model call: sentences, unless a subclass makes longer passages."""
        return fitted(document, size, self.entailment)

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        return self.entailment.entailment(pairs) if pairs else np.empty(0)

    @abstractmethod
    def _scores(self, tasks: Sequence[_Task]) -> Iterator[Score]:
        """Compute the score of each task from its judged passages."""


class _Documents:
    """The sentences of each document; premises are made once for all claims that leave the same room."""

    def __init__(
        self, sentences: Sequence[Sequence[Passage]], cut: Callable[[Sequence[Passage], int], list[Passage]]
    ) -> None:
        self._sentences, self._cut = sentences, cut
        self._premises: dict[int, list[list[Passage]]] = {}

    def premises(self, size: int) -> list[list[Passage]]:
        """The premises of each document, of at most `size` tokens."""
        if size not in self._premises:
            self._premises[size] = [self._cut(document, size) for document in self._sentences]
        return self._premises[size]


class SentencePairScorer(_Decomposed):
    """The maximum P(entailment) of the claim from any source sentence (Falke et al. 2019; SummaC-ZS).

    The citation is the sentence with the maximum.

        Guard(scorer=SentencePairScorer())
    """

    def _scores(self, tasks: Sequence[_Task]) -> Iterator[Score]:
        for task in tasks:
            top = ranked(task.judged)[0]
            value = float(task.judged[top])
            yield Score(value, () if math.isnan(value) else (task.passages[top].cite(value),))


class _Rescored(_Decomposed):
    """Choose sentences for each task, join them in document order, and judge the claim again by the joined text."""

    def _scores(self, tasks: Sequence[_Task]) -> Iterator[Score]:
        chosen = [
            as_many_as_fit([task.passages[index] for index in self._choice(task)], task.size, self.entailment)
            for task in tasks
        ]
        pairs = [task.pair(passages) for task, passages in zip(tasks, chosen, strict=True)]
        values = self.entailment.entailment(pairs) if pairs else np.empty(0)
        for task, passages, value in zip(tasks, chosen, values, strict=True):
            alone = dict(zip(task.passages, self._entailed(task), strict=True))
            yield Score(float(value), cited(passages, alone.__getitem__))

    def _entailed(self, task: _Task) -> list[float]:
        """P(entailment) from each passage alone."""
        return [float(value) for value in task.judged]

    @abstractmethod
    def _choice(self, task: _Task) -> list[int]:
        """Indices of the task's passages, the most important first."""


class TopKScorer(_Rescored):
    """The `k` most entailing sentences, joined in document order, as one premise (Glover et al. 2022).

    The authors say only that the sentences are concatenated; the order is ours. `reverse=True` ranks by
    P(claim | sentence) plus P(sentence | claim): InFusE-k (Zhang et al. 2024, appendix E). If the sentences do not fit
    beside the claim, the least entailing are left out. The citations are the sentences in the premise.

        Guard(scorer=TopKScorer(k=3))
    """

    def __init__(self, entailment: EntailmentModel | str | None = None, *, k: int = 5, reverse: bool = False) -> None:
        super().__init__(entailment)
        self.k = _checked(k)
        self.reverse = reverse

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        """A row for each pair: P(claim | sentence), and with `reverse` also P(sentence | claim)."""
        backward = [(claim, premise) for premise, claim in pairs] if self.reverse else []
        judged = super()._judge([*pairs, *backward])
        return judged.reshape(1 + self.reverse, len(pairs)).T

    def _entailed(self, task: _Task) -> list[float]:
        return [float(value) for value in task.judged[:, 0]]

    def _choice(self, task: _Task) -> list[int]:
        return ranked(task.judged.sum(axis=1))[: self.k]


class SentliScorer(_Rescored):
    """The `k` most entailing and the `k` most contradicting sentences as one premise (Schuster et al. 2022).

    The judge, which should tell neutral from contradiction, reads evidence for and against the claim together. If the sentences do not
    fit, the least entailing and the least contradicting are left out in turn.

        Guard(scorer=SentliScorer(NLI_ID))
    """

    def __init__(self, entailment: EntailmentModel | str | None = None, *, k: int = 5) -> None:
        super().__init__(entailment)
        self.k = _checked(k)

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        return self.entailment.classify(pairs) if pairs else np.empty((0, 3))

    def _entailed(self, task: _Task) -> list[float]:
        return [float(value) for value in task.judged[:, 0]]

    def _choice(self, task: _Task) -> list[int]:
        entailing, contradicting = (ranked(task.judged[:, column])[: self.k] for column in (0, 2))
        in_turn = [index for both in zip(entailing, contradicting, strict=True) for index in both]
        return list(dict.fromkeys(in_turn))


class FullDocumentScorer(_Decomposed):
    """The whole document as the premise; if it does not fit, the mean over chunks of whole sentences.

    Each chunk is filled as far as the model has room beside the claim, and the scores of the chunks are averaged, as
    in InFusE's full-document baseline (section 4). All chunks are cited.

        Guard(scorer=FullDocumentScorer())
    """

    def _premises(self, document: Sequence[Passage], size: int) -> list[Passage]:
        pieces, chunks, start = fitted(document, size, self.entailment), list[Passage](), 0
        while start < len(pieces):
            chunk, start = self._filled(pieces, start, size)
            chunks.append(chunk)
        return chunks

    def _filled(self, pieces: Sequence[Passage], start: int, size: int) -> tuple[Passage, int]:
        """The longest chunk that begins with piece `start`, and the index of the piece after the chunk.

        The token counts of the pieces give a first estimate.
        """
        fits = takewhile(size.__ge__, accumulate(piece.tokens for piece in islice(pieces, start, None)))
        end = start + sum(1 for _ in fits)
        chunk = self._run(pieces[start], pieces[end - 1])
        while chunk.tokens > size and end > start + 1:
            end -= 1
            chunk = self._run(pieces[start], pieces[end - 1])
        while end < len(pieces) and (longer := self._run(pieces[start], pieces[end])).tokens <= size:
            chunk, end = longer, end + 1
        return chunk, end

    def _run(self, first: Passage, last: Passage) -> Passage:
        return Passage.trimmed(first.document, first.start, last.end, self.entailment)

    def _scores(self, tasks: Sequence[_Task]) -> Iterator[Score]:
        for task in tasks:
            alone = dict(zip(task.passages, map(float, task.judged), strict=True))
            yield Score(math.fsum(alone.values()) / len(alone), cited(task.passages, alone.__getitem__))


def _checked(k: int) -> int:
    if not isinstance(k, int) or k < 1:
        raise InputError(f"k is a number of sentences, at least 1, not {k!r}")
    return k
