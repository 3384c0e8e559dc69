"""The four steps of the guard's loop: read a piece, judge claims, settle a sentence, release it.

The loop is a coroutine, free of I/O: it yields a step and is sent the outcome. `groundrail.generation.streams` and
`groundrail.generation.drivers` carry the steps out.
"""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from groundrail.text.claims import Asked
from groundrail.types import CheckedSentence, GuardResult

T = TypeVar("T")


class Piece(NamedTuple):
    """A piece of the answer.

    text: None at the end of the answer.
    cut_off: why the answer stopped before its end, "" for a complete answer.
    """

    text: str | None
    cut_off: str = ""


class Read(NamedTuple):
    """Send the next `Piece`. After a refusal the session writes on from before the refused sentence."""

    timeout: float | None


class Judge(NamedTuple):
    """Send for each claim a `Score`, or `NoClaim` for talk.

    threshold: a score may stop where it is known on which side of the threshold it lies; None for exact scores.
    """

    claims: Sequence[Asked]
    timeout: float | None
    threshold: float | None


class Settle(NamedTuple):
    """Tell the session the fate of its next `n_chars` characters: they stay, or they are refused.

    Send whether the session wrote them off and can write others; it refuses nothing if it cannot.

    evidence: the source's sentence to show to the writer, or "".
    """

    n_chars: int
    kept: bool
    timeout: float | None
    evidence: str = ""


class Release(NamedTuple):
    """Show a sentence that is decided on to the caller. Send nothing back."""

    sentence: CheckedSentence


Step: TypeAlias = Read | Judge | Settle | Release
Asks: TypeAlias = Generator[Step, Any, T]
"""A coroutine of steps that returns a T."""
Steps: TypeAlias = Asks[GuardResult]


def advance(steps: Steps, outcome: Any = None) -> Step | GuardResult:
    """The loop's next step after the outcome of its last one, or the result that it ends with.

    outcome: the value that the step asks for, or the exception that it raised, which the loop turns into a verdict or
        raises.
    """
    if isinstance(outcome, StopIteration):  # thrown into a coroutine of steps it would end that
        outcome = RuntimeError(f"{outcome!r} was raised")
    try:
        return steps.throw(outcome) if isinstance(outcome, Exception) else steps.send(outcome)
    except StopIteration as stop:
        result: GuardResult = stop.value
        return result
