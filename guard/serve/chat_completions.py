"""`POST /v1/chat/completions`: the protocol's chunks and objects around released sentences.

Reading requests, finding sources, asking upstream and checking are the neighbours'.
"""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from groundrail.guard import Guard
from groundrail.policy import Policy
from groundrail.serve import details
from groundrail.serve.error_forms import ProtocolError, json_response
from groundrail.serve.guarded import ClientLeftError, GuardedAnswer, unless_disconnected
from groundrail.serve.objects import guarded_stream
from groundrail.serve.observe import Observer
from groundrail.serve.requests import ChatRequest, parsed, read_json, refuse_what_cannot_be_guarded
from groundrail.serve.settings import Settings
from groundrail.serve.sources import Found, find_source
from groundrail.serve.writers import Answer, Writer
from groundrail.types import CheckedSentence, GuardResult

HEARTBEAT = b": waiting for a verdict\n\n"
DONE = b"data: [DONE]\n\n"


def event(content: object) -> bytes:
    """One server-sent event, in ASCII."""
    return b"data: " + json.dumps(content).encode() + b"\n\n"


class EventStream(StreamingResponse):
    """Server-sent events, for a client that has read them after `time_limit` seconds or is left.

    `close` runs however the stream ends, begun or not.
    """

    def __init__(self, events: AsyncIterator[bytes], close: Any, time_limit: float) -> None:
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


class Chat:
    """The endpoint."""

    def __init__(self, guard: Guard, writer: Writer | None, settings: Settings, observer: Observer) -> None:
        self.guard, self.writer, self.settings, self.observer = guard, writer, settings, observer

    async def __call__(self, request: Request) -> Response:
        body = await read_json(request, self.settings)
        asked = parsed(ChatRequest, body)
        refuse_what_cannot_be_guarded(asked)
        level = details.level_of(request)
        chosen = self.settings.markers, self.settings.source_tools
        found = await asyncio.to_thread(find_source, asked.messages, asked.documents, *chosen)
        if self.writer is None:
            raise ProtocolError(
                501, "this server only checks: start it with --upstream", code="no_upstream", retry=False
            )
        answer, most = self.writer.answer(asked, body, found, request.headers), self.settings.request_timeout
        begun = time.monotonic()
        if not asked.stream:
            return await unless_disconnected(request, self._whole(asked, answer, found, level), most)
        try:
            await unless_disconnected(request, answer.open(), most)
            left = most - (time.monotonic() - begun)
            written = self._written(asked, answer, found, left)
        except BaseException:
            await answer.aclose()
            raise

        async def close() -> None:
            await written.aclose()
            await answer.aclose()

        usage = asked.stream_options is not None and bool(asked.stream_options.include_usage)
        events = self._events(written, Form(answer, found, level, self.guard.policy, usage))
        return EventStream(events, close, left + self.settings.heartbeat)

    def _written(self, asked: ChatRequest, answer: Answer, found: Found, time_limit: float) -> GuardedAnswer:
        guard = self.guard.with_generator(answer.generator)
        return GuardedAnswer(
            lambda: guarded_stream(guard, answer.prompt, found.documents, asked.response_format),
            self.observer,
            endpoint="chat",
            time_limit=time_limit,
            failure=lambda: answer.failure,
        )

    async def _whole(self, asked: ChatRequest, answer: Answer, found: Found, level: details.Level) -> Response:
        try:
            await answer.open()
            written = self._written(asked, answer, found, self.settings.request_timeout)
            try:
                result = await written.result()
            finally:
                await written.aclose()
            return json_response(Form(answer, found, level, self.guard.policy).whole(result))
        finally:
            await answer.aclose()

    async def _events(self, written: GuardedAnswer, form: "Form") -> AsyncIterator[bytes]:
        yield event(form.chunk({"role": "assistant", "content": ""}))
        try:
            async for decided in written.events(self.settings.heartbeat):
                if decided is None:
                    yield HEARTBEAT
                elif isinstance(decided, GuardResult):
                    for last in form.last(decided):
                        yield event(last)
                elif (chunk := form.sentence(decided)) is not None:
                    yield event(chunk)
            yield DONE
        except ProtocolError as error:  # the status has been sent: the protocol has errors as events for that
            yield event(error.body)


class Form:
    """One answer's chunks, or its whole object."""

    def __init__(self, answer: Answer, found: Found, level: details.Level, policy: Policy, usage: bool = False) -> None:
        self._answer, self._found, self._level, self._policy, self._usage = answer, found, level, policy, usage
        self._id, self._created = f"chatcmpl-{uuid.uuid4().hex}", int(time.time())

    def chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        """One chunk of a streamed answer."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._object("chat.completion.chunk", [choice]) | ({"usage": None} if self._usage else {})

    def sentence(self, sentence: CheckedSentence) -> dict[str, Any] | None:
        """A chunk with what is released of a sentence; None where there is nothing to tell."""
        text = sentence.released_text
        if self._level == "off":
            return self.chunk({"content": text}) if text else None
        told = {"sentence": details.of_sentence(sentence, self._level)}
        return self.chunk({"content": text} if text else {}) | {"groundrail": told}

    def last(self, result: GuardResult) -> list[dict[str, Any]]:
        """The chunks that end a stream: tool calls, the finish reason, and the counts if they were asked for."""
        chunks = [self.chunk(delta) for delta in self._calls(result)]
        ending = self.chunk({}, self._finish_reason(result))
        chunks.append(ending | self._told(result, sentences=False))
        if self._usage:
            chunks.append(self._object("chat.completion.chunk", []) | {"usage": self._answer.usage or None})
        return chunks

    def whole(self, result: GuardResult) -> dict[str, Any]:
        """The object of an answer that is not streamed."""
        calls = _joined(self._calls(result))
        content = None if calls and not result.text else result.text
        message = {"role": "assistant", "content": content, "refusal": None, **calls}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish_reason(result)}
        fields = self._object("chat.completion", [choice]) | self._told(result, sentences=True)
        return fields | ({"usage": self._answer.usage} if self._answer.usage else {})

    def _object(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": kind,
            "created": self._created,
            "model": self._answer.model,
            "choices": choices,
        }

    def _told(self, result: GuardResult, *, sentences: bool) -> dict[str, Any]:
        if self._level == "off":
            return {}
        return {"groundrail": details.of_result(result, self._found.place, self._level, sentences=sentences)}

    def _finish_reason(self, result: GuardResult) -> str:
        """The writer's; `content_filter` where the guard ended the answer, or let nothing of it through."""
        emptied = _withheld(result) and not result.text.strip() and not self._answer.calls
        filtered = emptied or self._is_ended(result) or not self._answer.finish_reason
        return "content_filter" if filtered else str(self._answer.finish_reason)

    def _calls(self, result: GuardResult) -> list[dict[str, Any]]:
        return [] if self._is_ended(result) else self._answer.calls

    def _is_ended(self, result: GuardResult) -> bool:
        """Whether the guard ended the answer, even if the writer had ended it by then."""
        return self._policy.fallback == "abstain" and _withheld(result)


def _withheld(result: GuardResult) -> bool:
    return not all(sentence.released for sentence in result.sentences)


def _joined(deltas: list[dict[str, Any]]) -> dict[str, Any]:
    """Tool calls of a whole message, from the deltas of a stream."""
    calls: dict[int, dict[str, Any]] = {}
    function: dict[str, Any] = {}
    for delta in deltas:
        for number, call in enumerate(delta.get("tool_calls") or ()):
            index = call.get("index")
            _extend(calls.setdefault(number if index is None else index, {}), call)
        _extend(function, delta.get("function_call") or {})
    whole: dict[str, Any] = {}
    if calls:
        whole["tool_calls"] = [
            {name: value for name, value in calls[index].items() if name != "index"} for index in sorted(calls)
        ]
    return whole | ({"function_call": function} if function else {})


def _extend(whole: dict[str, Any], delta: dict[str, Any]) -> None:
    for name, value in delta.items():
        if isinstance(value, dict) and isinstance(whole.setdefault(name, {}), dict):
            _extend(whole[name], value)
        elif name == "arguments":
            whole[name] = whole.get(name, "") + (value or "")
        elif value is not None:
            whole[name] = value
