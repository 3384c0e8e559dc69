"""The addresses that check an answer which is already written, against a source.

`POST /v1/check`: whole, as a `GuardResult`; or, with `"stream": true`, as events: `{"sentence": ...}` each,
`{"result": ...}` last.

`POST /beta/litellm_basic_guardrail_api`: LiteLLM's generic guardrail API, so that its proxy guards by configuration.
LiteLLM tells of the request (`input_type` "request") and then of the answer ("response"), which comes without the
conversation. So the source is taken from the request's messages, by the rules of `groundrail.serve.sources`, and kept
for the answer with the same `litellm_call_id`; or it comes with the answer, as `documents` in the parameters. The
question is the last user message.
"""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from groundrail.errors import GroundrailError, UnsupportedError
from groundrail.serve.chat_completions import DONE
from groundrail.serve.details import why
from groundrail.serve.endpoint import Endpoint
from groundrail.serve.error_forms import ProtocolError, json_response
from groundrail.serve.forms import event
from groundrail.serve.guarded import HEARTBEAT, EventStream, GuardedAnswer, read, unless_disconnected
from groundrail.serve.requests import CheckRequest, GuardrailRequest, decoded, parsed
from groundrail.serve.sources import Found, find_source, named, question_in
from groundrail.text.sentences import Stream, is_finished
from groundrail.types import Document, GuardResult


class Checking(Endpoint):
    """An address that checks written answers."""

    async def _checked(self, answer: str, documents: tuple[Document, ...], question: str) -> GuardResult:
        """The answer's result, every claim in one call. Raises: ProtocolError."""
        with self.observer.answer("check") as see:
            try:
                result = await self.guard.acheck(answer, self.sources.of(documents), question)
            except UnsupportedError as error:
                raise ProtocolError(422, "a sentence is not supported by the source", code="unsupported") from error
            except GroundrailError as error:
                raise ProtocolError(400, str(error), code="failed") from error
            for sentence in result.sentences:
                see(sentence)
            return result


class Check(Checking):
    """`/v1/check`."""

    name = "check"

    async def answer(self, request: Request) -> Response:
        """Check whole, or sentence by sentence as if the answer were being written."""
        asked, documents = await read(request, _read)
        if not asked.stream:
            work = self._checked(asked.answer, documents, asked.question)
            return json_response((await unless_disconnected(request, work)).model_dump(mode="json"))
        once = self.guard.policy.replacing(attempts=1)
        guard, deadline = self.guard.with_generator(lambda question: asked.answer), request.scope["deadline"]
        stream = partial(guard.with_policy(once).astream, asked.question, self.sources.of(documents))
        written = GuardedAnswer(stream, self.observer, self.name, deadline)
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


@dataclass
class LiteLLMGuardrail(Checking):
    """The endpoint. Answers NONE, GUARDRAIL_INTERVENED with what is released, or BLOCKED where nothing is."""

    name = "litellm"

    def __post_init__(self) -> None:
        self.kept = _Kept(seconds=self.settings.request_timeout)

    async def answer(self, request: Request) -> Response:
        """Keep a request's source for its answer, or judge the answer."""
        asked, found, question = await read(request, self._read)
        if asked.input_type == "request":
            if asked.litellm_call_id:
                self.kept.put(asked.litellm_call_id, found.documents, question)
            return json_response({"action": "NONE"})
        kept_documents, kept_question = self.kept.get(asked.litellm_call_id or "")
        documents = kept_documents if found.place == "none" else found.documents
        work = self._judged(asked.texts or [], documents, question or kept_question)
        return await unless_disconnected(request, work)

    def _read(self, data: bytes) -> tuple[GuardrailRequest, Found, str]:
        asked = parsed(GuardrailRequest, decoded(data))
        messages, markers = asked.structured_messages or [], self.settings.markers
        given = asked.additional_provider_specific_params
        documents = None if given is None else given.documents
        found = find_source(messages, documents, markers, self.settings.source_tools)
        return asked, found, question_in(messages, markers)

    async def _judged(self, texts: list[str], documents: tuple[Document, ...], question: str) -> Response:
        released: list[str] = []
        held_back: list[int] = []
        reasons: list[str] = []
        for text in texts:
            result = await self._checked(text, documents, question)
            released.append(result.text)
            held_back.append(self._unsettled(text, result))
            reasons += [f"{s.verdict}: {why(s)}" for s in result.sentences if not s.released]
        if released == texts:
            return json_response({"action": "NONE", "stream_holdback_chars": held_back})
        whole = all(is_finished(text) for text in texts)  # a stream's half sentence may still come out well
        if whole and not any(text.strip() for text in released):
            reason = f"the source does not support the answer ({'; '.join(dict.fromkeys(reasons))})"
            return json_response({"action": "BLOCKED", "blocked_reason": reason})
        return json_response({"action": "GUARDRAIL_INTERVENED", "texts": released, "stream_holdback_chars": held_back})

    def _unsettled(self, text: str, result: GuardResult) -> int:
        """Characters at the end of what is released for sentences of `text` that are not finished."""
        finished = len(Stream(self.guard.policy.longest_sentence).feed(text))
        return sum(len(sentence.released_text) for sentence in result.sentences[finished:])


class _Kept:
    """Sources and questions by call, for a while: the oldest go first, and what they take together is bounded."""

    def __init__(self, seconds: float, characters: int = 64 * 1024 * 1024) -> None:
        self._seconds, self._room = seconds, characters
        self._sources: dict[str, tuple[float, int, tuple[Document, ...], str]] = {}
        self._size = 0

    def put(self, call: str, documents: tuple[Document, ...], question: str) -> None:
        self._drop(call)
        size = 1000 + len(question) + sum(len(document.text) for document in documents)
        self._sources[call] = (time.monotonic() + self._seconds, size, documents, question)
        self._size += size
        while self._sources and (self._size > self._room or next(iter(self._sources.values()))[0] < time.monotonic()):
            self._drop(next(iter(self._sources)))

    def get(self, call: str) -> tuple[tuple[Document, ...], str]:
        """The source and the question, none where they are not known (any more)."""
        until, _, documents, question = self._sources.get(call, (0.0, 0, (), ""))
        return (documents, question) if until >= time.monotonic() else ((), "")

    def _drop(self, call: str) -> None:
        if call in self._sources:
            self._size -= self._sources.pop(call)[1]
