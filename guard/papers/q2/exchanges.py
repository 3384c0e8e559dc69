"""One question of Q², its two answers and what they are worth (section 2, "Similarity Measure and Final Scores").

Asking is left to `groundrail.papers.q2.q2`.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from groundrail.types import Citation

Label: TypeAlias = Literal["entailment", "neutral", "contradiction"]

_LEFT_OUT = re.compile(r"\b(?:a|an|the|in|our)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question, what the claim and what the source answer, and what that is worth.

    f1: token F1 of the two answers, 0 where the source has none.
    label: what NLI made of differing answers; None where it was not asked.
    score: 1 for entailment, 0 for contradiction, else `f1`.
    citation: the source sentence with the answer; None without one.
    """

    question: str
    claim_answer: str
    source_answer: str | None
    f1: float
    label: Label | None
    score: float
    citation: Citation | None


def normalised(text: str) -> list[str]:
    """Words in lower case without punctuation and without a, an, the, in, our, as the authors' program compares them."""
    return _LEFT_OUT.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def token_f1(one: str, other: str) -> float:
    """F1 over normalised tokens with multiplicity; 0 where nothing is shared."""
    ours, theirs = Counter(normalised(one)), Counter(normalised(other))
    shared = (ours & theirs).total()
    return 2 * shared / (ours.total() + theirs.total()) if shared else 0.0


def response_score(exchanges: Sequence[Exchange], nli: bool = True, discard: bool = False) -> float:
    """The mean over a response's questions, NaN without any.

    `nli` False takes the F1 of differing answers whatever NLI said (the paper's Q², else Q² + NLI); `discard` leaves
    out questions that the source does not answer where it answers another (section 6.4's Q²*).
    """
    answered = [exchange for exchange in exchanges if exchange.source_answer is not None]
    counted = answered if discard and answered else exchanges
    if not counted:
        return math.nan
    return math.fsum(exchange.score if nli else exchange.f1 for exchange in counted) / len(counted)
