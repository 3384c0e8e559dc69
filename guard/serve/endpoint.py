"""The endpoints; that of every protocol which asks for answers: read the request, ask upstream, check, answer.

Requests and events of a protocol are in its two modules, behind `groundrail.serve.forms`; the endpoints for answers that
are already written are in `groundrail.serve.check`.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from groundrail.generation.streams import AsyncGuardedStream
from groundrail.guard import Guard
from groundrail.serve import details
from groundrail.serve.error_forms import ProtocolError, json_response
from groundrail.serve.forms import Form
from groundrail.serve.guarded import HEARTBEAT, EventStream, GuardedAnswer, read, unless_disconnected
from groundrail.serve.objects import ObjectStream, read_format
from groundrail.serve.observe import Observer
from groundrail.serve.read_sources import ReadSources
from groundrail.serve.requests import ChatRequest, decoded, parsed
from groundrail.serve.settings import Settings
from groundrail.serve.sources import find_source, question_in
from groundrail.serve.writers import Writer
from groundrail.types import GuardResult


@dataclass
class Endpoint(ABC):
    """An address that checks answers. `name`: in metrics."""

    guard: Guard
    settings: Settings
    observer: Observer
    sources: ReadSources
    name: str = field(init=False)

    @abstractmethod
    async def answer(self, request: Request) -> Response:
        """Answer a request. Raises: ProtocolError."""


@dataclass
class Writing(Endpoint):
    """Answers requests in one protocol, by what `writer` writes; without a writer it refuses them."""

    form: type[Form]
    writer: Writer | None

    def __post_init__(self) -> None:
        self.name = self.form.name

    async def answer(self, request: Request) -> Response:
        """Answer whole, or as a stream of events."""
        form = await read(request, self._read, request.headers, details.level_of(request))
        deadline = request.scope["deadline"]
        async with AsyncExitStack() as stack:
            stack.push_async_callback(form.answer.aclose)
            await unless_disconnected(request, form.answer.begin())
            written = self._written(form, deadline)
            stack.push_async_callback(written.aclose)
            if not form.asked.stream:
                return json_response(form.whole(await unless_disconnected(request, written.result())))
            return EventStream(self._events(written, form), stack.pop_all().aclose, deadline + self.settings.heartbeat)

    def _read(self, data: bytes, headers: Mapping[str, str], level: details.Level) -> Form:
        body = self.form.as_chat(decoded(data))
        asked = parsed(ChatRequest, body)
        tools = bool(asked.tools or asked.functions)
        wanted = read_format(asked.response_format, self.form.format_field, tools=tools)
        places = self.settings.markers, self.settings.source_tools
        found = find_source(asked.messages, asked.documents, *places, together=self.form.together)
        question = question_in(asked.messages, self.settings.markers)
        if self.writer is None:
            said = "this server only checks: start it with --upstream"
            raise ProtocolError(501, said, code="no_upstream", retry=False)
        answer = self.writer.answer(asked, body, found, headers)
        return self.form(asked, answer, found, question, level, self.guard.policy, wanted)

    def _written(self, form: Form, deadline: float) -> GuardedAnswer:
        answer, wanted, asked = form.answer, form.wanted, (form.question, self.sources.of(form.found.documents))
        guard = self.guard.with_generator(answer.generator)

        async def open_stream() -> AsyncGuardedStream:
            if wanted is not None:
                return ObjectStream(guard, *asked, wanted)
            return await guard.astream(*asked)

        return GuardedAnswer(open_stream, self.observer, self.name, deadline, failure=lambda: answer.failure)

    async def _events(self, written: GuardedAnswer, form: Form) -> AsyncIterator[bytes]:
        for event in form.begin():
            yield event
        try:
            async for decided in written.events(self.settings.heartbeat):
                if decided is None:
                    yield HEARTBEAT
                    continue
                for event in form.end(decided) if isinstance(decided, GuardResult) else form.sentence(decided):
                    yield event
        except ProtocolError as error:  # the status has been sent: protocols have events for errors
            for event in form.failed(error):
                yield event
