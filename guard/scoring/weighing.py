"""Probabilities in log-odds: the mean of two, and the rank of a sentence as a citation.

The scorers choose the sentences. How a claim is weighed against its rivals is in `groundrail.scoring.rivals`.
"""

import math

LIKENESS = 6.0
"""Log-odds that a sentence gains as a citation if its words are the most like the claim's; chosen on development sets
(docs/method.md)."""

_EDGE = 1e-6


def log_odds(probability: float) -> float:
    """The logarithm of p / (1 - p), finite also for 0 and 1.

    >>> log_odds(0.5)
    0.0
    """
    kept = min(max(probability, _EDGE), 1 - _EDGE)
    return math.log(kept / (1 - kept))


def between(first: float, second: float) -> float:
    """The mean of two probabilities in log-odds; 0.5 between 0 and 1.

    >>> between(0.5, 0.5)
    0.5
    """
    both = math.sqrt(first * second)
    neither = math.sqrt((1 - first) * (1 - second))
    return both / (both + neither) if both or neither else 0.5


def citable(probability: float, likeness: float) -> float:
    """Rank of a sentence as a citation: log-odds plus weighted likeness to the claim.

    Args:
        probability: P(entailment) of the claim from the sentence.
        likeness: Likeness of the words of sentence and claim, as a share of the greatest likeness, in [0, 1].
    """
    return log_odds(probability) + LIKENESS * likeness
