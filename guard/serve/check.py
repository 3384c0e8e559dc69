"""`POST /v1/check`: an answer that is already written, checked against a source.

Whole, as a `GuardResult`; or, with `"stream": true`, as events: `{"sentence": ...}` each, `{"result": ...}` last.
"""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response
from tenacity import stop_after_attempt

from groundrail.errors import GroundrailError, UnsupportedError
from groundrail.guard import Guard
from groundrail.serve.chat_completions import DONE
from groundrail.serve.error_forms import ProtocolError, json_response
from groundrail.serve.forms import event
from groundrail.serve.guarded import HEARTBEAT, EventStream, GuardedAnswer, read, unless_disconnected
from groundrail.serve.observe import Observer
from groundrail.serve.requests import CheckRequest, decoded, parsed
from groundrail.serve.settings import Settings
from groundrail.serve.sources import named
from groundrail.types import Document, GuardResult


class Check:
    """The endpoint."""

    name = "check"

    def __init__(self, guard: Guard, settings: Settings, observer: Observer) -> None:
        self.guard, self.settings, self.observer = guard, settings, observer

    async def answer(self, request: Request) -> Response:
        """Check whole, or sentence by sentence as if the answer were being written."""
        asked, documents = await read(request, _read)
        if not asked.stream:
            work = checked(self.guard, asked.answer, documents, asked.question, self.observer)
            return json_response((await unless_disconnected(request, work)).model_dump(mode="json"))
        once = self.guard.policy.replacing(stop=stop_after_attempt(1))
        guard, deadline = self.guard.with_generator(lambda prompt: asked.answer), request.scope["deadline"]
        written = GuardedAnswer(
            lambda: guard.with_policy(once).astream(asked.question, documents),
            self.observer,
            endpoint=self.name,
            deadline=deadline,
        )
        return EventStream(self._events(written), written.aclose, deadline + self.settings.heartbeat)

    async def _events(self, written: GuardedAnswer) -> AsyncIterator[bytes]:
        try:
            async for decided in written.events(self.settings.heartbeat):
                if decided is None:
                    yield HEARTBEAT
                else:
                    kind = "result" if isinstance(decided, GuardResult) else "sentence"
                    yield event({kind: decided.model_dump(mode="json")})
            yield DONE
        except ProtocolError as error:
            yield event(error.body())


def _read(data: bytes) -> tuple[CheckRequest, tuple[Document, ...]]:
    asked = parsed(CheckRequest, decoded(data))
    return asked, named(asked.source if isinstance(asked.source, list) else [asked.source])


async def checked(
    guard: Guard, answer: str, documents: tuple[Document, ...], question: str, observer: Observer
) -> GuardResult:
    """The answer's result, every claim in one call. Raises: ProtocolError."""
    with observer.answer(Check.name) as see:
        try:
            result = await guard.acheck(answer, documents, question)
        except UnsupportedError as error:
            raise ProtocolError(422, "a sentence is not supported by the source", code="unsupported") from error
        except GroundrailError as error:
            raise ProtocolError(400, str(error), code="failed") from error
        for sentence in result.sentences:
            see(sentence)
        return result
