"""Find the invented figures of a claim: figures in digits that its source does not state and that follow from nothing there.

"Five nights cost 750 euros." invents nothing if the source says "150 euros a night": the claim itself poses the five nights.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from groundrail.facts.computed import computation
from groundrail.facts.derived import CLOSE, MOST, is_product, ways
from groundrail.facts.mentions import Mention, mentions, opens
from groundrail.facts.missing import Given, given_by

_DIGIT = re.compile(r"\d")
_MOST_RECKONED = 20
"""Maximum number of figures of a claim that are computed: each takes up to a few hundredths of a second."""


class Stated(NamedTuple):
    """All that a source states: its details, and its figures in order."""

    given: Given
    figures: Sequence[Mention]

    @classmethod
    def by(cls, premises: Iterable[str]) -> "Stated":
        """Collect the details and figures that the premises state together."""
        texts = list(premises)
        return cls(given_by(texts), [figure for text in texts for figure in mentions(text)])


def invented(claim: str, read: Sequence[str], source: Callable[[], Stated]) -> list[Mention]:
    """The claim's figures in digits that the source does not state and that cannot be computed from its figures.

    A figure can be computed from figures that were read, from the source's if they are 40 at most, or as the product or
    quotient of a figure that was read and another figure of the claim. In a claim of more than 20 figures none can.

    Args:
        read: The sentences of the source that were read.
        source: The figures of the whole source; only called if the sentences that were read do not state a figure.

    >>> lease = ["The rent is 1,450 euros a month."]
    >>> [each.meaning[2] for each in invented("The rent is 1,650 euros.", lease, lambda: Stated.by(lease))]
    [1650.0]
    """
    figures, known = mentions(claim), given_by(read)
    found = [
        figure
        for figure in figures
        if _DIGIT.search(claim, figure.start, figure.end) and not opens(figure, claim) and not known.states(figure)
    ]
    found = [figure for figure in found if not source().given.states(figure)]
    if len(figures) > _MOST_RECKONED:
        return found
    premise = "\n".join(read)
    return [
        figure
        for figure in found
        if not computation(figure, claim, [premise], roughly=True)
        and not _posed(figure, figures, mentions(premise)[:MOST])
        and not _follows(figure, source().figures)
    ]


def _follows(figure: Mention, given: Sequence[Mention]) -> bool:
    """Whether it follows from all figures of a source, if they are few: of many figures, any number follows."""
    return len(given) <= MOST and next(ways(figure, given, CLOSE), None) is not None


def _posed(figure: Mention, figures: Sequence[Mention], given: Sequence[Mention]) -> bool:
    """Whether another figure of the claim is its product with a given figure, or it is the other's."""
    return any(
        is_product(product, factor, each)
        for other in figures
        if other.meaning != figure.meaning
        for product, factor in ((figure, other), (other, figure))
        for each in given
    )
