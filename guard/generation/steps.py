"""What the guard's loop asks of whoever drives it.

The loop is in `groundrail.generation.loop`; `groundrail.generation.drivers` does what is asked.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from groundrail.types import CheckedSentence, GuardResult


@dataclass(frozen=True, slots=True)
class Start:
    """Have the generator start its session; nothing is sent back."""

    timeout: float | None


@dataclass(frozen=True, slots=True)
class Read:
    """Send the next piece of text, or None at the end. `anew`: first call `propose` again."""

    anew: bool
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Judge:
    """Send one `Score` a claim: exact, or good enough to tell which claims reach `threshold`."""

    claims: Sequence[str]
    timeout: float | None
    threshold: float | None


@dataclass(frozen=True, slots=True)
class Accept:
    """Tell the session; nothing is sent back."""

    n_chars: int
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Reject:
    """Tell the session; nothing is sent back."""

    n_chars: int
    timeout: float | None


@dataclass(frozen=True, slots=True)
class CanRetry:
    """Send whether the session can write on after a rejection."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """Send why the answer ended before its end, "" where it did not."""


@dataclass(frozen=True, slots=True)
class Release:
    """A sentence is decided on; show it to whoever listens."""

    sentence: CheckedSentence


Step: TypeAlias = Start | Read | Judge | Accept | Reject | CanRetry | CutOff | Release
Steps: TypeAlias = Generator[Step, Any, GuardResult]
