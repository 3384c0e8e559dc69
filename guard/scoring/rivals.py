"""Weigh a claim against its rivals: the same claim with another figure that a source sentence gives.

"The rent is 1,650 euros" has the rival "The rent is 1,450 euros" where a sentence says 1,450. A small judge often finds both
likely, but it finds the right figure likelier. If 1,650 also stands nowhere in the source and follows from nothing there, a
likely rival alone weighs against the claim. `groundrail.text.facts.rivals` says which rivals a sentence offers.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, Protocol

from groundrail.entailment.base import EntailmentModel
from groundrail.runtime.progress import begin
from groundrail.scoring.base import Score
from groundrail.scoring.passages import Passage
from groundrail.scoring.weighing import log_odds
from groundrail.text.english.language import is_english
from groundrail.text.facts.invented import Stated, invented
from groundrail.text.facts.mentions import mentions
from groundrail.text.facts.missing import is_stated
from groundrail.text.facts.rivals import exchanged

RIVALS = 0.5
"""Weight of the difference between the log-odds of rival and claim; chosen on development sets (docs/method.md)."""

INVENTED = 2.0
"""Log-odds that a claim loses for an invented figure that has a likely rival; chosen on development sets (docs/method.md)."""

MOST_RIVALS = 4
"""Maximum number of rivals that the judge is asked about for one claim."""


class ReadSource(Protocol):
    """A source that tells what is stated in it."""

    @property
    def stated(self) -> Stated: ...


class _Rival(NamedTuple):
    """`invented`: whether it takes the place of an invented figure."""

    passage: Passage
    claim: str
    invented: bool


def weigh_rivals(
    claims: Sequence[str],
    scores: Sequence[Score],
    read: Sequence[Sequence[Passage]],
    source: ReadSource,
    model: EntailmentModel,
    *,
    weight: float = RIVALS,
    charge: float = INVENTED,
) -> list[Score]:
    """Lower the score of each claim that has a likelier rival, or an invented figure with a likely rival.

    A claim is compared with its rivals if its citation does not state all its figures. If a rival is likelier than the
    claim, the claim's log-odds are lowered by `weight` times the difference. If a rival of an invented figure
    (`groundrail.text.facts.invented`) is entailed (P > 0.5), they are lowered by `charge` at least. The rival that costs most
    counts, and its sentence becomes the conflict if it entails the rival. Claims in other languages than English have
    no rivals.

    Args:
        scores: One for each claim; NaN stays NaN.
        read: The sentences that were read alone for each claim, the likest first.
        source: The source of these sentences.
        model: The judge that is asked about rivals; a rival that does not fit beside its sentence is left out.
    """
    asked = [
        (number, rival)
        for number, (claim, passages) in enumerate(zip(claims, read, strict=True))
        if is_english(claim) and not _cites_its_figures(claim, scores[number])
        for rival in islice(_rivals(claim, passages, source, model), MOST_RIVALS)
    ]
    weighed, lost = list(scores), [0.0] * len(scores)
    if not asked:
        return weighed
    begin("judging", len(asked))
    pairs = [(rival.passage.text, rival.claim) for _, rival in asked]
    for (number, rival), likely in zip(asked, model.entailment(pairs), strict=True):
        value = scores[number].value
        loss = _loss(value, likely, weight, charge if rival.invented else 0.0)
        if loss > lost[number] and not math.isnan(value):
            lost[number] = loss
            lowered = min(value, (1 + math.tanh((log_odds(value) - loss) / 2)) / 2)
            conflict = rival.passage.cite(float(likely)) if likely > 0.5 else scores[number].conflict
            weighed[number] = replace(scores[number], value=lowered, conflict=conflict)
    return weighed


def _loss(value: float, likely: float, weight: float, charge: float) -> float:
    """Log-odds that a claim loses by one rival; none by a rival without a number."""
    more = weight * (log_odds(likely) - log_odds(value)) if likely > value else 0.0
    return max(more, charge) if likely > 0.5 else more


def _cites_its_figures(claim: str, score: Score) -> bool:
    return all(any(is_stated(figure, cited.text) for cited in score.citations) for figure in mentions(claim))


def _rivals(claim: str, passages: Sequence[Passage], source: ReadSource, model: EntailmentModel) -> Iterator[_Rival]:
    """Rivals of invented figures first, then the others; of each, the likest sentence's first."""
    without_ground = {
        figure.meaning for figure in invented(claim, [each.text for each in passages], lambda: source.stated)
    }
    found = [
        _Rival(passage, rival.claim, rival.meaning in without_ground)
        for passage in passages
        for rival in exchanged(claim, passage.text)
    ]
    for rival in sorted(found, key=lambda rival: not rival.invented):
        if rival.passage.tokens + len(model.offsets(rival.claim)) <= model.max_tokens:
            yield rival
