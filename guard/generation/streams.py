"""The streams that a guard returns: released text, piece by piece, then the result."""

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self, TypeGuard

from groundrail.errors import InputError
from groundrail.generation.drivers import Event, Judging, adrive, drive
from groundrail.generation.steps import Steps
from groundrail.generation.writing import Writing
from groundrail.runtime.both_ways import closing, each, is_running
from groundrail.types import CheckedSentence, GuardResult


class _Outcome:
    """The part that both streams share: the writing, and the result once the answer has ended."""

    def __init__(self, writing: Writing | None) -> None:
        self._writing = writing
        self._closed = threading.Event()
        self._result: GuardResult | None = None

    @property
    def result(self) -> GuardResult:
        """Raises: InputError while the answer is still being written."""
        if self._result is None:
            raise InputError("the stream has not ended; iterate over it before asking for its result")
        return self._result

    def _is_sentence(self, event: Event) -> TypeGuard[CheckedSentence]:
        """Whether an event is a sentence; the result is kept."""
        if isinstance(event, GuardResult):
            stats = dict(self._writing.stats) if self._writing else {}
            self._result = event.model_copy(update={"generation": stats})
        return isinstance(event, CheckedSentence)


class GuardedStream(_Outcome):
    """Released text, piece by piece: `for text in stream`, then `stream.result`.

    The pieces, concatenated, are exactly `result.text`. `sentences()` yields every `CheckedSentence` instead,
    released or not. A stream that is left early has to be closed, as by a `with` block: that frees the generator.
    """

    def __init__(self, steps: Steps, judged: Judging, writing: Writing | None = None) -> None:
        super().__init__(writing)
        self._events = drive(steps, judged, writing, self._closed)

    def __iter__(self) -> Iterator[str]:
        return (s.released_text for s in self.sentences() if s.released_text)

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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncGuardedStream(_Outcome):
    """`GuardedStream` for an event loop: `async for text in stream`, then `stream.result`."""

    def __init__(self, steps: Steps, judged: Judging, writing: Writing | None = None) -> None:
        super().__init__(writing)
        self._events = adrive(steps, judged, writing, self._closed)

    def __aiter__(self) -> AsyncIterator[str]:
        return (s.released_text async for s in self.sentences() if s.released_text)

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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()


async def read_to_end(stream: GuardedStream | AsyncGuardedStream) -> GuardResult:
    """The result of a stream whose text nobody follows; the stream is closed."""
    async with closing(stream):
        async for _ in each(stream.sentences()):
            pass
        return stream.result
