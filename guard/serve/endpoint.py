"""The endpoint of every protocol that asks for answers: read the request, ask upstream, check, answer.

Requests and events of a protocol are in its two modules, behind `groundrail.serve.forms`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from groundrail.guard import Guard
from groundrail.serve import details
from groundrail.serve.error_forms import ProtocolError, json_response
from groundrail.serve.forms import Form, Protocol, Telling
from groundrail.serve.guarded import ClientLeftError, GuardedAnswer, read, unless_disconnected
from groundrail.serve.objects import guarded_stream, read_format
from groundrail.serve.observe import Observer
from groundrail.serve.requests import ChatRequest, decoded, parsed, refuse_what_cannot_be_guarded
from groundrail.serve.settings import Settings
from groundrail.serve.sources import find_source
from groundrail.serve.writers import Writer
from groundrail.types import GuardResult

HEARTBEAT = b": waiting for a verdict\n\n"


class Endpoint:
    """Answers requests in one protocol."""

    def __init__(
        self, protocol: Protocol, guard: Guard, writer: Writer | None, settings: Settings, observer: Observer
    ) -> None:
        self.protocol, self.guard, self.writer = protocol, guard, writer
        self.settings, self.observer = settings, observer

    async def __call__(self, request: Request) -> Response:
        begun, most = time.monotonic(), self.settings.request_timeout
        level = details.level_of(request)
        telling = await read(request, most, self._read, await request.body(), request.headers, level)
        form = self.protocol.form(telling)
        if not telling.asked.stream:
            most -= time.monotonic() - begun
            return await unless_disconnected(request, self._whole(form, most), most)
        try:
            await unless_disconnected(request, telling.answer.open(), most - (time.monotonic() - begun))
            left = most - (time.monotonic() - begun)
            written = self._written(telling, left)
        except BaseException:
            await telling.answer.aclose()
            raise

        async def close() -> None:
            await written.aclose()
            await telling.answer.aclose()

        return EventStream(self._events(written, form), close, left + self.settings.heartbeat)

    def _read(self, data: bytes, headers: Mapping[str, str], level: details.Level) -> Telling:
        body = self.protocol.as_chat(decoded(data))
        asked = parsed(ChatRequest, body)
        refuse_what_cannot_be_guarded(asked)
        tools = bool(asked.tools or asked.functions)
        wanted = read_format(asked.response_format, self.protocol.format_field, tools=tools)
        places = self.settings.markers, self.settings.source_tools
        found = find_source(asked.messages, asked.documents, *places, together=self.protocol.together)
        if self.writer is None:
            raise ProtocolError(
                501, "this server only checks: start it with --upstream", code="no_upstream", retry=False
            )
        answer = self.writer.answer(asked, body, found, headers)
        return Telling(asked, answer, found, level, self.guard.policy, wanted)

    def _written(self, telling: Telling, time_limit: float) -> GuardedAnswer:
        answer, guard = telling.answer, self.guard.with_generator(telling.answer.generator)
        return GuardedAnswer(
            lambda: guarded_stream(guard, answer.prompt, telling.found.documents, telling.wanted),
            self.observer,
            endpoint=self.protocol.name,
            time_limit=time_limit,
            failure=lambda: answer.failure,
        )

    async def _whole(self, form: Form, time_limit: float) -> Response:
        answer = form.telling.answer
        try:
            await answer.open()
            written = self._written(form.telling, time_limit)
            try:
                return json_response(form.whole(await written.result()))
            finally:
                await written.aclose()
        finally:
            await answer.aclose()

    async def _events(self, written: GuardedAnswer, form: Form) -> AsyncIterator[bytes]:
        for told in form.begin():
            yield told
        try:
            async for decided in written.events(self.settings.heartbeat):
                if decided is None:
                    yield HEARTBEAT
                    continue
                for told in form.end(decided) if isinstance(decided, GuardResult) else form.sentence(decided):
                    yield told
        except ProtocolError as error:  # the status has been sent: protocols have events for errors
            for told in form.failed(error):
                yield told


class EventStream(StreamingResponse):
    """Server-sent events, for a client that has read them after `time_limit` seconds or is left.

    `close` runs however the stream ends, begun or not.
    """

    def __init__(self, events: AsyncIterator[bytes], close: Callable[[], Awaitable[None]], time_limit: float) -> None:
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._close, self._time_limit = close, time_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them. Raises: ClientLeftError if nobody reads them in time."""
        try:
            async with asyncio.timeout(self._time_limit):
                await super().__call__(scope, receive, send)
        except TimeoutError:
            raise ClientLeftError from None
        finally:
            await self._close()
