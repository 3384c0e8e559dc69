"""`POST /v1/chat/completions`: the protocol's chunks and objects around released sentences."""

from collections.abc import Iterator
from typing import Any

from groundrail.openai.events import Call
from groundrail.serve import details
from groundrail.serve.annotations import Annotations, in_chat
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.forms import Form, event
from groundrail.types import CheckedSentence, GuardResult

DONE = b"data: [DONE]\n\n"


class ChatForm(Form):
    """One answer's chunks, or its whole object."""

    name, prefix, format_field, together = "chat", "chatcmpl-", "response_format", False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._written = Annotations(self.found.documents, self.level)

    def begin(self) -> Iterator[bytes]:
        yield event(self._chunk({"role": "assistant", "content": ""}))

    def sentence(self, sentence: CheckedSentence) -> Iterator[bytes]:
        text, level = sentence.released_text, self.level
        chunk = self._chunk({"content": text, **in_chat(self._written.add(sentence))} if text else {})
        if level != "off":
            yield event(chunk | {"groundrail": {"sentence": details.of_sentence(sentence, level)}})
        elif text:
            yield event(chunk)

    def end(self, result: GuardResult) -> Iterator[bytes]:
        if calls := _call_fields(self.calls(result), streamed=True):
            yield event(self._chunk(calls))
        ending = self._chunk({}, self.finish_reason(result))
        yield event(ending | self.details(result, sentences=False))
        if self._tells_usage:
            yield event(self._of_kind("chat.completion.chunk", []) | {"usage": self.usage or None})
        yield DONE

    def failed(self, error: ProtocolError) -> Iterator[bytes]:
        yield event(error.body())

    def object(self, result: GuardResult) -> dict[str, Any]:
        calls, usage = _call_fields(self.calls(result)), self.usage
        content = None if calls and not result.text else result.text
        message = {"role": "assistant", "content": content, "refusal": None, **in_chat(self._written.listed), **calls}
        reason = self.finish_reason(result)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        fields = self._of_kind("chat.completion", [choice]) | self.details(result)
        return fields | ({"usage": usage} if usage else {})

    @property
    def _tells_usage(self) -> bool:
        options = self.asked.stream_options
        return options is not None and bool(options.include_usage)

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self._tells_usage and self.asked.stream else {}
        return self._of_kind("chat.completion.chunk", [choice]) | usage

    def _of_kind(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        model = self.asked.model
        return {"id": self.id, "object": kind, "created": self.created, "model": model, "choices": choices}


def _call_fields(calls: list[Call], *, streamed: bool = False) -> dict[str, Any]:
    """The calls of tools in a message, or in a delta, which numbers them."""
    listed: list[dict[str, Any]] = []
    for call in calls:
        said = {"name": call.name, "input" if call.kind == "custom" else "arguments": call.given}
        if call.kind == "function_call":
            return {"function_call": said}
        number = {"index": len(listed)} if streamed else {}
        listed.append({**number, "id": call.id, "type": call.kind, call.kind: said})
    return {"tool_calls": listed} if listed else {}
