"""Reading on in a model's message, past a sentence that may not go out, to see whether the message calls tools.

A message that calls tools is no answer: whatever the guard finds in its text, nothing is retried or raised.
`groundrail.integrations.langchain.call` tells text from calls.
"""

from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeAlias

from groundrail.integrations.langchain.call import ModelCall
from groundrail.integrations.langchain.guarded_run import AsyncWrite, Event
from groundrail.integrations.langchain.retrieved import SourcedResult
from groundrail.runtime.both_ways import is_running, run
from groundrail.runtime.deadlines import calls, in_time
from groundrail.types import CheckedSentence, GuardResult

Ended: TypeAlias = Callable[[Sequence[CheckedSentence]], SourcedResult]
"""The result of an answer that ends with these sentences."""


class ToolWatch:
    """Asks by `write`. The message can be read to its end early; its reader gets the same pieces and the same failure.

    timeout: seconds that reading on may take.
    """

    def __init__(self, write: AsyncWrite, call: ModelCall, timeout: float | None, *, is_async: bool) -> None:
        self._write, self._call, self._timeout, self._is_async = write, call, timeout, is_async
        self._pieces: AsyncGenerator[str] | None = None
        self._held: deque[str] = deque()
        self._failure: Exception | None = None

    async def pieces(self, accepted: str, refused: Sequence[str]) -> AsyncGenerator[str]:
        """The pieces that `write` gives; none if the message before, which was refused, calls tools."""
        if await self.turns_to_tools():
            return
        self._pieces = self._write(accepted, refused)
        self._held, self._failure = deque(), None
        while True:
            if self._held:
                yield self._held.popleft()
            elif self._failure is not None:
                raise self._failure
            elif (piece := await anext(self._pieces, None)) is not None:
                yield piece
            else:
                return

    async def turns_to_tools(self) -> bool:
        """Whether the current message calls tools: False if its end cannot be read, or not in time."""
        if self._pieces is None:
            return False
        try:
            if self._is_async:
                await in_time(self._timeout, self._read_on(self._pieces))
            else:
                calls().within(self._timeout, lambda pieces: run(self._read_on(pieces)), self._pieces)
        except Exception as failure:  # the reader meets it when it gets there
            self._failure = failure
            return False
        return self._call.calls_tools

    async def _read_on(self, pieces: AsyncGenerator[str]) -> None:
        async for piece in pieces:
            self._held.append(piece)

    async def until_tools(self, events: AsyncGenerator[Event], ended: Ended) -> AsyncGenerator[Event]:
        """The events of an answer; a message that calls tools ends with the first sentence that would not go out."""
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
            if self._pieces is not None and not is_running(self._pieces):
                await self._pieces.aclose()
        yield ended([*told, *map(_as_written, untold)])


def _raised_for(error: Exception, told: int) -> Sequence[CheckedSentence]:
    """The sentences that the guard raised `error` for, without the first `told`; none for another error."""
    result = getattr(error, "result", None)
    return result.sentences[told:] if isinstance(result, GuardResult) else ()


def _as_written(sentence: CheckedSentence) -> CheckedSentence:
    """The sentence without a replacement."""
    return sentence.model_copy(update={"replacement": None, "corrected": None})
