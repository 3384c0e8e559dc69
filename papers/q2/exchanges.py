"""One question of Q², its two answers and their score (section 2, "Similarity Measure and Final Scores").

`groundrail.papers.q2.q2` asks the questions. `Tally` has the measures over many responses.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from groundrail.types import Citation

Label: TypeAlias = Literal["entailment", "neutral", "contradiction"]

_LEFT_OUT = re.compile(r"\b(?:a|an|the|in|our)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question with the answers of the claim and of the source, and their score.

    f1: token F1 of the two answers; 0 if the source has no answer.
    label: the NLI label of differing answers; None if NLI was not asked.
    score: 1 for entailment, 0 for contradiction, else `f1`.
    citation: the source sentence with the answer; None without an answer.
    """

    question: str
    claim_answer: str
    source_answer: str | None
    f1: float
    label: Label | None
    score: float
    citation: Citation | None


def normalised(text: str) -> list[str]:
    """Words in lower case, without punctuation and without a, an, the, in, our, as in the authors' program."""
    return _LEFT_OUT.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def token_f1(one: str, other: str) -> float:
    """F1 over normalised tokens with multiplicity; 0 if no token is shared."""
    ours, theirs = Counter(normalised(one)), Counter(normalised(other))
    shared = (ours & theirs).total()
    return 2 * shared / (ours.total() + theirs.total()) if shared else 0.0


def response_score(exchanges: Sequence[Exchange], nli: bool = True, discard: bool = False) -> float:
    """The mean score over a response's questions, NaN without questions.

    nli: False takes the token F1 of differing answers (the paper's Q²); True takes the NLI label too (Q² + NLI).
    discard: leave out questions that the source does not answer if it answers another question (Q²*, section 6.4).
    """
    answered = [exchange for exchange in exchanges if exchange.source_answer is not None]
    counted = answered if discard and answered else exchanges
    if not counted:
        return math.nan
    return math.fsum(exchange.score if nli else exchange.f1 for exchange in counted) / len(counted)


@dataclass(frozen=True, slots=True)
class Tally:
    """Q²'s measures over many responses (tables 2, 5 and 7): means over those with a valid question, NaN without any.

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
