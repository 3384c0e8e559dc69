"""Requests of Anthropic's Messages protocol, as chat completions.

A field or a block that the server cannot guard is refused by name. `document` and `search_result` blocks become parts
that are marked as sources (`groundrail.serve.sources`), with what a citation needs to name them (`Cited`).
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.requests import SourceDocument, parsed

_PASSED_ON = ("model", "stream", "max_tokens", "temperature", "top_p", "top_k", "service_tier", "documents")
"""Fields that a chat completion, or a server that speaks it, has under the same name."""

_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


class _Open(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Turn(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["user", "assistant", "system"]
    content: str | list[dict[str, Any]]


class _Metadata(_Open):
    user_id: str | None = None


class _Thinking(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["disabled"]


class _Format(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["json_schema"]
    json_schema: dict[str, Any] = Field(alias="schema")


class _Tool(_Open):
    """A tool that the client runs; one that Anthropic runs has a type of its own, and its text cannot be held back."""

    type: Literal["custom"] | None = None
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = Field(default=None, alias="input_schema")
    strict: bool | None = None

    def as_chat(self) -> dict[str, Any]:
        """The tool of a chat completion."""
        return {"type": "function", "function": self.model_dump(exclude_none=True, exclude={"type"})}


class _ToolChoice(_Open):
    type: Literal["auto", "any", "none", "tool"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class _OutputConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: _Format | None = None


class MessagesRequest(BaseModel):
    """The fields that the server understands; every other one is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    messages: list[_Turn] = Field(min_length=1)
    max_tokens: int
    system: str | list[dict[str, Any]] | None = None
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    metadata: _Metadata | None = None
    service_tier: str | None = None
    tools: list[_Tool] | None = None
    tool_choice: _ToolChoice | None = None
    thinking: _Thinking | None = None
    output_config: _OutputConfig | None = None
    documents: list[str | SourceDocument] | None = None


@dataclass(frozen=True, slots=True)
class Cited:
    """How a block is cited: its kind and number among blocks of that kind, and its own blocks of text.

    is_cited: whether the request asks for citations of it.
    """

    kind: Literal["document", "search_result"]
    index: int
    title: str | None
    source: str | None
    blocks: list[str] | None
    is_cited: bool


def as_chat(body: dict[str, Any]) -> dict[str, Any]:
    """The chat completion to ask for. Raises: ProtocolError."""
    body = {name: value for name, value in body.items() if value is not None}
    asked, reading = parsed(MessagesRequest, body), _Reading()
    if asked.messages[-1].role == "assistant":
        raise _refusal("messages", "the last turn is the assistant's, and a text that is begun is not written on")
    if asked.system:
        reading.messages.append({"role": "system", "content": reading.parts(asked.system, "system")})
    for number, turn in enumerate(asked.messages):
        reading.add(turn, f"messages.{number}.content")
    fields: dict[str, Any] = {
        "stop": asked.stop_sequences or None,
        "user": asked.metadata and asked.metadata.user_id,
        "tools": [tool.as_chat() for tool in asked.tools or ()] or None,
        "stream_options": {"include_usage": True} if asked.stream else None,
        "response_format": asked.output_config and asked.output_config.format and _schema(asked.output_config.format),
    }
    fields |= {name: body.get(name) for name in _PASSED_ON}
    fields |= _tool_choice(asked.tool_choice) if asked.tool_choice else {}
    return {name: value for name, value in fields.items() if value is not None} | {"messages": reading.messages}


class _Reading:
    """The conversation so far, and how many blocks of each kind were cited in it."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._counts = {"document": 0, "search_result": 0}

    def add(self, turn: _Turn, place: str) -> None:
        """Add a turn: results of tools are messages of their own, before the rest of it."""
        if isinstance(turn.content, str):
            self.messages.append({"role": turn.role, "content": turn.content})
            return
        rest: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        for number, block in enumerate(turn.content):
            here = f"{place}.{number}"
            if block.get("type") == "tool_result" and turn.role == "user":
                content = self.parts(block.get("content") or "", f"{here}.content")
                self.messages.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": content})
            elif block.get("type") == "tool_use" and turn.role == "assistant":
                said = {"name": block.get("name"), "arguments": json.dumps(block.get("input") or {})}
                calls.append({"id": block.get("id"), "type": "function", "function": said})
            else:
                rest.append(self._part(block, here))
        if rest or calls:
            said = {"role": turn.role, "content": rest or None}
            self.messages.append(said | ({"tool_calls": calls} if calls else {}))

    def parts(self, content: Any, place: str) -> str | list[dict[str, Any]]:
        """Text, or the parts of a list of blocks."""
        if isinstance(content, str):
            return content
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
            raise ProtocolError(400, f"{place}: must be text or a list of blocks", param=place)
        return [self._part(block, f"{place}.{number}") for number, block in enumerate(content)]

    def _part(self, block: dict[str, Any], place: str) -> dict[str, Any]:
        match block.get("type"):
            case "text":
                return {"type": "text", "text": _text(block, place)} | ({"source": True} if block.get("source") else {})
            case "image":
                return {"type": "image_url", "image_url": {"url": _address(block.get("source"), f"{place}.source")}}
            case "document":
                return self._document(block, f"{place}.source")
            case "search_result":
                blocks = _texts(block.get("content"), f"{place}.content")
                return self._source(block, "search_result", blocks, str(block.get("source")))
            case "grounding_source" | "query" as kind:
                return {"type": kind, "text": _text(block, place)}
            case kind:
                raise _refusal(place, f"a block of type {kind!r} is not guarded here")

    def _document(self, block: dict[str, Any], place: str) -> dict[str, Any]:
        source = block.get("source")
        match source if isinstance(source, dict) else {}:
            case {"type": "text", "data": str() as text}:
                return self._source(block, "document", None, None, text)
            case {"type": "content", "content": content}:
                blocks = [content] if isinstance(content, str) else _texts(content, f"{place}.content")
                return self._source(block, "document", blocks, None)
        raise _refusal(
            place, "only text is read as a source: send the document's text, nothing is fetched or converted"
        )

    def _source(
        self,
        block: dict[str, Any],
        kind: Literal["document", "search_result"],
        blocks: list[str] | None,
        source: str | None,
        text: str = "",
    ) -> dict[str, Any]:
        """A part that is marked as a source. Its blocks are joined by line breaks."""
        index, title, asked = self._counts[kind], block.get("title"), block.get("citations")
        self._counts[kind] += 1
        is_cited = isinstance(asked, dict) and asked.get("enabled") is True
        cited = Cited(kind, index, None if title is None else str(title), source, blocks, is_cited)
        name = source or cited.title or f"{kind}-{index}"
        text = text if blocks is None else "\n".join(blocks)
        return {"type": "text", "text": text, "source": {"id": name, "metadata": {CITED: cited}}}


CITED = "groundrail.cited"
"""The key of a document's metadata under which a `Cited` is kept."""


def _text(block: dict[str, Any], place: str) -> str:
    if not isinstance(block.get("text"), str):
        raise ProtocolError(400, f"{place}.text: must be text", param=f"{place}.text")
    return str(block["text"])


def _texts(content: Any, place: str) -> list[str]:
    """The texts of text blocks. Raises: ProtocolError for other blocks, or none."""
    if not isinstance(content, list) or not content:
        raise ProtocolError(400, f"{place}: must be a list of text blocks", param=place)
    for number, block in enumerate(content):
        if not isinstance(block, dict) or block.get("type") != "text":
            raise _refusal(f"{place}.{number}", "only blocks of type 'text' are read as a source")
    return [_text(block, f"{place}.{number}") for number, block in enumerate(content)]


def _address(source: Any, place: str) -> str:
    match source:
        case {"type": "base64", "media_type": str() as kind, "data": str() as data}:
            return f"data:{kind};base64,{data}"
        case {"type": "url", "url": str() as url}:
            return url
    raise _refusal(place, "an image is sent as base64 or by its URL")


def _schema(asked: _Format) -> dict[str, Any]:
    """The format as a chat completion has it, where a schema needs a name."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": asked.json_schema}}


def _tool_choice(choice: _ToolChoice) -> dict[str, Any]:
    """The fields of a chat completion that say which tool to call."""
    named = {"type": "function", "function": {"name": choice.name}}
    parallel = False if choice.disable_parallel_tool_use else None
    return {"tool_choice": _CHOICES.get(choice.type, named), "parallel_tool_calls": parallel}


def _refusal(place: str, message: str) -> ProtocolError:
    return ProtocolError(400, f"{place}: {message}", param=place, code="unsupported")
