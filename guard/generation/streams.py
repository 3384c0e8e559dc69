"""The streams that a guard returns: released text, piece by piece, then the result.

`driven` carries the steps of the loop out, in plain code and on an event loop.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any, Self, TypeAlias, TypeGuard

from groundrail.errors import InputError
from groundrail.generation.numbering import Numbering, Reference
from groundrail.generation.scores import Judging
from groundrail.generation.steps import Judge, Read, Release, Settle, Steps, advance
from groundrail.generation.writing import Writing
from groundrail.runtime.both_ways import closing, each, is_running, iterate, value_of
from groundrail.runtime.deadlines import aside
from groundrail.types import CheckedSentence, GuardResult

Event: TypeAlias = CheckedSentence | GuardResult


async def driven(
    closed: threading.Event, steps: Steps, judging: Judging, writing: Writing | None = None, *, is_async: bool
) -> AsyncGenerator[Event]:
    """Do the steps; yield the sentences they release, and the result last. End early once `closed` is set.

    In plain code it waits for nothing. Without `writing`, for a text that is already written, the loop only judges.
    """
    judge: Any = judging.ado if is_async else judging.do
    try:
        # a text that is already written may be long, so it is split beside the event loop
        step = await aside(advance, steps) if is_async and writing is None else advance(steps)
        while not closed.is_set():
            outcome: Any = None
            try:
                match step:
                    case GuardResult():
                        yield step
                        return
                    case Release(sentence):
                        yield sentence
                        if is_async:
                            await asyncio.sleep(0)  # other tasks have a turn
                    case Judge():
                        with contextlib.nullcontext() if writing is None else writing.meanwhile():
                            outcome = await value_of(judge(step))
                    case Read() if writing is not None:
                        outcome = await writing.read(step)
                    case Settle() if writing is not None:
                        outcome = await writing.settle(step)
            except asyncio.CancelledError as cancelled:
                if not is_async or _is_cancelled():
                    raise
                outcome = RuntimeError(f"it cancelled itself: {cancelled!r}")
            except Exception as raised:
                outcome = raised
            step = advance(steps, outcome)
    finally:
        if writing is not None:  # the steps of a check hold nothing, and may still run in a thread
            steps.close()
            await writing.aclose()


def _is_cancelled() -> bool:
    """Whether this task was cancelled from outside, and no call cancelled itself."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


Events: TypeAlias = Callable[[threading.Event], AsyncGenerator[Event]]
"""Gives the events of an answer, which end once the argument is set."""


class _Stream:
    """The part that both streams share: the writing, and the result once the answer has ended."""

    def __init__(self, writing: Writing | None, numbering: Numbering | None = None) -> None:
        self._writing, self._numbering = writing, numbering
        self._closed = threading.Event()
        self._result: GuardResult | None = None

    @property
    def result(self) -> GuardResult:
        """Raises: InputError while the answer is still being written."""
        if self._result is None:
            raise InputError("the stream has not ended; iterate over it before asking for its result")
        return self._result

    @property
    def references(self) -> tuple[Reference, ...]:
        """The places that the marks in the text so far refer to; none without `stream(..., marks=True)`."""
        return self._numbering.references if self._numbering else ()

    def _text(self, sentence: CheckedSentence) -> str:
        return self._numbering.marked(sentence) if self._numbering else sentence.released_text

    def _is_sentence(self, event: Event) -> TypeGuard[CheckedSentence]:
        """Whether an event is a sentence; the result is kept."""
        if isinstance(event, GuardResult):
            stats = dict(self._writing.stats) if self._writing else {}
            self._result = event.model_copy(update={"generation": stats})
        return isinstance(event, CheckedSentence)


class GuardedStream(_Stream):
    """Released text, piece by piece: `for text in stream`, then `stream.result`.

    The pieces, concatenated, are exactly `result.text`. `sentences()` yields every `CheckedSentence` instead,
    released or not. With `marks=True` the pieces have marks, "[1]", that `references` logs_tracebacks. A stream that is left early
    has to be closed, as by a `with` block: that frees the generator.
    """

    def __init__(self, events: Events, writing: Writing, numbering: Numbering | None = None) -> None:
        super().__init__(writing, numbering)
        self._events = iterate(events(self._closed))

    def __iter__(self) -> Iterator[str]:
        return (text for s in self.sentences() if (text := self._text(s)))

    def sentences(self) -> Iterator[CheckedSentence]:
        """Every sentence with its verdict, once it is known."""
        return (event for event in self._events if self._is_sentence(event))

    def close(self) -> None:
        """Stop here: nothing more is written, judged or released.

        Another thread may iterate over the stream meanwhile; its iteration ends after the step that it is at.
        """
        self._closed.set()
        with contextlib.suppress(ValueError):  # another thread runs the generator, and closes it after its step
            self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class AsyncGuardedStream(_Stream):
    """`GuardedStream` for an event loop: `async for text in stream`, then `stream.result`."""

    def __init__(self, events: Events, writing: Writing | None = None, numbering: Numbering | None = None) -> None:
        super().__init__(writing, numbering)
        self._events = events(self._closed)

    def __aiter__(self) -> AsyncIterator[str]:
        return (text async for s in self.sentences() if (text := self._text(s)))

    def sentences(self) -> AsyncIterator[CheckedSentence]:
        """Every sentence with its verdict, once it is known."""
        return (event async for event in self._events if self._is_sentence(event))

    async def aclose(self) -> None:
        """Stop here: nothing more is written, judged or released; a task that iterates ends after its step."""
        self._closed.set()
        if not is_running(self._events):
            await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


async def read_to_end(stream: GuardedStream | AsyncGuardedStream) -> GuardResult:
    """Read a stream to its end, close it, and return the result."""
    async with closing(stream):
        async for _ in each(stream.sentences()):
            pass
        return stream.result
