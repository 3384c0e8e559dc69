"""The drivers of the guard's loop: they do its steps in plain code, on an event loop, or for text that is pushed in.

The rules are in `groundrail.generation.loop` and `groundrail.policy`. `Judging` calls the scorer,
`groundrail.generation.writing` the generator.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from groundrail.errors import GenerationError, InputError, UnsupportedError
from groundrail.generation.steps import CanRetry, Judge, NextPiece, Release, Step, Steps
from groundrail.generation.writing import Writing
from groundrail.runtime.both_ways import iterate, value_of
from groundrail.runtime.deadlines import Calls, aside, in_time
from groundrail.scoring.base import Reader, Score, Scorer
from groundrail.scoring.language_note import with_language_note
from groundrail.types import CheckedSentence, Document, GuardResult

Event: TypeAlias = CheckedSentence | GuardResult


class Judging:
    """A scorer and the documents of one answer, read when the first claim needs them."""

    def __init__(self, scorer: Scorer, documents: Sequence[Document], calls: Calls) -> None:
        self._scorer, self._documents, self._calls = scorer, documents, calls
        self._reader: Reader | None = None
        self._lock = threading.Lock()

    def do(self, step: Judge) -> list[Score]:
        """One score a claim. Raises: OverdueError, and whatever the scorer raises."""
        return self._calls.within(step.timeout, self._score, step)

    async def ado(self, step: Judge) -> list[Score]:
        """`do` without blocking the event loop."""
        with self._calls.current():
            scores: list[Score] = await in_time(step.timeout, self._ascore(step))
        return scores

    def _score(self, step: Judge) -> list[Score]:
        """Exact scores without a threshold, else scores that tell which claims reach it."""
        reader, claims = self._read(), step.claims
        return self._noted(claims, reader.score(claims, step.threshold))

    async def _ascore(self, step: Judge) -> list[Score]:
        reader = await self._calls.awithin(None, self._read) if self._reader is None else self._reader
        return self._noted(step.claims, await reader.ascore(step.claims, step.threshold))

    def _read(self) -> Reader:
        with self._lock:
            if self._reader is None:
                self._reader = self._scorer.read(self._documents)
            return self._reader

    def _noted(self, claims: Sequence[str], scores: Sequence[Score]) -> list[Score]:
        return with_language_note(scores, claims, self._documents) if self._scorer.facts.english_only else list(scores)


class Effects:
    """The effects of an answer's steps in plain code: `judged` scores claims, `writing` does all else."""

    def __init__(self, judged: Judging, writing: Writing | None) -> None:
        self._judged, self._writing = judged, writing

    @property
    def writes(self) -> bool:
        """Whether a generator writes the answer."""
        return self._writing is not None

    def begin(self, steps: Steps) -> Any:
        """The first step."""
        return _next(steps)

    def do(self, step: Step) -> Any:
        """Do a step; return the outcome."""
        if isinstance(step, Judge):
            with self._meanwhile():
                return self._judged.do(step)
        return self._asked().do(step)  # type: ignore[arg-type]  # the loop releases sentences by itself

    def pause(self) -> Any:
        """Let others work between two sentences that are ready at once."""

    def close(self) -> Any:
        """Free the writing."""
        if self._writing is not None:
            self._writing.close()

    def is_cancelled(self) -> bool:
        """Whether a CancelledError is meant for the driver, and none that a call raised by itself."""
        return True

    def _meanwhile(self) -> contextlib.AbstractContextManager[None]:
        """Let the session write on while a claim is judged, if it can; its text is read in its turn."""
        return contextlib.nullcontext() if self._writing is None else self._writing.meanwhile()

    def _asked(self) -> Writing:
        if self._writing is None:
            raise InputError("there is no generator to read from")
        return self._writing


class AsyncEffects(Effects):
    """`Effects` on an event loop."""

    async def begin(self, steps: Steps) -> Any:
        """The first step. A text that is already written may be long, so it is split in a thread."""
        return await aside(_next, steps) if self._writing is None else _next(steps)

    async def do(self, step: Step) -> Any:
        """Do a step; return the outcome."""
        if isinstance(step, Judge):
            with self._meanwhile():
                return await self._judged.ado(step)
        return await self._asked().ado(step)  # type: ignore[arg-type]

    async def pause(self) -> None:
        """Give other tasks a turn."""
        await asyncio.sleep(0)

    async def close(self) -> None:
        """Free the writing."""
        if self._writing is not None:
            await self._writing.aclose()

    def is_cancelled(self) -> bool:
        """Whether this task was cancelled from outside."""
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0


def drive(
    steps: Steps, judged: Judging, writing: Writing | None, closed: threading.Event | None = None
) -> Generator[Event]:
    """Do the steps; yield the sentences they release, and the result last. End early once `closed` is set."""
    return iterate(_driven(steps, Effects(judged, writing), closed))


def adrive(
    steps: Steps, judged: Judging, writing: Writing | None, closed: threading.Event | None = None
) -> AsyncGenerator[Event]:
    """`drive` for an event loop."""
    return _driven(steps, AsyncEffects(judged, writing), closed)


async def _driven(steps: Steps, effects: Effects, closed: threading.Event | None) -> AsyncGenerator[Event]:
    try:
        step = await value_of(effects.begin(steps))
        while not (closed is not None and closed.is_set()):
            outcome: Any = None
            error: Exception | None = None
            try:
                match step:
                    case GuardResult():
                        yield step
                        return
                    case Release():
                        yield step.sentence
                        await value_of(effects.pause())
                    case _:
                        outcome = await value_of(effects.do(step))
            except asyncio.CancelledError as cancelled:
                if effects.is_cancelled():
                    raise
                error = RuntimeError(f"it cancelled itself: {cancelled!r}")
            except Exception as raised:  # the loop turns it into a verdict or raises it
                error = raised
            step = _next(steps, outcome, error)
    finally:
        if effects.writes:
            steps.close()  # the steps of a check hold nothing, and may still run in a thread
        await value_of(effects.close())


def drive_together(answers: Sequence[Steps], judged: Judging) -> list[GuardResult]:
    """Drive the checks of several answers to one source: claims that wait at the same time are scored in one call.

    If that call fails, the claims of each answer are scored alone: an answer that fails costs the others nothing.
    Timeouts add up, as the call is made for all answers. Raises: what the steps raise.
    """
    steps = [_to_judge(answer) for answer in answers]
    while waiting := [(number, step) for number, step in enumerate(steps) if isinstance(step, Judge)]:
        claims = [claim for _, step in waiting for claim in step.claims]
        timeouts = [step.timeout for _, step in waiting if step.timeout is not None]
        try:
            scores = judged.do(replace(waiting[0][1], claims=claims, timeout=sum(timeouts) if timeouts else None))
        except Exception:  # every answer meets its own failure below
            scores = []
        shared = iter(scores if len(scores) == len(claims) else ())
        for number, step in waiting:
            outcome, error = [score for _, score in zip(step.claims, shared, strict=False)], None
            if not outcome:
                try:
                    outcome = judged.do(step)
                except Exception as raised:  # handed to the loop, which gives it a verdict
                    error = raised
            steps[number] = _to_judge(answers[number], outcome, error)
    return [step for step in steps if isinstance(step, GuardResult)]


def _to_judge(steps: Steps, outcome: Any = None, error: Exception | None = None) -> Step | GuardResult:
    """The loop's next step that is no release, in a check that asks no generator."""
    step = _next(steps, outcome, error)
    while isinstance(step, Release):
        step = _next(steps)
    return step


def _next(steps: Steps, outcome: Any = None, error: Exception | None = None) -> Step | GuardResult:
    """The loop's next step, or the result that it ends with."""
    if isinstance(error, StopIteration):  # thrown into a coroutine of steps it would end that
        error = RuntimeError(f"{error!r} was raised")
    try:
        return steps.throw(error) if error is not None else steps.send(outcome)
    except StopIteration as stop:
        result: GuardResult = stop.value
        return result


class PushedAnswer:
    """An answer that other code writes: feed it pieces, and it returns the judged sentences that they complete.

    Callbacks use it, since they see the text and can neither hold it back nor have it written again. `result` is known
    once the answer has ended. `error` is the UnsupportedError that the policy asks for; the caller raises it after
    telling the findings. An exception of a fallback or of the policy's stop is raised at once, and again by every later
    call.

    Example: `answer = guard.pushed(source); answer.feed("The rent is 950 euros. "); answer.finish()`.
    """

    def __init__(self, steps: Steps, judged: Judging) -> None:
        self._steps, self._judged = steps, judged
        self._told = 0
        self.result: GuardResult | None = None
        self.error: UnsupportedError | None = None
        self._broken: Exception | None = None
        self._advance(None)

    def feed(self, piece: str) -> list[CheckedSentence]:
        """Take the next text; return the sentences that it decides, released or not."""
        return self._advance(piece)

    def finish(self) -> list[CheckedSentence]:
        """End the answer; return the sentences that were still open."""
        return self._advance(None)

    def fail(self, error: Exception) -> list[CheckedSentence]:
        """End the answer because its writer failed with `error`, which the writer's caller raises."""
        try:
            return self._advance(None, error)
        except GenerationError:  # it repeats `error`
            return []

    def _advance(self, outcome: Any, error: Exception | None = None) -> list[CheckedSentence]:
        decided: list[CheckedSentence] = []
        while self.result is None:
            if self._broken is not None:
                raise self._broken
            try:
                step = _next(self._steps, outcome, error)
            except UnsupportedError as unsupported:
                if not isinstance(unsupported.result, GuardResult):
                    self._broken = unsupported
                    raise
                self.error, self.result = unsupported, unsupported.result
                decided = list(unsupported.result.sentences[self._told :])
                break
            except Exception as raised:
                self._broken = raised
                raise
            outcome, error = None, None
            match step:
                case GuardResult():
                    self.result = step
                case NextPiece():
                    break
                case Release():
                    decided.append(step.sentence)
                case CanRetry():
                    outcome = False
                case Judge():
                    try:
                        outcome = self._judged.do(step)
                    except Exception as raised:  # the loop gives it a verdict
                        error = raised
        self._told += len(decided)
        return decided
