"""`POST /v1/responses`: the events and objects of OpenAI's Responses protocol around released sentences."""

from collections.abc import Iterator
from typing import Any

from groundrail.openai.events import Call
from groundrail.serve.annotations import Annotations
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.forms import Form, event
from groundrail.serve.responses_requests import as_chat
from groundrail.types import CheckedSentence, GuardResult

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}

_CALLS = {
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
}
"""By the type of a call's item: the field with the arguments, and the name of the events that tell of them."""


_UNKNOWN: dict[str, Any] = {"object": "response", "store": False, "tool_choice": "auto", "tools": []}
_UNKNOWN |= dict.fromkeys(("error", "incomplete_details", "instructions", "previous_response_id", "usage"))
"""Fields of every response that tell nothing of its answer."""


class ResponsesForm(Form):
    """One answer as a response: a message with the released text, whose annotations cite the source, then tool calls.

    The message begins with the first released sentence. The citations of a sentence follow its text.
    """

    name, prefix, format_field = "responses", "resp_", "text.format"
    as_chat = staticmethod(as_chat)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._events = 0
        self._written = Annotations(self.found.documents, self.level)
        self._place = {"item_id": f"msg_{self.id}", "output_index": 0, "content_index": 0}

    def begin(self) -> Iterator[bytes]:
        for kind in ("response.created", "response.in_progress"):
            yield self._event(kind, response=self._response("in_progress", []))

    def sentence(self, sentence: CheckedSentence) -> Iterator[bytes]:
        if not sentence.released_text:
            return
        if not self._written.text:
            empty = {**self._message("in_progress"), "content": []}
            yield self._event("response.output_item.added", output_index=0, item=empty)
            yield self._event("response.content_part.added", **self._place, part=self._part())
        known = len(self._written.listed)
        added = self._written.add(sentence)
        yield self._event("response.output_text.delta", **self._place, delta=sentence.released_text, logprobs=[])
        for number, annotation in enumerate(added, start=known):
            fields = {**self._place, "annotation_index": number, "annotation": annotation}
            yield self._event("response.output_text.annotation.added", **fields)

    def end(self, result: GuardResult) -> Iterator[bytes]:
        if self._written.text:
            yield self._event("response.output_text.done", **self._place, text=self._written.text, logprobs=[])
            yield self._event("response.content_part.done", **self._place, part=self._part())
            yield self._event("response.output_item.done", output_index=0, item=self._message("completed"))
        whole = self.object(result)
        for index, item in enumerate(whole["output"]):
            if item["type"] in _CALLS:
                yield from self._call(index, item)
        yield self._event(f"response.{whole['status']}", response=whole)

    def failed(self, error: ProtocolError) -> Iterator[bytes]:
        yield self._event("error", code=error.code, message=error.message, param=error.param)
        output = [self._message("incomplete")] if self._written.text else []
        said = {"code": "server_error", "message": error.message}
        yield self._event("response.failed", response=self._response("failed", output) | {"error": said})

    def object(self, result: GuardResult) -> dict[str, Any]:
        reason = _INCOMPLETE.get(self.finish_reason(result))
        whole = self._response("incomplete" if reason else "completed", self._output(result))
        if reason:
            whole["incomplete_details"] = {"reason": reason}
        return whole | {"usage": _usage(self.usage)} | self.details(result)

    def _part(self) -> dict[str, Any]:
        return {
            "type": "output_text",
            "text": self._written.text,
            "annotations": [*self._written.listed],
            "logprobs": [],
        }

    def _message(self, status: str) -> dict[str, Any]:
        item = {"id": self._place["item_id"], "type": "message", "role": "assistant", "status": status}
        return item | {"content": [self._part()]}

    def _output(self, result: GuardResult) -> list[dict[str, Any]]:
        """The items of the output: the message if it has text, then the tool calls."""
        texts = [self._message("completed")] if self._written.text else []
        calls = enumerate(self.calls(result))
        return [*texts, *(_call_item(call, f"item_{self.id}_{number}") for number, call in calls)]

    def _call(self, index: int, item: dict[str, Any]) -> Iterator[bytes]:
        """The events of a tool call."""
        field, kind = _CALLS[item["type"]]
        place = {"output_index": index, "item_id": item["id"]}
        begun = item | {field: ""} | ({"status": "in_progress"} if "status" in item else {})
        yield self._event("response.output_item.added", output_index=index, item=begun)
        yield self._event(f"response.{kind}.delta", **place, delta=item[field])
        yield self._event(f"response.{kind}.done", **place, **{field: item[field]}, name=item["name"])
        yield self._event("response.output_item.done", output_index=index, item=item)

    def _response(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        asked = self.asked.model_extra or {}
        return {
            **_UNKNOWN,
            "id": self.id,
            "created_at": self.created,
            "model": self.asked.model,
            "status": status,
            "output": output,
            "metadata": asked.get("metadata") or {},
            "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
            "temperature": asked.get("temperature"),
            "top_p": asked.get("top_p"),
        }

    def _event(self, kind: str, **fields: Any) -> bytes:
        number, self._events = self._events, self._events + 1
        return event({"type": kind, "sequence_number": number, **fields}, kind)


def _call_item(call: Call, name: str) -> dict[str, Any]:
    """A call as an item of the output."""
    kind = "custom_tool_call" if call.kind == "custom" else "function_call"
    item = {"id": name, "type": kind, "call_id": call.id, "name": call.name, _CALLS[kind][0]: call.given}
    return item | ({"status": "completed"} if kind == "function_call" else {})


def _usage(counts: dict[str, Any]) -> dict[str, Any] | None:
    """Token counts of chat completions under the names of this protocol; None where there are none."""
    asked, written = counts.get("prompt_tokens", 0), counts.get("completion_tokens", 0)
    cached = counts.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    thought = counts.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
    counted = {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": counts.get("total_tokens", asked + written),
    }
    return counted if counts else None
