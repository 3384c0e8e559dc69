"""The seam to scorers: how far does a source support a claim, and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from groundrail.types import Citation, Source


@dataclass(frozen=True, slots=True)
class Score:
    """`value` in [0, 1] for entailment scorers, NaN where the model gave none; best citation first."""

    value: float
    citations: tuple[Citation, ...] = ()


@runtime_checkable
class Scorer(Protocol):
    """Anything that scores claims against documents.

    A scorer may also carry `threshold: float` (0.5 where it does not), an async twin `ascore` with the same
    signature, and `takes_context = True`: a claim joined with the sentence before it scores no higher than
    either. Scorers that average over a claim's words or parts cannot say so.
    """

    def score(self, claims: Sequence[str], source: Source) -> list[Score]:
        """One `Score` a claim, in order. Documents are scored apart: a chunk never crosses two."""
        ...
