"""The seam to protocols: how a request becomes a chat completion, and how an answer is told.

A `Protocol` names the two modules of a protocol to the endpoint (`groundrail.serve.endpoint`). Deciding which text an
answer may hold is `groundrail.serve.guarded`'s.
"""

import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from groundrail.policy import Policy
from groundrail.serve import details
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.requests import ChatRequest
from groundrail.serve.sources import Found
from groundrail.serve.writers import WrittenAnswer
from groundrail.types import CheckedSentence, GuardResult


@dataclass(frozen=True, slots=True)
class Telling:
    """All that a form tells of: the request, its answer and source, and how much detail is asked for."""

    asked: ChatRequest
    answer: WrittenAnswer
    found: Found
    level: details.Level
    policy: Policy

    def finish_reason(self, result: GuardResult) -> str:
        """The writer's; `content_filter` where the guard ended the answer, or let nothing of it through."""
        emptied = _withheld(result) and not result.text.strip() and not self.answer.calls
        filtered = emptied or self._is_ended(result) or not self.answer.finish_reason
        return "content_filter" if filtered else str(self.answer.finish_reason)

    def deltas(self, result: GuardResult) -> list[dict[str, Any]]:
        """The deltas of tool calls; none where the guard ended the answer."""
        return [] if self._is_ended(result) else self.answer.calls

    def calls(self, result: GuardResult) -> dict[str, Any]:
        """The tool calls of a whole message, as a chat completion has them."""
        return joined(self.deltas(result))

    def details(self, result: GuardResult, *, sentences: bool) -> dict[str, Any]:
        """The field `groundrail`; nothing where it is not asked for."""
        if self.level == "off":
            return {}
        return {"groundrail": details.of_result(result, self.found.place, self.level, sentences=sentences)}

    def _is_ended(self, result: GuardResult) -> bool:
        """Whether the guard ended the answer, even if the writer had ended it by then."""
        return self.policy.fallback == "abstain" and _withheld(result)


class Form(ABC):
    """One answer in the form of a protocol: as events, in the order of these methods, or whole."""

    prefix: str

    def __init__(self, telling: Telling) -> None:
        self.telling = telling
        self.id, self.created = f"{self.prefix}{uuid.uuid4().hex}", int(time.time())

    @abstractmethod
    def begin(self) -> Iterator[bytes]:
        """Events before the first sentence."""

    @abstractmethod
    def sentence(self, sentence: CheckedSentence) -> Iterator[bytes]:
        """Events of a sentence that has its verdict."""

    @abstractmethod
    def end(self, result: GuardResult) -> Iterator[bytes]:
        """Events after the last sentence."""

    @abstractmethod
    def failed(self, error: ProtocolError) -> Iterator[bytes]:
        """Events of an answer that fails after its beginning was sent."""

    @abstractmethod
    def whole(self, result: GuardResult) -> dict[str, Any]:
        """The object of an answer that is not streamed."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol: its name in metrics, its requests as those of chat completions, and the form of its answers.

    as_chat: gives the body of a chat completion. Raises: ProtocolError for requests that cannot be guarded.
    together: sources are tool results and documents in messages alike.
    format_field: the request's field that asks for JSON; errors name it.
    """

    name: str
    as_chat: Callable[[dict[str, Any]], dict[str, Any]]
    form: type[Form]
    together: bool = True
    format_field: str = "response_format"


def event(content: object, name: str = "") -> bytes:
    """One server-sent event, in ASCII."""
    named = f"event: {name}\n".encode() if name else b""
    return named + b"data: " + json.dumps(content).encode() + b"\n\n"


def joined(deltas: list[dict[str, Any]]) -> dict[str, Any]:
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
        elif name in ("arguments", "input"):  # of functions, of custom tools
            whole[name] = whole.get(name, "") + (value or "")
        elif value is not None:
            whole[name] = value


def _withheld(result: GuardResult) -> bool:
    return not all(sentence.released for sentence in result.sentences)
