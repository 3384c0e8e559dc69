"""InFusE (Zhang et al., EACL 2024): the premise grows sentence by sentence until another sentence no longer helps.

This module judges one claim (a sentence or a sub-sentence) by sentences of the source.
`groundrail.scoring.registry.in_units` makes InFusE_sub of it: the minimum over the sub-sentences of a sentence, and the
mean over sentences (sections 3 and 4).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair
from groundrail.entailment.loading import load
from groundrail.errors import InputError
from groundrail.papers.premises import best, cited, ranked, sentences
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerFacts
from groundrail.scoring.index import Passage, fitted, joined, room
from groundrail.types import Source


@dataclass(slots=True)
class _Growth:
    """One claim and one document: the ranked sentences, and the steps evaluated so far.

    Step i reads the first i + 1 ranked sentences.

    kept: the last step before the neutral probability stopped falling, -1 if there is none.
    over: whether growing has ended.
    """

    claim: str
    size: int
    passages: list[Passage]
    forward: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    order: list[int] = field(default_factory=list)
    steps: int = 0
    kept: int = -1
    neutral: float = math.inf
    value: float = math.nan
    over: bool = False

    def premise(self, step: int) -> list[Passage]:
        return [self.passages[index] for index in self.order[: step + 1]]

    def take(self, judged: FloatArray, margin: float) -> None:
        """Take new steps, shape (n, 3), up to the first step at which the neutral probability does not fall."""
        for entailment, neutral, _ in judged:
            if not neutral < self.neutral + margin:
                self.over = True
                return
            self.neutral, self.value, self.kept = float(neutral), float(entailment), self.steps
            self.steps += 1


class InfuseScorer(Scorer):
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
        self.entailment = load(entailment)
        for name, value in (("ahead", ahead), ("max_sentences", max_sentences)):
            if value < 1:
                raise InputError(f"{name} is at least 1, not {value}")
        if not margin >= 0:
            raise InputError(f"margin is a probability, at least 0, not {margin}")
        self.reverse = reverse
        self.margin = margin
        self.ahead = ahead
        self.max_sentences = max_sentences

    @property
    def facts(self) -> ScorerFacts:
        """The identity of the class around its judge, and the facts about the judge."""
        judge = self.entailment.facts
        return ScorerFacts.around(judge, f"{type(self).__name__} around {judge.identity}")

    def read(self, source: Source) -> Reader:
        """Cut the source into sentences; each is tokenized once."""
        return Prepared(self._scores, sentences(source, self.entailment))

    def _scores(self, claims: Sequence[str], documents: Sequence[Sequence[Passage]]) -> list[Score]:
        """Score each claim, with the sentences of its final premise as citations; NaN for a blank source.

        Raises: ClaimTooLongError for a claim that leaves no room for a premise.
        """
        growths = [[self._growth(claim, document) for document in documents] for claim in claims]
        flat = [growth for of_claim in growths for growth in of_claim]
        self._rank(flat)
        while growing := [growth for growth in flat if not growth.over]:
            self._grow(growing)
        return [best([self._score(growth) for growth in of_claim]) for of_claim in growths]

    def _growth(self, claim: str, document: Sequence[Passage]) -> _Growth:
        size = room(claim, self.entailment)
        return _Growth(claim, size, fitted(document, size, self.entailment))

    def _rank(self, growths: Sequence[_Growth]) -> None:
        """Rank the sentences by the judge, with `reverse` in both directions; this also gives each first step."""
        forward: list[Pair] = [(p.text, growth.claim) for growth in growths for p in growth.passages]
        backward: list[Pair] = [(claim, text) for text, claim in forward] if self.reverse else []
        if not forward:
            return
        judged = self.entailment.classify(forward + backward)
        rank = judged[: len(forward), 0] + (judged[len(forward) :, 0] if self.reverse else 0.0)
        start = 0
        for growth in growths:
            end = start + len(growth.passages)
            growth.forward = judged[start:end]
            growth.order = ranked(rank[start:end])
            growth.take(growth.forward[growth.order[:1]], self.margin)
            start = end

    def _grow(self, growths: Sequence[_Growth]) -> None:
        """Evaluate the next steps of all growths in one model call."""
        batches = [list(self._next_premises(growth)) for growth in growths]
        pairs = [(premise, growth.claim) for growth, batch in zip(growths, batches, strict=True) for premise in batch]
        judged = self.entailment.classify(pairs) if pairs else np.empty((0, 3))
        start = 0
        for growth, batch in zip(growths, batches, strict=True):
            growth.take(judged[start : start + len(batch)], self.margin)
            growth.over = growth.over or len(batch) < self.ahead
            start += len(batch)

    def _next_premises(self, growth: _Growth) -> Iterator[str]:
        last = min(len(growth.order), self.max_sentences)
        for step in range(growth.steps, min(growth.steps + self.ahead, last)):
            premise = joined(growth.premise(step))
            if len(self.entailment.offsets(premise)) > growth.size:
                return
            yield premise

    def _score(self, growth: _Growth) -> Score:
        alone = dict(zip(growth.passages, growth.forward[:, 0].tolist(), strict=True))
        used = [] if growth.kept < 0 else growth.premise(growth.kept)
        return Score(growth.value, cited(used, alone.__getitem__))
