"""`POST /v1/check`: an answer that is already written, checked against a source.

Whole, as a `GuardResult`; or, with `"stream": true`, as events: `{"sentence": ...}` each, `{"result": ...}` last.
"""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response
from tenacity import stop_after_attempt

from groundrail.errors import GroundrailError, UnsupportedError
from groundrail.generation.streams import AsyncGuardedStream
from groundrail.guard import Guard
from groundrail.serve.chat_completions import DONE
from groundrail.serve.endpoint import HEARTBEAT, EventStream
from groundrail.serve.error_forms import ProtocolError, json_response
from groundrail.serve.forms import event
from groundrail.serve.guarded import GuardedAnswer, read, unless_disconnected
from groundrail.serve.observe import Observer
from groundrail.serve.requests import CheckRequest, decoded, parsed
from groundrail.serve.settings import Settings
from groundrail.serve.sources import named
from groundrail.types import Document, GuardResult


class Check:
    """The endpoint."""

    def __init__(self, guard: Guard, settings: Settings, observer: Observer) -> None:
        self.guard, self.settings, self.observer = guard, settings, observer

    async def __call__(self, request: Request) -> Response:
        most = self.settings.request_timeout
        asked, documents = await read(request, most, _read, await request.body())
        if not asked.stream:
            work = checked(self.guard, asked.answer, documents, asked.question, self.observer)
            result = await unless_disconnected(request, work, most)
            return json_response(result.model_dump(mode="json"))
        written = GuardedAnswer(
            lambda: _read_aloud(self.guard, asked.answer, documents, asked.question),
            self.observer,
            endpoint="check",
            time_limit=most,
        )
        return EventStream(self._events(written), written.aclose, most + self.settings.heartbeat)

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
    with observer.answer("check") as seen:
        try:
            result = await guard.acheck(answer, documents, question)
        except UnsupportedError as error:
            raise ProtocolError(422, "a sentence is not supported by the source", code="unsupported") from error
        except GroundrailError as error:
            raise ProtocolError(400, str(error), code="failed") from error
        for sentence in result.sentences:
            seen.sentence(sentence)
        return result


async def _read_aloud(guard: Guard, answer: str, documents: tuple[Document, ...], question: str) -> AsyncGuardedStream:
    """Check an answer as if it were being written, so that the client gets each sentence as soon as it is judged."""
    once = guard.policy.replacing(stop=stop_after_attempt(1))
    return await guard.with_generator(lambda prompt: answer).with_policy(once).astream(question, documents)
