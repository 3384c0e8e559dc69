"""A baseline without a model: the share of a claim's words that occur in the source.

It is strong on extractive summaries and does not notice a swapped number or name.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from groundrail.errors import InputError
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.types import Document, Source, as_documents

Measure: TypeAlias = Literal["precision", "f1"]

_WORD = re.compile(r"\w+")

_Counted: TypeAlias = list[tuple[Document, Counter[str], Sequence[tuple[int, int, Counter[str]]]]]
"""Documents with their word counts, and start, end and word counts of their sentences."""


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _overlap(claim: Counter[str], premise: Counter[str], measure: Measure) -> float:
    if not claim:
        return math.nan
    shared = (claim & premise).total()
    if measure == "precision":
        return shared / claim.total()
    return 2 * shared / (claim.total() + premise.total())


class OverlapScorer(Scorer):
    """Overlap of the words of claim and source, counted with multiplicity; case is ignored.

        OverlapScorer("f1").score(["The rent is 900 euros."], "The rent is 900 euros.")

    measure: "precision" is the share of the claim's words that occur in one document; "f1" is the best token F1 with a
        single source sentence. Both cite the sentence with the best overlap.
    """

    def __init__(self, measure: Measure = "precision") -> None:
        if measure not in ("precision", "f1"):
            raise InputError(f"overlap is measured by 'precision' or 'f1', not {measure!r}")
        self.measure: Measure = measure

    def read(self, source: Source) -> Reader:
        """Count the words of each document and of its sentences."""
        from groundrail.text.sentences import split

        prepared: _Counted = []
        for document in as_documents(source):
            whole = _words(document.text)
            if whole:
                sentences = [(part.start, part.end, _words(part.text)) for part in split(document.text)]
                prepared.append((document, whole, sentences))
        return Prepared(self._score, prepared)

    def _score(self, claims: Sequence[str], counted: _Counted) -> list[Score]:
        """Score each claim by the best document; NaN for a claim or source without words."""
        return [self._one(_words(claim), counted) for claim in claims]

    def _one(self, claim: Counter[str], counted: _Counted) -> Score:
        best = Score(math.nan)
        for document, whole, sentences in counted:
            found = [(_overlap(claim, words, self.measure), start, end) for start, end, words in sentences]
            overlap, start, end = max(found, key=lambda item: item[0])
            value = overlap if self.measure == "f1" else _overlap(claim, whole, "precision")
            if math.isnan(best.value) or value > best.value:
                best = Score(value, (document.cite(start, end, overlap),) if overlap > 0 else ())
        return best
