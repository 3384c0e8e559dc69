"""The requests that clients may send, as pydantic models, and how they are read from a body.

Other fields go to the upstream as they are. `groundrail.serve.sources` finds the sources.
"""

import json
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundrail.serve.error_forms import ProtocolError

Model = TypeVar("Model", bound=BaseModel)


class _Open(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")


class Message(_Open):
    """One turn. `content` is text, a list of parts, or nothing where there are only tool calls."""

    role: str
    content: str | list[dict[str, Any]] | None = None


class StreamOptions(_Open):
    """A client's wishes for a stream besides its text."""

    include_usage: bool | None = None


class SourceDocument(_Open):
    """A document as vLLM (`text`, `content`) and Cohere (`data`) write it."""

    text: str | None = None
    content: str | None = None
    data: dict[str, Any] | None = None
    id: str | int | None = None
    metadata: dict[str, Any] | None = None


class ChatRequest(_Open):
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


class CheckRequest(BaseModel):
    """An answer that is already written, what it must be supported by, and the question that it answers, if any."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: str
    question: str = ""
    source: str | SourceDocument | list[str | SourceDocument]
    stream: bool = False


class GuardrailRequest(_Open):
    """LiteLLM's generic guardrail API: texts that were sent (`request`) or written (`response`)."""

    texts: list[str] | None = None
    input_type: Literal["request", "response"]
    litellm_call_id: str | None = None
    structured_messages: list[Message] | None = None
    additional_provider_specific_params: dict[str, Any] | None = None


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
    """The request. Raises: ProtocolError naming the first field that is wrong."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in wrong["loc"])
        raise ProtocolError(400, f"{place}: {wrong['msg']}", param=place, code=wrong["type"]) from None
