"""Who does what the loop asks for: in plain code, on an event loop, and for text that is pushed in from outside.

Three drivers of the one loop. The rules are in `groundrail.generation.loop` and `groundrail.policy`; how a scorer and a
generator are asked is in `groundrail.generation.judging` and `groundrail.generation.writing`.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import replace
from typing import Any

from groundrail.errors import GenerationError, InputError, UnsupportedError
from groundrail.generation.judging import Reading
from groundrail.generation.steps import CanRetry, Judge, Read, Release, Step, Steps
from groundrail.generation.writing import Writing
from groundrail.runtime.deadlines import aside
from groundrail.types import CheckedSentence, GuardResult


def drive(steps: Steps, judged: Reading, writing: Writing | None) -> Generator[CheckedSentence | GuardResult]:
    """Do what the steps ask for; yield the sentences they release, and the result last."""
    try:
        step = _next(steps)
        while not isinstance(step, GuardResult):
            outcome: Any = None
            error: Exception | None = None
            try:
                match step:
                    case Release():
                        yield step.sentence
                    case Judge():
                        with _meanwhile(writing):
                            outcome = judged.do(step)
                    case _:
                        outcome = _asked(writing).do(step)
            except Exception as raised:  # handed to the loop, which gives it a verdict or raises it
                error = raised
            step = _next(steps, outcome, error)
        yield step
    finally:
        steps.close()
        if writing is not None:
            writing.close()


async def adrive(
    steps: Steps, judged: Reading, writing: Writing | None
) -> AsyncGenerator[CheckedSentence | GuardResult]:
    """`drive` for an event loop."""
    try:
        # a text that is there already is taken apart beside the event loop: it may be long
        step = _next(steps) if writing is not None else await aside(_next, steps)
        while not isinstance(step, GuardResult):
            outcome: Any = None
            error: Exception | None = None
            try:
                match step:
                    case Release():
                        yield step.sentence
                        await asyncio.sleep(0)  # others have their turn between sentences that nobody waits for
                    case Judge():
                        with _meanwhile(writing):
                            outcome = await judged.ado(step)
                    case _:
                        outcome = await _asked(writing).ado(step)
            except asyncio.CancelledError as cancelled:
                if _is_cancelled():
                    raise
                error = RuntimeError(f"it cancelled itself: {cancelled!r}")
            except Exception as raised:
                error = raised
            step = _next(steps, outcome, error)
        yield step
    finally:
        if writing is not None:
            steps.close()  # those of a check hold nothing, and may still run in a thread
            await writing.aclose()


def drive_together(answers: Sequence[Steps], judged: Reading) -> list[GuardResult]:
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
    try:
        return steps.throw(error) if error is not None else steps.send(outcome)
    except StopIteration as stop:
        result: GuardResult = stop.value
        return result


def _is_cancelled() -> bool:
    """Whether somebody asked for this task to end; else what it called was cancelled by itself."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _meanwhile(writing: Writing | None) -> contextlib.AbstractContextManager[None]:
    """Around a judgement: who writes goes on, where they can; what they write is not read before its turn."""
    return contextlib.nullcontext() if writing is None else writing.meanwhile()


def _asked(writing: Writing | None) -> Writing:
    if writing is None:
        raise InputError("there is no generator to read from")
    return writing


class PushedAnswer:
    """An answer that someone else writes: feed it pieces; it returns the sentences they complete, each judged.

    For callbacks and the like, which are told what was written and can neither hold it back nor have it written
    again. `result` is known once the answer has ended. `error` is the UnsupportedError that the policy asks for;
    raising it is left to the caller, after telling what was found. What a fallback or a stop of the policy raises is
    raised at once, and again by every call that follows.
    """

    def __init__(self, steps: Steps, judged: "Reading") -> None:
        self._steps, self._judged = steps, judged
        self._told = 0
        self.result: GuardResult | None = None
        self.error: UnsupportedError | None = None
        self._broken: Exception | None = None
        self._advance(None)

    def feed(self, piece: str) -> list[CheckedSentence]:
        """More text was written: the sentences decided on with it, released or not."""
        return self._advance(piece)

    def finish(self) -> list[CheckedSentence]:
        """The answer is complete."""
        return self._advance(None)

    def fail(self, error: Exception) -> list[CheckedSentence]:
        """Whoever wrote the answer failed with `error`, which they raise themselves."""
        try:
            return self._advance(None, error)
        except GenerationError:  # says that `error` was raised, which the writer's caller is told anyway
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
                case Read():
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
