"""What a guard's answer looks like to whoever follows it: released text, piece by piece, then the result."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from types import TracebackType
from typing import Self

from groundrail.errors import InputError
from groundrail.generation.writing import Writing
from groundrail.types import CheckedSentence, GuardResult


class _Outcome:
    """What both streams keep: who writes, and the result once the answer has ended."""

    def __init__(self, writing: Writing | None) -> None:
        self._writing = writing
        self._result: GuardResult | None = None

    @property
    def result(self) -> GuardResult:
        """Raises: InputError while the answer is still being written."""
        if self._result is None:
            raise InputError("the stream has not ended; iterate over it before asking for its result")
        return self._result

    def _finish(self, result: GuardResult) -> None:
        stats = dict(self._writing.stats) if self._writing else {}
        self._result = result.model_copy(update={"generation": stats})


class GuardedStream(_Outcome):
    """Released text, piece by piece: `for text in stream`, then `stream.result`.

    The pieces, concatenated, are exactly `result.text`. `sentences()` yields every `CheckedSentence` instead,
    released or not. Left early, close it, or use it in a `with` block: what the generator holds is freed.
    """

    def __init__(self, events: Generator[CheckedSentence | GuardResult], writing: Writing | None) -> None:
        super().__init__(writing)
        self._events = events

    def __iter__(self) -> Iterator[str]:
        return (s.released_text for s in self.sentences() if s.released_text)

    def sentences(self) -> Iterator[CheckedSentence]:
        """Every sentence with its verdict, once it is known."""
        for event in self._events:
            if isinstance(event, GuardResult):
                self._finish(event)
            else:
                yield event

    def close(self) -> None:
        """Stop here: nothing more is written or judged."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncGuardedStream(_Outcome):
    """The async twin of `GuardedStream`."""

    def __init__(self, events: AsyncGenerator[CheckedSentence | GuardResult], writing: Writing | None) -> None:
        super().__init__(writing)
        self._events = events

    async def __aiter__(self) -> AsyncIterator[str]:
        async for sentence in self.sentences():
            if sentence.released_text:
                yield sentence.released_text

    async def sentences(self) -> AsyncIterator[CheckedSentence]:
        """Every sentence with its verdict, once it is known."""
        async for event in self._events:
            if isinstance(event, GuardResult):
                self._finish(event)
            else:
                yield event

    async def aclose(self) -> None:
        """Stop here: nothing more is written or judged."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()
