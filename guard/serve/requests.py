"""The requests that clients may send, as pydantic models, and how they are read from a body.

Other fields of a chat completion go to the upstream as they are. The requests of the other protocols become chat
completions (`groundrail.serve.messages_requests`, `groundrail.serve.responses_requests`), and a field or a part that
the server cannot guard is refused by name. `groundrail.serve.sources` finds the sources.
"""

import json
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundrail.serve.error_forms import ProtocolError

Model = TypeVar("Model", bound=BaseModel)
Content = str | list[dict[str, Any]]


class Open(BaseModel):
    """Keeps fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Closed(BaseModel):
    """Refuses fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(Open):
    """One turn. `content` is text, a list of parts, or nothing where there are only tool calls."""

    role: str
    content: Content | None = None


class StreamOptions(Open):
    """A client's wishes for a stream besides its text."""

    include_usage: bool | None = None


class SourceDocument(Open):
    """A document as vLLM (`text`, `content`) and Cohere (`data`) write it."""

    text: str | None = None
    content: str | None = None
    data: dict[str, Any] | None = None
    id: str | int | None = None
    metadata: dict[str, Any] | None = None


class ChatRequest(Open):
    """A request for a chat completion, as far as the server looks at it.

    More choices, logprobs and audio would let unchecked text through.
    """

    model: str = Field(min_length=1)
    messages: list[Message] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    logprobs: Literal[False] | None = None
    modalities: list[Literal["text"]] | None = None
    response_format: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    functions: list[dict[str, Any]] | None = None
    documents: list[str | SourceDocument] | None = None

    @property
    def wants_object(self) -> bool:
        """Whether the answer is to be JSON."""
        return self.response_format is not None and self.response_format.get("type") != "text"


class OtherRequest(Closed):
    """The fields that a request of another protocol shares with a chat completion."""

    model: str = Field(min_length=1)
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    service_tier: str | None = None
    documents: list[str | SourceDocument] | None = None

    def as_chat(self, messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
        """The body of the chat completion: the shared fields, and those of `fields` that are not None."""
        shared = self.model_dump(include={*OtherRequest.model_fields}, exclude_none=True)
        usage = {"stream_options": {"include_usage": True}} if self.stream else {}
        given = {name: value for name, value in fields.items() if value is not None}
        return {"messages": messages, **shared, **usage, **given}


class CheckRequest(Closed):
    """An answer that is already written, what it must be supported by, and the question that it answers, if any."""

    answer: str
    question: str = ""
    source: str | SourceDocument | list[str | SourceDocument]
    stream: bool = False


class GuardrailParameters(Open):
    """The parameters of an app for the guardrail, as far as they concern an answer's source."""

    documents: list[str | SourceDocument] | None = None


class GuardrailRequest(Open):
    """LiteLLM's generic guardrail API: texts that were sent (`request`) or written (`response`)."""

    texts: list[str] | None = None
    input_type: Literal["request", "response"]
    litellm_call_id: str | None = None
    structured_messages: list[Message] | None = None
    additional_provider_specific_params: GuardrailParameters | None = None


def decoded(data: bytes) -> dict[str, Any]:
    """The JSON object in a request's body. Raises: ProtocolError for anything else."""
    try:
        body = json.loads(data.decode("utf-8"))
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()  # 1e999, half a surrogate pair
    except (ValueError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ProtocolError(400, f"the request is not JSON: {said}", code="invalid_json") from None
    if not isinstance(body, dict):
        raise ProtocolError(400, "the request must be a JSON object", code="invalid_json")
    return body


def parsed(kind: type[Model], body: dict[str, Any]) -> Model:
    """The request; a field that is null is left out. Raises: ProtocolError naming the first field that is wrong."""
    try:
        return kind.model_validate({name: value for name, value in body.items() if value is not None})
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)[0]
        raise refusal(".".join(map(str, wrong["loc"])), wrong["msg"], wrong["type"]) from None


def refusal(place: str, message: str, code: str = "unsupported_parameter") -> ProtocolError:
    """The error for a field that cannot be used, named by its place in the request."""
    return ProtocolError(400, f"{place}: {message}", param=place, code=code)


def text_at(part: dict[str, Any], place: str, name: str = "text") -> str:
    """The text in a part. Raises: ProtocolError where there is none."""
    if not isinstance(part.get(name), str):
        raise refusal(f"{place}.{name}", "must be text", "string_type")
    return str(part[name])


def content_at(content: Any, place: str, part: Callable[[dict[str, Any], str], dict[str, Any]]) -> Content:
    """Text as it is, or the `part` of each part in a list, given its place. Raises: ProtocolError for anything else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise refusal(place, "must be text or a list of parts", "list_type")
    return [part(each, f"{place}.{number}") for number, each in enumerate(content)]
