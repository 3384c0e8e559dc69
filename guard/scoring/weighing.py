"""Scores from probabilities: log-odds, the choice of a citation, contradictions and rivals. All scorers of the guard share it.

A rival of a claim is the same claim with another figure that a source sentence gives. "The rent is 1,650 euros" has the
rival "The rent is 1,450 euros" where a sentence says 1,450. A small judge often finds both likely, but it finds the right
figure likelier. If 1,650 also stands nowhere in the source and follows from nothing there, a likely rival alone weighs
against the claim. `groundrail.facts.rivals` says which rivals a sentence offers.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from groundrail.entailment.asking import Asking
from groundrail.entailment.base import FloatArray
from groundrail.entailment.remembered import Remembered
from groundrail.facts.cells import misplaced
from groundrail.facts.invented import invented
from groundrail.facts.mentions import mentions
from groundrail.facts.missing import is_stated
from groundrail.facts.rivals import exchanged
from groundrail.runtime.progress import begin
from groundrail.scoring.base import Score
from groundrail.scoring.index import Places, SentenceIndex
from groundrail.text.context import MARK, in_context
from groundrail.text.english.language import is_english
from groundrail.types import Citation

RIVALS = 0.5
"""Weight of the difference between the log-odds of rival and claim; chosen on development sets (docs/method.md)."""

INVENTED = 2.0
"""Log-odds that a claim loses for an invented figure that has a likely rival; chosen on development sets (docs/method.md)."""

MOST_RIVALS = 4
"""Maximum number of rivals that the judge is asked about for one claim."""

ALONE = 0.25
"""Weight of a sentence beside the sentences that it is read together with; chosen on development sets (docs/method.md)."""

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


def between(together: float, alone: float) -> float:
    """The mean of two probabilities in log-odds: of a claim from sentences read together, and from a sentence alone.

    `ALONE` weighs the second. Between 0 and 1 the mean is 0.5.

    >>> between(0.5, 0.5)
    0.5
    """
    likely = together ** (1 - ALONE) * alone**ALONE
    unlikely = (1 - together) ** (1 - ALONE) * (1 - alone) ** ALONE
    return likely / (likely + unlikely) if likely or unlikely else 0.5


def citable(probability: float, likeness: float) -> float:
    """Rank of a sentence as a citation: log-odds plus weighted likeness to the claim.

    Args:
        probability: P(entailment) of the claim from the sentence.
        likeness: Likeness of the words of sentence and claim, as a share of the greatest likeness, in [0, 1].
    """
    return log_odds(probability) + LIKENESS * likeness


def conflict(known: Mapping[Places, FloatArray], index: SentenceIndex) -> Citation | None:
    """The contradicting sentence with the lowest P(neutral), if contradiction is likelier than not and than entailment.

    known: entailment, neutral, contradiction of the premises that were read, each (3,).
    """
    alone = {places[0]: row for places, row in known.items() if len(places) == 1}
    said = max((float(row[0]) for row in alone.values()), default=0.0)
    contradicting = {place: row for place, row in alone.items() if row[2] > max(said, 0.5)}
    if not contradicting:
        return None
    place = min(contradicting, key=lambda place: float(contradicting[place][1]))
    return index.passages[place].cite(float(contradicting[place][2]))


class _Rival(NamedTuple):
    """`invented`: whether it takes the place of an invented figure, or of one that stands in another cell."""

    place: int
    claim: str
    invented: bool


def weigh_rivals(
    claims: Sequence[str],
    scores: Sequence[Score],
    read: Sequence[Sequence[int]],
    index: SentenceIndex,
    model: Remembered,
    *,
    weight: float = RIVALS,
    charge: float = INVENTED,
) -> Asking[list[Score]]:
    """Lower the score of each claim that has a likelier rival, or an invented figure with a likely rival.

    A claim is compared with its rivals if its citation does not state all its figures. If a rival is likelier than the
    claim, the claim's log-odds are lowered by `weight` times the difference. If a rival of an invented figure
    (`groundrail.facts.invented`), or of one that another cell of a table holds than the one that the claim names
    (`groundrail.facts.cells`), is entailed (P > 0.5), they are lowered by `charge` at least. The rival that costs most
    counts, and its sentence becomes the conflict if it entails the rival. Claims in other languages than English have
    no rivals.

    Args:
        scores: One for each claim; NaN stays NaN.
        read: The sentences that were read alone for each claim.
        model: The judge that is asked about rivals; a rival that does not fit beside its sentence is left out.
    """
    asked = [
        (number, rival)
        for number, (claim, places) in enumerate(zip(claims, read, strict=True))
        if (weight or charge) and is_english(claim)
        for rival in islice(_rivals(claim, scores[number], places, index), MOST_RIVALS)
    ]
    weighed, lost = list(scores), [0.0] * len(scores)
    if not asked:
        return weighed
    begin("judging", len(asked))
    pairs = [(index.text((rival.place,)), rival.claim) for _, rival in asked]
    rows = yield from model.asking(pairs)
    for (number, rival), likely in zip(asked, rows[:, 0], strict=True):
        value = scores[number].value
        loss = _loss(value, likely, weight, charge if rival.invented else 0.0)
        if loss > lost[number] and not math.isnan(value):
            lost[number] = loss
            lowered = min(value, (1 + math.tanh((log_odds(value) - loss) / 2)) / 2)
            conflict = index.passages[rival.place].cite(float(likely)) if likely > 0.5 else scores[number].conflict
            weighed[number] = replace(scores[number], value=lowered, conflict=conflict)
    return weighed


def _loss(value: float, likely: float, weight: float, charge: float) -> float:
    """Log-odds that a claim loses by one rival; none by a rival without a number."""
    more = weight * (log_odds(likely) - log_odds(value)) if likely > value else 0.0
    return max(more, charge) if likely > 0.5 else more


def _cites_its_figures(claim: str, score: Score) -> bool:
    return all(any(is_stated(figure, cited.text) for cited in score.citations) for figure in mentions(claim))


def _rivals(claim: str, score: Score, places: Sequence[int], index: SentenceIndex) -> Iterator[_Rival]:
    """Rivals in the cells that the claim names; if the citation does not state all figures, rivals of invented figures, then
    the others; of each, the most similar sentence's first. Each stands in the context of the claim."""
    context, _, words = claim.rpartition(MARK)
    found = [_Rival(each.cell, each.claim, True) for each in misplaced(words, index.cells)]
    if not _cites_its_figures(words, score):
        found += sorted(_exchanged(claim, places, index), key=lambda rival: not rival.invented)
    for rival in found:
        rival = rival._replace(claim=in_context(rival.claim, context))
        if index.fits(rival.place, rival.claim):
            yield rival


def _exchanged(claim: str, places: Sequence[int], index: SentenceIndex) -> Iterator[_Rival]:
    context, _, words = claim.rpartition(MARK)
    likeness = index.likeness(claim)
    ranked = sorted(places, key=lambda place: (-likeness[place], place))
    texts = {place: index.passages[place].text for place in ranked}
    given = [*texts.values(), context]  # the user's own figures are not invented
    without_ground = {figure.meaning for figure in invented(words, given, lambda: index.stated)}
    for place, text in texts.items():
        for rival in exchanged(words, text):
            yield _Rival(place, rival.claim, rival.meaning in without_ground)
