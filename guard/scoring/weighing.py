"""Probabilities weighed against each other in log-odds: two that count alike, a claim and its rivals, a citation's words.

Which sentences are weighed belongs to the scorers; which rivals a claim has is `groundrail.text.facts.rivals`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from groundrail.entailment.base import EntailmentModel, Pair
from groundrail.runtime.progress import begin
from groundrail.scoring.passages import Passage
from groundrail.text.english.language import is_english
from groundrail.text.facts.rivals import exchanged

LIKENESS = 6.0
"""Log-odds that a citation gains for being, of the sentences read, the one whose words are most like the claim's; chosen
on development sets (docs/benchmarks.md)."""

RIVALS = 1.0
"""Log-odds that a sentence loses for each log-odds by which a rival of the claim is likelier; chosen on development sets
(docs/benchmarks.md)."""

_MOST_RIVALS = 4
_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class Stated:
    """A claim, the sentence that states it best, and P(entailment) of the claim from that sentence."""

    claim: str
    sentence: Passage
    probability: float


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
    """A sentence's rank as a citation: its log-odds and its likeness to the claim, a share of the greatest, together."""
    return log_odds(probability) + LIKENESS * likeness


def against_rivals(
    stated: Sequence[Stated], weight: float, model: EntailmentModel, judge: Callable[[Sequence[Pair]], Iterable[float]]
) -> list[float]:
    """P(entailment) of each claim from its sentence, lowered where a rival is likelier there; one call of `judge` for all.

    A rival is the claim with another of the sentence's figures in place of its own, four at most. The claim's log-odds
    lose `weight` times the difference. In other languages than English no rival is known.
    """
    asked = [
        (number, (one.sentence.text, rival))
        for number, one in enumerate(stated)
        if weight and is_english(one.claim)
        for rival in islice(exchanged(one.claim, one.sentence.text), _MOST_RIVALS)
        if one.sentence.tokens + len(model.offsets(rival)) <= model.max_tokens
    ]
    likeliest = [0.0] * len(stated)
    if asked:
        begin("judging", len(asked))
        for (number, _), probability in zip(asked, judge([pair for _, pair in asked]), strict=True):
            likeliest[number] = max(likeliest[number], float(probability))
    return [_lowered(one.probability, weight, rival) for one, rival in zip(stated, likeliest, strict=True)]


def _lowered(probability: float, weight: float, rival: float) -> float:
    more = log_odds(rival) - log_odds(probability)
    if not more > 0:
        return probability
    return min(probability, (1 + math.tanh((log_odds(probability) - weight * more) / 2)) / 2)
