"""Scorers that cut the source into sentences: sentence pairs, top-k premise, full document and SeNtLI.

Sentence pairs are from Falke et al. and SummaC-ZS, top-k premise and full document from Glover et al., SeNtLI from
Schuster et al. Claims are not cut: `groundrail.evaluation.units` does that. InFusE's growing premise is in
`groundrail.papers.infuse`. Each document is scored by itself, and the best document counts.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, takewhile

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair
from groundrail.errors import InputError
from groundrail.papers.premises import SentenceScorer, Task, as_many_as_fit, cited, parted, ranked
from groundrail.scoring.base import Score
from groundrail.scoring.index import Passage, fitted


class _Decomposed(SentenceScorer):
    """Judge each claim against each document, with one model call for the passages and at most one more call."""

    def _scores(self, tasks: Sequence[Task]) -> Iterable[Score]:
        judged = self._judge([task.pair([passage]) for task in tasks for passage in task.passages])
        return self._joined(tasks, parted(judged, (len(task.passages) for task in tasks)))

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        """A row for each pair: entailment, shape (n,), or several numbers, the first of which is entailment."""
        return self.entailment.entailment(pairs) if pairs else np.empty(0)

    @abstractmethod
    def _joined(self, tasks: Sequence[Task], judged: Sequence[FloatArray]) -> Iterator[Score]:
        """Compute the score of each task from the rows of its passages."""


class SentencePairScorer(_Decomposed):
    """The maximum P(entailment) of the claim from any source sentence (Falke et al. 2019; SummaC-ZS).

    The citation is the sentence with the maximum.

        Guard(scorer=SentencePairScorer())
    """

    def _joined(self, tasks: Sequence[Task], judged: Sequence[FloatArray]) -> Iterator[Score]:
        for task, alone in zip(tasks, judged, strict=True):
            top = ranked(alone)[0]
            value = float(alone[top])
            yield Score(value, () if math.isnan(value) else (task.passages[top].cite(value),))


class _Rescored(_Decomposed):
    """Choose sentences for each task, join them in document order, and judge the claim again by the joined text."""

    def _joined(self, tasks: Sequence[Task], judged: Sequence[FloatArray]) -> Iterator[Score]:
        chosen = [
            as_many_as_fit([task.passages[index] for index in self._choice(rows)], task.size, self.entailment)
            for task, rows in zip(tasks, judged, strict=True)
        ]
        pairs = [task.pair(passages) for task, passages in zip(tasks, chosen, strict=True)]
        values = self.entailment.entailment(pairs) if pairs else np.empty(0)
        for task, rows, passages, value in zip(tasks, judged, chosen, values, strict=True):
            alone = dict(zip(task.passages, rows[:, 0].tolist(), strict=True))
            yield Score(float(value), cited(passages, alone.__getitem__))

    @abstractmethod
    def _choice(self, judged: FloatArray) -> list[int]:
        """Indices of a task's passages, the most important first."""


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

    def _choice(self, judged: FloatArray) -> list[int]:
        return ranked(judged.sum(axis=1))[: self.k]


class SentliScorer(_Rescored):
    """The `k` most entailing and the `k` most contradicting sentences as one premise (Schuster et al. 2022).

    The judge, which should tell neutral from contradiction, reads evidence for and against the claim together. If the
    sentences do not fit, the least entailing and the least contradicting are left out in turn.

        Guard(scorer=SentliScorer(NLI_ID))
    """

    def __init__(self, entailment: EntailmentModel | str | None = None, *, k: int = 5) -> None:
        super().__init__(entailment)
        self.k = _checked(k)

    def _judge(self, pairs: Sequence[Pair]) -> FloatArray:
        return self.entailment.classify(pairs) if pairs else np.empty((0, 3))

    def _choice(self, judged: FloatArray) -> list[int]:
        entailing, contradicting = (ranked(judged[:, column])[: self.k] for column in (0, 2))
        return list(dict.fromkeys(index for both in zip(entailing, contradicting, strict=True) for index in both))


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

    def _joined(self, tasks: Sequence[Task], judged: Sequence[FloatArray]) -> Iterator[Score]:
        for task, rows in zip(tasks, judged, strict=True):
            alone = dict(zip(task.passages, rows.tolist(), strict=True))
            yield Score(math.fsum(alone.values()) / len(alone), cited(task.passages, alone.__getitem__))


def _checked(k: int) -> int:
    if not isinstance(k, int) or k < 1:
        raise InputError(f"k is a number of sentences, at least 1, not {k!r}")
    return k
