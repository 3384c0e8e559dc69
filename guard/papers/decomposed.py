"""Scorers that cut the source into sentences: Falke et al.'s and SummaC-ZS's sentence pairs, Glover et al.'s
top-k premise and full document, Schuster et al.'s SeNtLI.

Each scores a claim as it is; cutting claims is `groundrail.papers.units.base`, InFusE's growing premise is
`groundrail.papers.infuse`. Documents are scored apart and the best one counts, as everywhere.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, takewhile

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, NLIModel, Pair
from groundrail.entailment.loading import load
from groundrail.errors import InputError, ModelError
from groundrail.scoring import passages as source_passages
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerFacts
from groundrail.scoring.passages import Passage, as_many_as_fit, best, cited, fitted, joined, ranked, room
from groundrail.types import Source


@dataclass(slots=True)
class _Task:
    """One claim against one document: passages that fit beside the claim, and how the model judged each.

    `judged` has one row a passage: (n,) entailment, or (n, 3) for a model asked for three classes.
    """

    claim: str
    size: int
    passages: list[Passage]
    judged: FloatArray

    def pair(self, chosen: Sequence[Passage]) -> Pair:
        return joined(chosen), self.claim


def load_nli(entailment: EntailmentModel | str | None, wanted_by: str) -> NLIModel:
    """A model of three classes, loaded as everywhere. Raises: ModelError for one that only says yes or no."""
    model = load(entailment)
    if not isinstance(model, NLIModel):
        raise ModelError(
            f"{wanted_by} needs a model of three classes (entailment, neutral, contradiction), and this "
            f"{type(model).__name__} only tells entailment; pass a CrossEncoderEntailment of an NLI model"
        )
    try:
        model.classify([])
    except ModelError as error:
        raise ModelError(
            f"{wanted_by} needs a model of three classes (entailment, neutral, contradiction): {error}"
        ) from error
    return model


class _Decomposed(Scorer, ABC):
    """Judges every claim against every document: one model call for the passages, at most one more."""

    def __init__(self, entailment: EntailmentModel | str | None = None) -> None:
        self.entailment = load(entailment)

    @property
    def facts(self) -> ScorerFacts:
        """The class around its judge."""
        judge = self.entailment.facts
        return ScorerFacts.around(judge, f"{type(self).__name__} around {judge.identity}")

    def read(self, source: Source) -> Reader:
        """Cut the source into sentences, each tokenized once."""
        return Prepared(self._score, _Documents(source_passages.sentences(source, self.entailment), self._premises))

    def _score(self, claims: Sequence[str], documents: "_Documents") -> list[Score]:
        """One score a claim, NaN where the source is blank.

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
        """What the first round judges: sentences, unless a scorer wants longer passages."""
        return fitted(document, size, self.entailment)

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        return self.entailment.entailment(pairs) if pairs else np.empty(0)

    @abstractmethod
    def _scores(self, tasks: Sequence[_Task]) -> Iterator[Score]:
        """One score a task, from its judged passages."""


class _Documents:
    """The sentences of every document, made into premises once for all claims that leave the same room."""

    def __init__(
        self, sentences: Sequence[Sequence[Passage]], cut: Callable[[Sequence[Passage], int], list[Passage]]
    ) -> None:
        self._sentences, self._cut = sentences, cut
        self._premises: dict[int, list[list[Passage]]] = {}

    def premises(self, size: int) -> list[list[Passage]]:
        """Of each document, at most `size` tokens long."""
        if size not in self._premises:
            self._premises[size] = [self._cut(document, size) for document in self._sentences]
        return self._premises[size]


class SentencePairScorer(_Decomposed):
    """The claim against every source sentence, the maximum (Falke et al. 2019; SummaC-ZS).

    The citation is the sentence that reaches it.
    """

    def _scores(self, tasks: Sequence[_Task]) -> Iterator[Score]:
        for task in tasks:
            top = ranked(task.judged)[0]
            value = float(task.judged[top])
            yield Score(value, () if math.isnan(value) else (task.passages[top].cite(value),))


class _Rescored(_Decomposed):
    """Chooses some sentences a task, joins them in document order, and scores the claim once more."""

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
        """Indices into the task's passages, the most wanted first."""


class TopKScorer(_Rescored):
    """The `k` most entailing sentences, joined in document order, as one premise (Glover et al. 2022).

    The authors' summary says only that they are concatenated; the order is ours. `reverse=True` ranks by P(claim | sentence)
    plus P(sentence | claim): InFusE-k (Zhang et al. 2024, appendix E).
    Sentences that no longer fit beside the claim are left out from the least entailing; the citations are
    exactly the sentences that were read.
    """

    def __init__(self, entailment: EntailmentModel | str | None = None, *, k: int = 5, reverse: bool = False) -> None:
        super().__init__(entailment)
        self.k = _checked(k)
        self.reverse = reverse

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        """One row a pair: P(claim | sentence), and P(sentence | claim) behind it where that is asked for."""
        backward = [(claim, premise) for premise, claim in pairs] if self.reverse else []
        judged = super()._judge([*pairs, *backward])
        return judged.reshape(1 + self.reverse, len(pairs)).T

    def _entailed(self, task: _Task) -> list[float]:
        return [float(value) for value in task.judged[:, 0]]

    def _choice(self, task: _Task) -> list[int]:
        return ranked(task.judged.sum(axis=1))[: self.k]


class SentliScorer(_Rescored):
    """The `k` most entailing and the `k` most contradicting sentences as one premise (Schuster et al. 2022).

    So evidence against the claim is read together with the evidence for it. Needs a model of three classes.
    Sentences that no longer fit are left out from the least telling, both kinds in turn.
    """

    def __init__(self, entailment: EntailmentModel | str | None = None, *, k: int = 5) -> None:
        self._nli = load_nli(entailment, "SeNtLI")
        super().__init__(self._nli)
        self.k = _checked(k)

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        return self._nli.classify(pairs) if pairs else np.empty((0, 3))

    def _entailed(self, task: _Task) -> list[float]:
        return [float(value) for value in task.judged[:, 0]]

    def _choice(self, task: _Task) -> list[int]:
        entailing, contradicting = (ranked(task.judged[:, column])[: self.k] for column in (0, 2))
        in_turn = [index for both in zip(entailing, contradicting, strict=True) for index in both]
        return list(dict.fromkeys(in_turn))


class FullDocumentScorer(_Decomposed):
    """The whole document as the premise; where it does not fit, the mean over chunks of whole sentences.

    Chunks are filled one after the other, each as full as the model allows beside the claim, and the chunks'
    scores averaged, which is how InFusE (section 4) runs its full-document baseline. Every chunk is cited.
    """

    def _premises(self, document: Sequence[Passage], size: int) -> list[Passage]:
        pieces, chunks, start = fitted(document, size, self.entailment), list[Passage](), 0
        while start < len(pieces):
            chunk, start = self._filled(pieces, start, size)
            chunks.append(chunk)
        return chunks

    def _filled(self, pieces: Sequence[Passage], start: int, size: int) -> tuple[Passage, int]:
        """The longest chunk from piece `start` on, and the piece after it; their own tokens say about how many fit."""
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
