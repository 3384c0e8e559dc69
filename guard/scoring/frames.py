"""Weigh a claim by the frame of its citation: the sentences around it, which may take back what it says.

"Some people say that the bridge collapsed in 1998. This is wrong." does not support that the bridge collapsed, though
its first sentence alone seems to. The judge is asked about the claim once more, beside the cited sentence in its frame.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from groundrail.entailment.base import EntailmentModel, Pair
from groundrail.runtime.progress import begin
from groundrail.scoring.base import Score
from groundrail.scoring.index import SentenceIndex
from groundrail.scoring.passages import joined, room
from groundrail.scoring.weighing import log_odds

FRAMES = 0.5
"""Weight of the log-odds that a claim has less in the frame; chosen on development sets (docs/method.md)."""

FRAME_TOKENS = 200
"""Maximum number of tokens of a frame."""


def weigh_frames(
    claims: Sequence[str],
    scores: Sequence[Score],
    cited: Sequence[int | None],
    index: SentenceIndex,
    entailed: Callable[[Sequence[Pair]], Iterable[float]],
    model: EntailmentModel,
    weight: float,
) -> list[Score]:
    """Lower the score of each claim that is less likely in the frame of its citation.

    The claim's log-odds lose `weight` times what the score has more than the frame. A sentence that is alone in its
    document has no frame.

    Args:
        scores: One for each claim; NaN stays NaN.
        cited: The place in `index` of each claim's citation, None where it has none.
        entailed: P(premise entails claim) for each pair.
        model: The judge behind `entailed`: a frame has no more tokens than it reads beside the claim.
    """
    asked: list[tuple[int, Pair]] = []
    for number, (claim, place) in enumerate(zip(claims, cited, strict=True)):
        if place is not None:
            places = index.frame(place, min(FRAME_TOKENS, room(claim, model)))
            if len(places) > 1:
                asked.append((number, (joined([index.passages[each] for each in places]), claim)))
    weighed = list(scores)
    if not asked:
        return weighed
    begin("judging", len(asked))
    for (number, _), framed in zip(asked, entailed([pair for _, pair in asked]), strict=True):
        value = scores[number].value
        if framed < value:
            less = log_odds(value) - weight * (log_odds(value) - log_odds(framed))
            weighed[number] = replace(scores[number], value=min(value, (1 + math.tanh(less / 2)) / 2))
    return weighed
