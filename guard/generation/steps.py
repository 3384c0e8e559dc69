"""The steps that the guard's loop asks its driver to do.

The loop is in `groundrail.generation.loop`; the drivers are in `groundrail.generation.drivers`.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from groundrail.types import CheckedSentence, GuardResult


@dataclass(frozen=True, slots=True)
class Start:
    """Have the generator start its session. Send nothing back."""

    timeout: float | None


@dataclass(frozen=True, slots=True)
class NextPiece:
    """Send the next piece of text, or None at the end of the answer. `anew`: call `propose` first."""

    anew: bool
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Judge:
    """Send one `Score` for each claim: exact, or good enough to tell which claims reach `threshold`."""

    claims: Sequence[str]
    timeout: float | None
    threshold: float | None


@dataclass(frozen=True, slots=True)
class Accept:
    """Tell the session that its next `n_chars` characters stay. Send nothing back."""

    n_chars: int
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Reject:
    """Tell the session that its next `n_chars` characters are refused. Send nothing back.

    evidence: the source's sentence to show to the writer, or "".
    """

    n_chars: int
    timeout: float | None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class CanRetry:
    """Send whether the session can write on after a rejection."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """Send why the answer stopped before its end, "" for a complete answer."""


@dataclass(frozen=True, slots=True)
class Release:
    """Show a sentence that is decided on to the caller."""

    sentence: CheckedSentence


Step: TypeAlias = Start | NextPiece | Judge | Accept | Reject | CanRetry | CutOff | Release
Steps: TypeAlias = Generator[Step, Any, GuardResult]
