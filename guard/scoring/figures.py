"""Lower the score of a claim whose figure stands nowhere in the source and follows from nothing there.

A small judge believes a wrong figure when the sentence around it is right. A figure of the claim is founded if the source states
it (`groundrail.text.facts.missing`) or if it follows from what was read for the claim (`groundrail.text.facts.derived`). It is a
weight and no veto: "twelve people" may stand for twelve names.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from groundrail.scoring.base import Score
from groundrail.scoring.rivals import log_odds
from groundrail.text.english.language import is_english
from groundrail.text.facts.derived import derivation
from groundrail.text.facts.mentions import Mention, mentions
from groundrail.text.facts.missing import is_stated

MOST_FIGURES = 2
"""Maximum number of unfounded figures that lower one claim: a claim with more is a list or a sum."""


def weigh_figures(
    claims: Sequence[str],
    scores: Sequence[Score],
    read: Sequence[Sequence[str]],
    documents: Callable[[], Sequence[str]],
    weight: float,
) -> list[Score]:
    """Scores whose log-odds lose `weight` for each unfounded figure, two at most. Claims in other languages keep theirs.

    Args:
        read: The premises that were read for each claim, in which figures may be combined.
        documents: Gives the texts of the whole source, asked only if no premise states a figure.
    """
    return [
        _lowered(score, weight * min(MOST_FIGURES, len(unfounded(claim, premises, documents))))
        for claim, score, premises in zip(claims, scores, read, strict=True)
    ]


def unfounded(claim: str, premises: Sequence[str], documents: Callable[[], Sequence[str]]) -> list[Mention]:
    """The claim's figures that no document states and that follow from no premise."""
    if not is_english(claim):
        return []
    found = [figure for figure in mentions(claim) if not any(is_stated(figure, premise) for premise in premises)]
    found = [figure for figure in found if not any(derivation(figure, premise) for premise in premises)]
    return [figure for figure in found if not any(is_stated(figure, text) for text in documents())] if found else []


def _lowered(score: Score, less: float) -> Score:
    if not less or math.isnan(score.value):
        return score
    value = min(score.value, (1 + math.tanh((log_odds(score.value) - less) / 2)) / 2)
    return replace(score, value=value)
