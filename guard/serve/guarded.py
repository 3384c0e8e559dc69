"""One answer written and checked in a task of its own, so that the sender can wait, keep the connection alive, and
leave; and work for a client that may leave.

A request's `scope` holds its body, the deadline of its answer, and its place (`groundrail.serve.admission`).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from groundrail.errors import GroundrailError, UnsupportedError
from groundrail.generation.streams import AsyncGuardedStream
from groundrail.runtime.deadlines import aside
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.observe import Observer, See
from groundrail.types import CheckedSentence, GuardResult

T = TypeVar("T")

HEARTBEAT = b": waiting for a verdict\n\n"
_AHEAD = 16
"""Sentences that wait for a slow reader before the writer is held up."""


class GuardedAnswer:
    """Sentences, each with its verdict, then the result; `open_stream` starts the guard's stream.

    A failure ends it with a ProtocolError: the writer's own if `failure` knows one. deadline: by the event loop's clock.
    """

    def __init__(
        self,
        open_stream: Callable[[], Coroutine[Any, Any, AsyncGuardedStream]],
        observer: Observer,
        endpoint: str,
        deadline: float,
        failure: Callable[[], ProtocolError | None] = lambda: None,
    ) -> None:
        self._open_stream, self._observer, self._endpoint = open_stream, observer, endpoint
        self._deadline, self._failure = deadline, failure
        self._decided: asyncio.Queue[CheckedSentence | GuardResult | ProtocolError] = asyncio.Queue(_AHEAD)
        self._task = asyncio.create_task(self._work())

    async def events(self, heartbeat: float | None = None) -> AsyncIterator[CheckedSentence | GuardResult | None]:
        """Sentences, the result last; None whenever `heartbeat` seconds passed without one. Raises: ProtocolError."""
        event: CheckedSentence | GuardResult | ProtocolError | None = None
        while not isinstance(event, GuardResult):
            try:
                async with asyncio.timeout(heartbeat):
                    event = await self._decided.get()
            except TimeoutError:
                event = None
            if isinstance(event, ProtocolError):
                raise event
            yield event

    async def result(self) -> GuardResult:
        """The result alone. Raises: ProtocolError."""
        async for event in self.events():
            last = event
        return cast(GuardResult, last)

    async def aclose(self) -> None:
        """Stop writing and checking."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _work(self) -> None:
        end: GuardResult | ProtocolError
        try:
            with self._observer.answer(self._endpoint) as see:
                end = await self._checked(see)
        except ProtocolError as error:
            end = error
        except Exception as error:  # the client must get an answer whatever the error is
            self._observer.unexpected(error)
            end = ProtocolError(500, "the answer could not be checked", code="internal_error")
        await self._decided.put(end)

    async def _checked(self, see: See) -> GuardResult:
        try:
            async with asyncio.timeout_at(self._deadline):
                async with await self._open_stream() as stream:
                    async for sentence in stream.sentences():
                        see(sentence)
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


async def read(request: Request, work: Callable[..., T], *arguments: Any) -> T:
    """The outcome of `work(body, *arguments)`, which reads a request beside the event loop; then it may be answered.

    The conditions are those of `unless_disconnected`. Raises: ProtocolError where too many requests are being answered.
    """
    outcome = await unless_disconnected(request, aside(work, request.scope["body"], *arguments))
    await request.scope["places"].answer()
    return outcome


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The outcome of `work`, cancelled if the client goes away or at the request's deadline.

    Raises: ClientLeftError; ProtocolError for work that takes too long.
    """
    working, leaving = asyncio.create_task(work), asyncio.create_task(_left(request))
    try:
        time_left = request.scope["deadline"] - asyncio.get_running_loop().time()
        await asyncio.wait({working, leaving}, timeout=time_left, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return await working
        raise ClientLeftError if leaving.done() else _late()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.wait({working, leaving})


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class EventStream(StreamingResponse):
    """Server-sent events, for a client that has read them by the deadline or is left.

    `close` runs however the stream ends, begun or not.
    """

    def __init__(self, events: AsyncIterator[bytes], close: Callable[[], Awaitable[None]], deadline: float) -> None:
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._close, self._deadline = close, deadline

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them. Raises: ClientLeftError if the client does not read them in time."""
        try:
            async with asyncio.timeout_at(self._deadline):
                await super().__call__(scope, receive, send)
        except TimeoutError:
            raise ClientLeftError from None
        finally:
            await self._close()


class ClientLeftError(Exception):
    """Nobody waits for the answer any more."""


def _late() -> ProtocolError:
    return ProtocolError(504, "the answer took longer than --request-timeout allows", code="request_timeout")
