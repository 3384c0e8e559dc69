"""Weigh a claim against its rivals: the same claim with another figure that a source sentence gives.

"The rent is 1,650 euros" has the rival "The rent is 1,450 euros" where a sentence says 1,450. A small judge often finds both
likely, but it finds the right figure likelier. `groundrail.text.facts.rivals` says which rivals a sentence offers.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from groundrail.entailment.base import EntailmentModel, Pair
from groundrail.runtime.progress import begin
from groundrail.scoring.base import Score
from groundrail.scoring.passages import Passage
from groundrail.scoring.weighing import log_odds
from groundrail.text.english.language import is_english
from groundrail.text.facts.mentions import mentions
from groundrail.text.facts.missing import is_stated
from groundrail.text.facts.rivals import exchanged

RIVALS = 0.5
"""Weight of the difference between the log-odds of rival and claim; chosen on development sets (docs/method.md)."""

MOST_RIVALS = 4
"""Maximum number of rivals that the judge is asked about for one claim."""


def weigh_rivals(
    claims: Sequence[str],
    scores: Sequence[Score],
    read: Sequence[Sequence[Passage]],
    entailed: Callable[[Sequence[Pair]], Iterable[float]],
    model: EntailmentModel,
    weight: float,
) -> list[Score]:
    """Lower the score of each claim that has a likelier rival.

    A claim is compared with its rivals if its citation does not state all its figures. If the likeliest rival is
    likelier than the claim, the claim's log-odds are lowered by `weight` times the difference. The sentence that gives
    this rival becomes the conflict if it entails the rival (P > 0.5). Claims in other languages than English have no
    rivals.

    Args:
        scores: One for each claim; NaN stays NaN.
        read: The sentences that were read alone for each claim, the likest first.
        entailed: P(premise entails claim) for each pair.
        model: The judge behind `entailed`: a rival that does not fit beside its sentence is left out.
    """
    asked = [
        (number, passage, (passage.text, rival))
        for number, (claim, passages) in enumerate(zip(claims, read, strict=True))
        if is_english(claim) and not _cites_its_figures(claim, scores[number])
        for passage, rival in islice(_rivals(claim, passages, model), MOST_RIVALS)
    ]
    if not asked:
        return list(scores)
    begin("judging", len(asked))
    weighed = list(scores)
    likeliest = dict.fromkeys((number for number, _, _ in asked), 0.0)
    for (number, passage, _), rival in zip(asked, entailed([pair for *_, pair in asked]), strict=True):
        value = scores[number].value
        if not rival > max(likeliest[number], value):  # a rival without a number does not count
            continue
        likeliest[number] = float(rival)
        less = log_odds(value) - weight * (log_odds(rival) - log_odds(value))
        conflict = passage.cite(float(rival)) if rival > 0.5 else scores[number].conflict
        weighed[number] = replace(scores[number], value=min(value, (1 + math.tanh(less / 2)) / 2), conflict=conflict)
    return weighed


def _cites_its_figures(claim: str, score: Score) -> bool:
    return all(any(is_stated(figure, cited.text) for cited in score.citations) for figure in mentions(claim))


def _rivals(claim: str, passages: Sequence[Passage], model: EntailmentModel) -> Iterator[tuple[Passage, str]]:
    """Each rival beside the sentence that gives it, the likest sentence first."""
    for passage in passages:
        for rival in exchanged(claim, passage.text):
            if passage.tokens + len(model.offsets(rival)) <= model.max_tokens:
                yield passage, rival
