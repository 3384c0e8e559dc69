"""Reading on in what a model says, past a sentence that may not go out, to see whether it calls tools in the end.

A message that calls tools is no answer: whatever the guard thinks of its text, nothing is retried or raised then.
What is text and what a call is up to `groundrail.integrations.langchain.call`.
"""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from typing import Any, TypeAlias

from groundrail.generation.writing import in_time
from groundrail.generators.asked import Write
from groundrail.integrations.langchain.call import ModelCall
from groundrail.integrations.langchain.guarded_run import Event
from groundrail.integrations.langchain.retrieved import SourcedResult
from groundrail.runtime.deadlines import within
from groundrail.types import CheckedSentence, GuardResult

Ended: TypeAlias = Callable[[Sequence[CheckedSentence]], SourcedResult]
"""The result of an answer that ends with these sentences."""


class _Ahead:
    """What was read ahead of whoever reads, and the failure met there, which is theirs in turn."""

    def __init__(self, write: Write, call: ModelCall, timeout: float | None) -> None:
        self._write, self._call, self._timeout = write, call, timeout
        self._pieces: Any = None
        self._held: deque[str] = deque()
        self._failure: Exception | None = None

    def _ask(self, accepted: str, refused: Sequence[str]) -> None:
        self._pieces = self._write(accepted, refused)
        self._held, self._failure = deque(), None

    def _piece(self) -> str:
        """What comes next of what was read ahead; empty where the model is to be asked."""
        if self._held:
            return self._held.popleft()
        if self._failure is not None:
            raise self._failure
        return ""


class Ahead(_Ahead):
    """Asks by `write`. What it gives can be read to its end early, of which its reader notices nothing."""

    def __call__(self, accepted: str, refused: Sequence[str]) -> Iterator[str]:
        """What `write` gives; nothing where what it gave before, which was refused, calls tools."""
        if self.turns_to_tools():
            return
        self._ask(accepted, refused)
        while (piece := self._piece() or next(self._pieces, None)) is not None:
            yield piece

    def turns_to_tools(self) -> bool:
        """Whether the message that is being read calls tools; no, where its end cannot be read, or not in time."""
        if self._pieces is None:
            return False
        try:
            within(self._timeout, self._held.extend, self._pieces)
        except Exception as failure:  # the reader meets it when it gets there
            self._failure = failure
            return False
        return self._call.calls_tools

    def until_tools(self, events: Generator[Event], ended: Ended) -> Generator[Event]:
        """The events of an answer; a message that calls tools ends with the first sentence that would not go out."""
        told: list[CheckedSentence] = []
        untold: Sequence[CheckedSentence]
        try:
            for event in events:
                if isinstance(event, CheckedSentence):
                    if not event.released and self.turns_to_tools():
                        untold = [event]
                        break
                    told.append(event)
                yield event
            else:
                return
        except Exception as error:
            if not self.turns_to_tools():
                raise
            untold = _raised_for(error, len(told))
        finally:
            events.close()
        yield ended([*told, *map(_as_written, untold)])


class AsyncAhead(_Ahead):
    """`Ahead` for an event loop."""

    async def __call__(self, accepted: str, refused: Sequence[str]) -> AsyncGenerator[str]:
        """As `Ahead`."""
        if await self.turns_to_tools():
            return
        self._ask(accepted, refused)
        while (piece := self._piece() or await self._next()) is not None:
            yield piece

    async def _next(self) -> str | None:
        written: AsyncIterator[str] = self._pieces
        return await anext(written, None)

    async def turns_to_tools(self) -> bool:
        """As `Ahead`."""
        if self._pieces is None:
            return False
        try:
            await in_time(self._timeout, self._read_on())
        except Exception as failure:  # the reader meets it when it gets there
            self._failure = failure
            return False
        return self._call.calls_tools

    async def until_tools(self, events: AsyncGenerator[Event], ended: Ended) -> AsyncGenerator[Event]:
        """As `Ahead`."""
        told: list[CheckedSentence] = []
        untold: Sequence[CheckedSentence]
        try:
            async for event in events:
                if isinstance(event, CheckedSentence):
                    if not event.released and await self.turns_to_tools():
                        untold = [event]
                        break
                    told.append(event)
                yield event
            else:
                return
        except Exception as error:
            if not await self.turns_to_tools():
                raise
            untold = _raised_for(error, len(told))
        finally:
            await events.aclose()
            if self._pieces is not None:
                await self._pieces.aclose()
        yield ended([*told, *map(_as_written, untold)])

    async def _read_on(self) -> None:
        async for piece in self._pieces:
            self._held.append(piece)


def _raised_for(error: Exception, told: int) -> Sequence[CheckedSentence]:
    """What the guard raised `error` for, if it did: its sentences but for the first `told`."""
    result = getattr(error, "result", None)
    return result.sentences[told:] if isinstance(result, GuardResult) else ()


def _as_written(sentence: CheckedSentence) -> CheckedSentence:
    """A sentence that nothing was put in the place of."""
    return sentence.model_copy(update={"replacement": None})
