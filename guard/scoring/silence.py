"""Claims that the source does not say something: they are as true as the piece of the source that speaks most against them.

"The lease does not say whether pets are allowed." is supported if no piece that was read says it. So the least of the
probabilities counts, where for other claims the best does, and there is nothing to cite.
"""

import math
from collections.abc import Sequence

import numpy as np

from groundrail.entailment.base import EntailmentModel
from groundrail.runtime.progress import begin
from groundrail.scoring.base import Score
from groundrail.scoring.index import TOGETHER, Places, SentenceIndex

NEAREST = 4
"""Number of sentences that are read one by one."""

NOTE = "nothing that was read says it"


def score_silence(claims: Sequence[str], index: SentenceIndex, model: EntailmentModel, chunk_tokens: int) -> list[Score]:
    """Score each claim against the likeliest chunk, the nearest sentences together, and the nearest ones alone.

    NaN where the source is blank or the model gives no number. The sentence with the lowest probability is the conflict if
    the claim is not likelier than not. Raises: ClaimTooLongError for a claim that leaves no room for a premise.
    """
    if not index.passages:
        return [Score(math.nan) for _ in claims]
    read = [_premises(claim, index, chunk_tokens) for claim in claims]
    asked = [(number, places) for number, some in enumerate(read) for places in some]
    begin("judging", len(asked))
    found = model.entailment([(index.text(places), claims[number]) for number, places in asked])
    scores = []
    for number in range(len(claims)):
        judged = {places: float(value) for (n, places), value in zip(asked, found, strict=True) if n == number}
        value = min(judged.values(), default=math.nan)
        against = min((places for places in judged if len(places) == 1), key=judged.__getitem__, default=None)
        says_it = against is not None and judged[against] < 0.5
        conflict = index.passages[against[0]].cite(1 - judged[against]) if against is not None and says_it else None
        scores.append(Score(value, conflict=conflict, note=NOTE if value >= 0.5 else None))
    return scores


def _premises(claim: str, index: SentenceIndex, chunk_tokens: int) -> list[Places]:
    size, likeness = index.room(claim), index.likeness(claim)
    chunks = index.chunks(min(chunk_tokens, size))
    likeliest = max(chunks, key=lambda chunk: float(likeness[list(chunk)].sum()), default=None)
    fitting = [int(n) for n in np.argsort(-likeness, kind="stable") if index.tokens[n] <= size][:NEAREST]
    together = [index.window(fitting[0], index.in_context(likeness), min(TOGETHER, size))] if fitting else []
    return list(dict.fromkeys([*([likeliest] if likeliest else []), *together, *((place,) for place in fitting)]))
