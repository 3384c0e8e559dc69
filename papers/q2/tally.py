"""Q²'s measures over many responses (tables 2, 5 and 7): scores with and without NLI, coverage, silence.

They are computed from the exchanges that `groundrail.papers.q2.q2.Q2Scorer.exchanges` returns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from groundrail.papers.q2.exchanges import Exchange, response_score


@dataclass(frozen=True, slots=True)
class Tally:
    """Means over the responses that have a valid question, NaN if there are none.

    responses, covered: number of all responses, and of responses with a valid question.
    f1, nli: the paper's Q², and Q² + NLI.
    star: the paper's Q²* + NLI (section 6.4), which leaves out unanswered questions if another has an answer.
    questions, unanswered: number of valid questions, and of questions without an answer in the source.
    """

    responses: int
    covered: int
    questions: int
    unanswered: int
    f1: float
    nli: float
    star: float

    @property
    def coverage(self) -> float:
        """The share of responses with a valid question (appendix B)."""
        return self.covered / self.responses if self.responses else math.nan

    @property
    def silence(self) -> float:
        """The share of questions without an answer in the source (table 2)."""
        return self.unanswered / self.questions if self.questions else math.nan


def tally(responses: Sequence[Sequence[Exchange]]) -> Tally:
    """Count and average the exchanges of each response."""
    covered = [of_one for of_one in responses if of_one]

    def mean(nli: bool, discard: bool) -> float:
        return fmean(response_score(of_one, nli, discard) for of_one in covered) if covered else math.nan

    return Tally(
        responses=len(responses),
        covered=len(covered),
        questions=sum(map(len, covered)),
        unanswered=sum(exchange.source_answer is None for of_one in covered for exchange in of_one),
        f1=mean(nli=False, discard=False),
        nli=mean(nli=True, discard=False),
        star=mean(nli=True, discard=True),
    )
