"""The seam to protocols: how a request becomes a chat completion, and how an answer is sent.

The protocols are in the modules beside this one, `groundrail.serve.endpoint` answers in them, and
`groundrail.serve.guarded` decides which text an answer may hold. Of the rest of an answer only values of known kinds
are sent: calls of offered tools, counts, a reason. All else that an upstream says is dropped, since it is not judged.
"""

import json
import re
import time
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from groundrail.objects.answers import ObjectFormat
from groundrail.openai.events import Call, known_counts
from groundrail.policy import Policy
from groundrail.serve import details
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.requests import ChatRequest
from groundrail.serve.sources import Found
from groundrail.serve.writers import WrittenAnswer
from groundrail.types import CheckedSentence, GuardResult

_REASONS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


@dataclass
class Form(ABC):
    """One answer in the form of a protocol: as events, in the order of these methods, or whole.

    It tells of the request, its answer and source, in as much detail as is asked for.

    name: the protocol's, in metrics. prefix: of ids. format_field: the request's field that asks for JSON.
    together: sources are tool results and documents in messages alike.
    """

    name: ClassVar[str]
    prefix: ClassVar[str]
    format_field: ClassVar[str]
    together: ClassVar[bool] = True

    asked: ChatRequest
    answer: WrittenAnswer
    found: Found
    question: str
    level: details.Level
    policy: Policy
    wanted: ObjectFormat | None

    def __post_init__(self) -> None:
        self.id, self.created = f"{self.prefix}{uuid.uuid4().hex}", int(time.time())

    @staticmethod
    def as_chat(body: dict[str, Any]) -> dict[str, Any]:
        """The chat completion that a request asks for. Raises: ProtocolError where it cannot be guarded."""
        return body

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
        """Events of an answer that fails after its beginning was sent, without those that end a whole one."""

    @abstractmethod
    def object(self, result: GuardResult) -> dict[str, Any]:
        """The object of an answer whose events were made."""

    def whole(self, result: GuardResult) -> dict[str, Any]:
        """The object of an answer that is not streamed."""
        deque(chain(*map(self.sentence, result.sentences), self.end(result)), maxlen=0)  # events that nobody reads
        return self.object(result)

    @property
    def usage(self) -> dict[str, Any]:
        """Token counts so far."""
        return known_counts(self.answer.completion.usage)

    def finish_reason(self, result: GuardResult) -> str:
        """The writer's; `content_filter` where the guard ended the answer, or let nothing of it through."""
        reason, is_calling = self.answer.completion.finish_reason, bool(self.calls(result))
        emptied = _withheld(result) and not result.text.strip() and not is_calling
        if emptied or self._is_ended(result) or not reason:
            return "content_filter"
        if reason not in _REASONS or (reason in ("tool_calls", "function_call") and not is_calling):
            return "stop"
        return reason

    def calls(self, result: GuardResult) -> list[Call]:
        """The calls of tools; none where the guard ended the answer. Raises: ProtocolError."""
        calls = [] if self._is_ended(result) else list(self.answer.completion.calls.values())
        if calls and (self.asked.wants_object or not {(call.kind, call.name) for call in calls} <= {*_offered(self.asked)}):
            raise ProtocolError(502, "the upstream called a tool that the request does not offer", code="bad_call")
        for call in calls:
            call.id = call.id if _ID.fullmatch(call.id) else f"call_{uuid.uuid4().hex}"
        return calls

    def details(self, result: GuardResult, *, sentences: bool = True) -> dict[str, Any]:
        """The field `groundrail`; nothing where it is not asked for."""
        shown = details.of_result(result, self.found.place, self.level, sentences=sentences)
        return {} if self.level == "off" else {"groundrail": shown}

    def _is_ended(self, result: GuardResult) -> bool:
        """Whether the guard ended the answer, even if the writer had ended it by then."""
        return self.policy.fallback == "abstain" and _withheld(result)


def event(content: object, name: str = "") -> bytes:
    """One server-sent event, in ASCII."""
    named = f"event: {name}\n".encode() if name else b""
    return named + b"data: " + json.dumps(content).encode() + b"\n\n"


def _withheld(result: GuardResult) -> bool:
    return not all(sentence.released for sentence in result.sentences)


def _offered(asked: ChatRequest) -> Iterable[tuple[str, str]]:
    """The kinds and names of the tools in a request, none where it wants no call."""
    if asked.tool_choice == "none":
        return
    for tool in asked.tools or ():
        for kind in ("function", "custom"):
            if isinstance(said := tool.get(kind), dict):
                yield kind, str(said.get("name"))
    yield from (("function_call", str(function.get("name"))) for function in asked.functions or ())
