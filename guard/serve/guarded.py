"""One answer written and checked in a task of its own, so that the sender can wait, keep the connection alive, and
leave.

This module connects an answer with a guard; the forms of the protocols are behind `groundrail.serve.forms`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from starlette.requests import Request

from groundrail.errors import GroundrailError, UnsupportedError
from groundrail.generation.streams import AsyncGuardedStream
from groundrail.runtime.deadlines import aside
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.observe import AnswerSeen, Observer
from groundrail.types import CheckedSentence, GuardResult

T = TypeVar("T")
Open: TypeAlias = Callable[[], Coroutine[Any, Any, AsyncGuardedStream]]

_AHEAD = 16
"""Sentences that wait for a slow reader before the writer is held up."""


class GuardedAnswer:
    """Sentences, each with its verdict, then the result; `open_stream` starts the guard's stream.

    A failure ends it with a ProtocolError: the writer's own if `failure` knows one.
    """

    def __init__(
        self,
        open_stream: Open,
        observer: Observer,
        *,
        endpoint: str,
        time_limit: float,
        failure: Callable[[], ProtocolError | None] = lambda: None,
    ) -> None:
        self._open_stream, self._observer, self._endpoint = open_stream, observer, endpoint
        self._time_limit, self._failure = time_limit, failure
        self._decided: asyncio.Queue[CheckedSentence | GuardResult | ProtocolError] = asyncio.Queue(_AHEAD)
        self._task = asyncio.create_task(self._work())

    async def events(self, heartbeat: float | None = None) -> AsyncIterator[CheckedSentence | GuardResult | None]:
        """Sentences, the result last; None whenever `heartbeat` seconds passed without one. Raises: ProtocolError."""
        while True:
            try:
                async with asyncio.timeout(heartbeat):
                    event = await self._decided.get()
            except TimeoutError:
                yield None
                continue
            if isinstance(event, ProtocolError):
                raise event
            yield event
            if isinstance(event, GuardResult):
                return

    async def result(self) -> GuardResult:
        """The result alone. Raises: ProtocolError."""
        async for event in self.events():
            if isinstance(event, GuardResult):
                return event
        raise ProtocolError(500, "the answer ended without a result", code="internal_error")

    async def aclose(self) -> None:
        """Stop writing and checking."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _work(self) -> None:
        end: GuardResult | ProtocolError
        try:
            with self._observer.answer(self._endpoint) as seen:
                end = await self._checked(seen)
        except ProtocolError as error:
            end = error
        except Exception as error:  # whoever waits must be told, whatever it was
            self._observer.unexpected(error)
            end = ProtocolError(500, "the answer could not be checked", code="internal_error")
        await self._decided.put(end)

    async def _checked(self, seen: AnswerSeen) -> GuardResult:
        try:
            async with asyncio.timeout(self._time_limit):
                async with await self._open_stream() as stream:
                    async for sentence in stream.sentences():
                        seen.sentence(sentence)
                        await self._decided.put(sentence)
        except TimeoutError:
            raise _late() from None
        except UnsupportedError as error:
            raise ProtocolError(422, "a sentence is not supported by the source", code="unsupported") from error
        except GroundrailError as error:
            raise self._failure() or ProtocolError(500, "the answer could not be checked", code="failed") from error
        if failure := self._failure():
            raise failure
        return stream.result


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, T], time_limit: float) -> T:
    """The outcome of `work`, cancelled if the client goes away or after `time_limit` seconds.

    The request's body must have been read. Raises: ClientLeftError; ProtocolError for what takes too long.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait({working, leaving}, timeout=time_limit, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return await working
        raise ClientLeftError() if leaving.done() else _late()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.wait({working, leaving})


async def read(request: Request, time_limit: float, work: Callable[..., T], *arguments: Any) -> T:
    """The outcome of `work(*arguments)`, which reads a request beside the event loop; then the request may be answered.

    The conditions are those of `unless_disconnected`. Raises: ProtocolError where too many requests are being answered.
    """
    outcome = await unless_disconnected(request, aside(work, *arguments), time_limit)
    await request.scope["places"].answer()
    return outcome


class ClientLeftError(Exception):
    """Nobody waits for the answer any more."""


def _late() -> ProtocolError:
    return ProtocolError(504, "the answer took longer than --request-timeout allows", code="request_timeout")


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
