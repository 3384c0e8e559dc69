"""Rivals of a claim's figure: the other figures of the same kind that a premise gives.

Reads no meaning: whether a rival fits the claim better than its own figure is a model's to say.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groundrail.facts.mentions import Meaning, Mention, mentions, opens


def rivals(mine: Mention, claim: str, premise: str) -> Iterator[Mention]:
    """The premise's figures of the kind of `mine`, one of the claim's, that the claim has nowhere, in order."""
    own = {mention.meaning for mention in mentions(claim)}
    for other in mentions(premise):
        if other.meaning not in own and _sort(other) == _sort(mine) and not opens(other, premise):
            yield other


class Exchanged(NamedTuple):
    """A claim with the figure that meant `meaning` exchanged for a rival."""

    claim: str
    meaning: Meaning


def exchanged(claim: str, premise: str) -> list[Exchanged]:
    """The claim with one of its figures, wherever it says it, exchanged for a rival in the premise's words."""
    places: dict[Meaning, list[Mention]] = {}
    for mine in mentions(claim):
        places.setdefault(mine.meaning, []).append(mine)
    found: dict[tuple[Meaning, Meaning], Exchanged] = {}
    for meaning, same in places.items():
        for other in rivals(same[0], claim, premise):
            said = _with(claim, same, premise[other.start : other.end])
            found.setdefault((meaning, other.meaning), Exchanged(said, meaning))
    return list(found.values())


def _with(claim: str, places: Sequence[Mention], words: str) -> str:
    ends = [0, *(place.end for place in places)]
    starts = [*(place.start for place in places), len(claim)]
    return words.join(claim[end:start] for end, start in zip(ends, starts, strict=True))


def _sort(mention: Mention) -> tuple[object, ...]:
    """The kind of figures that compete: quantities of one family, or other figures of one kind."""
    kind = mention.meaning[0]
    return mention.meaning[:2] if kind == "quantity" else (kind,)
