"""Who does what the loop asks for: in plain code, on an event loop, and for text that is pushed in from outside.

Three drivers of the one loop, and what they share: a source that is read once an answer, a session's pieces.
The rules are in `groundrail.loop` and `groundrail.policy`.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from groundrail.deadline import OverdueError, awithin, within
from groundrail.errors import GenerationError, InputError, UnsupportedError
from groundrail.generators import Session
from groundrail.loop import Accept, CanRetry, CutOff, Judge, Read, Reject, Release, Steps
from groundrail.scoring.base import Reader, Score, Scorer
from groundrail.types import CheckedSentence, Document, GuardResult


def drive(steps: Steps, judged: "Reading", session: Session | None) -> Iterator[CheckedSentence | GuardResult]:
    """Do what the steps ask for; yield the sentences they release, and the result last."""
    pieces = _Pieces(session)
    outcome: Any = None
    error: Exception | None = None
    while True:
        try:
            step = steps.throw(error) if error is not None else steps.send(outcome)
        except StopIteration as stop:
            yield stop.value
            return
        outcome, error = None, None
        try:
            match step:
                case Release():
                    yield step.sentence
                case Judge():
                    outcome = within(step.timeout, judged.score, step.claims, step.threshold)
                case Read():
                    outcome = within(step.timeout, pieces.read, step.anew)
                case _:
                    outcome = _tell(step, _session(session))
        except GeneratorExit:
            steps.close()
            raise
        except Exception as raised:  # handed to the loop, which gives it a verdict or raises it
            error = raised


async def adrive(
    steps: Steps, judged: "Reading", session: Session | None
) -> AsyncIterator[CheckedSentence | GuardResult]:
    """`drive` for an event loop: what has no async form runs in a thread."""
    pieces = _Pieces(session)
    outcome: Any = None
    error: Exception | None = None
    while True:
        try:
            step = steps.throw(error) if error is not None else steps.send(outcome)
        except StopIteration as stop:
            yield stop.value
            return
        outcome, error = None, None
        try:
            match step:
                case Release():
                    yield step.sentence
                case Judge():
                    outcome = await judged.ascore(step.claims, step.timeout, step.threshold)
                case Read():
                    outcome = await pieces.aread(step.anew, step.timeout)
                case _:
                    outcome = _tell(step, _session(session))
        except GeneratorExit:
            steps.close()
            raise
        except Exception as raised:
            error = raised


class PushedAnswer:
    """An answer that someone else writes: feed it pieces; it returns the sentences they complete, each judged.

    For callbacks and the like, which are told what was written and can neither hold it back nor have it written
    again. `result` is known once the answer has ended. `error` is the UnsupportedError that the policy asks for;
    raising it is left to the caller, after telling what was found.
    """

    def __init__(self, steps: Steps, judged: "Reading") -> None:
        self._steps, self._judged = steps, judged
        self._told = 0
        self.result: GuardResult | None = None
        self.error: UnsupportedError | None = None
        self._advance(None)

    def feed(self, piece: str) -> list[CheckedSentence]:
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
            try:
                step = self._steps.throw(error) if error is not None else self._steps.send(outcome)
            except StopIteration as stop:
                self.result = stop.value
                break
            except UnsupportedError as unsupported:
                if not isinstance(unsupported.result, GuardResult):
                    raise
                self.error, self.result = unsupported, unsupported.result
                decided = list(unsupported.result.sentences[self._told :])
                break
            outcome, error = None, None
            match step:
                case Read():
                    break
                case Release():
                    decided.append(step.sentence)
                case CanRetry():
                    outcome = False
                case Judge():
                    try:
                        outcome = within(step.timeout, self._judged.score, step.claims, step.threshold)
                    except Exception as raised:  # the loop gives it a verdict
                        error = raised
        self._told += len(decided)
        return decided


class Reading:
    """A scorer and the documents of one answer, read when the first claim asks for it."""

    def __init__(self, scorer: Scorer, documents: Sequence[Document]) -> None:
        self._scorer, self._documents = scorer, documents
        self._reader: Reader | None = None
        self._lock = threading.Lock()

    def score(self, claims: Sequence[str], threshold: float | None) -> list[Score]:
        """One score a claim, exact without a threshold, else good enough to tell which claims reach it."""
        reader = self._read()
        return reader.score(claims) if threshold is None else reader.decide(claims, threshold)

    async def ascore(self, claims: Sequence[str], timeout: float | None, threshold: float | None) -> list[Score]:
        """`score`. Raises: OverdueError where reading and scoring take longer than `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout) as limit:
                reader = self._reader
                if reader is None:
                    reader = await awithin(None, self._read)
                return await (reader.ascore(claims) if threshold is None else reader.adecide(claims, threshold))
        except TimeoutError as error:
            if limit.expired():
                raise OverdueError(timeout) from error
            raise

    def _read(self) -> Reader:
        with self._lock:
            if self._reader is None:
                self._reader = self._scorer.read(self._documents)
            return self._reader


class _Pieces:
    """What a session writes, read piece by piece; None at the end of what it proposes."""

    def __init__(self, session: Session | None) -> None:
        self._session = session
        self._proposed: Any = iter(())

    def read(self, anew: bool) -> str | None:
        if anew:
            self._propose()
        if hasattr(self._proposed, "__anext__"):
            raise InputError("this generator is async; use agenerate or astream")
        return next(self._proposed, None)

    async def aread(self, anew: bool, timeout: float | None) -> str | None:
        """Raises: OverdueError where the next piece, a new proposal included, takes longer."""
        try:
            async with asyncio.timeout(timeout) as limit:
                if anew:
                    await awithin(None, self._propose)
                if hasattr(self._proposed, "__anext__"):
                    return await anext(self._proposed, None)
                return await awithin(None, next, self._proposed, None)
        except TimeoutError as error:
            if limit.expired():
                raise OverdueError(timeout) from error
            raise

    def _propose(self) -> None:
        self._proposed = _session(self._session).propose()


def _tell(step: Accept | Reject | CanRetry | CutOff, session: Session) -> Any:
    match step:
        case Accept():
            return session.accept(step.n_chars)
        case Reject():
            return session.reject(step.n_chars)
        case CanRetry():
            return session.can_retry
        case CutOff():
            return session.cut_off


def _session(session: Session | None) -> Session:
    if session is None:
        raise InputError("there is no generator to read from")
    return session
