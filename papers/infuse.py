"""InFusE (Zhang et al., EACL 2024): the premise grows sentence by sentence until another sentence no longer helps.

This module judges one claim (a sentence or a sub-sentence) by sentences of the source.
`groundrail.evaluation.units.in_units` makes InFusE_sub of it: the minimum over the sub-sentences of a sentence, and the
mean over sentences (sections 3 and 4).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair
from groundrail.errors import InputError
from groundrail.papers.premises import SentenceScorer, Task, cited, parted, ranked
from groundrail.scoring.base import Score
from groundrail.scoring.index import Passage


@dataclass(slots=True)
class _Growth:
    """One claim and one document: the ranked sentences, and the steps evaluated so far.

    Step i reads the first i + 1 ranked sentences.

    alone: P(claim | sentence) of each sentence.
    order: the indices of the sentences, the best first.
    kept: the last step before the neutral probability stopped falling, -1 if there is none.
    over: whether growing has ended.
    """

    task: Task
    alone: list[float]
    order: list[int]
    steps: int = 0
    kept: int = -1
    neutral: float = math.inf
    value: float = math.nan
    over: bool = False

    def premise(self, step: int) -> list[Passage]:
        return [self.task.passages[index] for index in self.order[: step + 1]]

    def take(self, judged: Iterable[FloatArray], margin: float) -> None:
        """Take new steps, three classes each, up to the first step at which the neutral probability does not fall."""
        for entailment, neutral, _ in judged:
            if not neutral < self.neutral + margin:
                self.over = True
                return
            self.neutral, self.value, self.kept = float(neutral), float(entailment), self.steps
            self.steps += 1


class InfuseScorer(SentenceScorer):
    """Algorithm 1 of the paper, run for each document by itself; the best document counts.

        Guard(scorer=in_units(InfuseScorer(NLI_ID), "subsentences"))

    Source sentences are ranked by P(claim | sentence); with `reverse`, P(sentence | claim) is added. Equal ranks keep
    document order. The premise consists of the first, the first two, the first three ... ranked sentences, in document
    order. Growing stops at the first step whose neutral probability is not below that of the previous step, and the
    score is the entailment of the previous step. Growing also ends when the document ends, when the premise does not
    fit the model, and after `max_sentences` sentences.

    Args:
        margin: Added to the previous neutral probability before the comparison, against stopping too early (the
            paper's limitations suggest it).
        ahead: Number of steps of all claims that are evaluated in one model call; it does not change the result.

    Differences to the paper and the authors' program:

    - Algorithm 1 returns the step before the stopping step, and so does this scorer; the text of section 3 names the
      stopping step.
    - Algorithm 1 begins with a neutral probability of 0, so that every first step would stop without a premise. Here
      the first step never stops.
    - The paper does not give the order of sentences in a premise; document order is ours.
    - The authors' program ranks with reversed entailment only the 2k sentences of best forward entailment at step k.
      Algorithm 1 and this scorer rank all sentences.
    """

    def __init__(
        self,
        entailment: EntailmentModel | str | None = None,
        *,
        reverse: bool = True,
        margin: float = 0.0,
        ahead: int = 4,
        max_sentences: int = 64,
    ) -> None:
        super().__init__(entailment)
        for name, value in (("ahead", ahead), ("max_sentences", max_sentences)):
            if value < 1:
                raise InputError(f"{name} is at least 1, not {value}")
        if not margin >= 0:
            raise InputError(f"margin is a probability, at least 0, not {margin}")
        self.reverse, self.margin, self.ahead, self.max_sentences = reverse, margin, ahead, max_sentences

    def _scores(self, tasks: Sequence[Task]) -> Iterable[Score]:
        """The score of each task, with the sentences of its final premise as citations."""
        growths = self._ranked(tasks)
        while growing := [growth for growth in growths if not growth.over]:
            self._grow(growing)
        return map(_score, growths)

    def _ranked(self, tasks: Sequence[Task]) -> list[_Growth]:
        """Rank the sentences by the judge, with `reverse` in both directions; this also gives each first step."""
        forward: list[Pair] = [task.pair([passage]) for task in tasks for passage in task.passages]
        backward: list[Pair] = [(claim, text) for text, claim in forward] if self.reverse else []
        if not forward:
            return []
        judged = self.entailment.classify(forward + backward)
        rank = judged[: len(forward), 0] + (judged[len(forward) :, 0] if self.reverse else 0.0)
        counts, growths = [len(task.passages) for task in tasks], list[_Growth]()
        runs = zip(tasks, parted(judged[: len(forward)], counts), parted(rank, counts), strict=True)
        for task, first_steps, ranks in runs:
            growths.append(_Growth(task, first_steps[:, 0].tolist(), ranked(ranks)))
            growths[-1].take(first_steps[growths[-1].order[:1]], self.margin)
        return growths

    def _grow(self, growths: Sequence[_Growth]) -> None:
        """Evaluate the next steps of all growths in one model call."""
        batches = [list(self._next_pairs(growth)) for growth in growths]
        pairs = [pair for batch in batches for pair in batch]
        judged = iter(self.entailment.classify(pairs) if pairs else np.empty((0, 3)))
        for growth, batch in zip(growths, batches, strict=True):
            growth.take([next(judged) for _ in batch], self.margin)
            growth.over = growth.over or len(batch) < self.ahead

    def _next_pairs(self, growth: _Growth) -> Iterator[Pair]:
        last = min(len(growth.order), self.max_sentences)
        for step in range(growth.steps, min(growth.steps + self.ahead, last)):
            pair = growth.task.pair(growth.premise(step))
            if len(self.entailment.offsets(pair[0])) > growth.task.size:
                return
            yield pair


def _score(growth: _Growth) -> Score:
    alone = dict(zip(growth.task.passages, growth.alone, strict=True))
    used = [] if growth.kept < 0 else growth.premise(growth.kept)
    return Score(growth.value, cited(used, alone.__getitem__))
