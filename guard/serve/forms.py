"""The seam to protocols: how a request becomes a chat completion, and how an answer is told.

A `Protocol` names the two modules of a protocol to the endpoint (`groundrail.serve.endpoint`).
`groundrail.serve.guarded` decides which text an answer may hold.
"""

import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from groundrail.objects.answers import ObjectFormat
from groundrail.policy import Policy
from groundrail.serve import details
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.metadata import REASONS, Call, calls_of, counts_of
from groundrail.serve.requests import ChatRequest
from groundrail.serve.sources import Found
from groundrail.serve.writers import WrittenAnswer
from groundrail.types import CheckedSentence, GuardResult


@dataclass
class Form(ABC):
    """One answer in the form of a protocol: as events, in the order of these methods, or whole.

    It tells of the request, its answer and source, in as much detail as is asked for.
    """

    asked: ChatRequest
    answer: WrittenAnswer
    found: Found
    level: details.Level
    policy: Policy
    wanted: ObjectFormat | None
    prefix: ClassVar[str]

    def __post_init__(self) -> None:
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
        """Events of an answer that fails after its beginning was sent, without those that end a whole one."""

    @abstractmethod
    def whole(self, result: GuardResult) -> dict[str, Any]:
        """The object of an answer that is not streamed."""

    @property
    def usage(self) -> dict[str, Any]:
        """Token counts so far."""
        return counts_of(self.answer.completion.usage)

    def finish_reason(self, result: GuardResult) -> str:
        """The writer's; `content_filter` where the guard ended the answer, or let nothing of it through."""
        reason, is_calling = self.answer.completion.finish_reason, bool(self.calls(result))
        emptied = _withheld(result) and not result.text.strip() and not is_calling
        if emptied or self._is_ended(result) or not reason:
            return "content_filter"
        if reason not in REASONS or (reason in ("tool_calls", "function_call") and not is_calling):
            return "stop"
        return reason

    def calls(self, result: GuardResult) -> list[Call]:
        """The calls of tools; none where the guard ended the answer. Raises: ProtocolError."""
        return [] if self._is_ended(result) else calls_of(self.answer.completion.calls, self.asked)

    def details(self, result: GuardResult, *, sentences: bool = True) -> dict[str, Any]:
        """The field `groundrail`; nothing where it is not asked for."""
        told = details.of_result(result, self.found.place, self.level, sentences=sentences)
        return {} if self.level == "off" else {"groundrail": told}

    def _is_ended(self, result: GuardResult) -> bool:
        """Whether the guard ended the answer, even if the writer had ended it by then."""
        return self.policy.fallback == "abstain" and _withheld(result)


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


def _withheld(result: GuardResult) -> bool:
    return not all(sentence.released for sentence in result.sentences)
