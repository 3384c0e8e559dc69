"""Requests of Anthropic's Messages protocol, as chat completions.

`document` and `search_result` blocks become parts that are marked as sources (`groundrail.serve.sources`), with what a
citation needs to name them (`Cited`).
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from groundrail.serve.requests import Closed, Content, OtherRequest, content_at, parsed, refusal, text_at

_CHOICES = {"auto": "auto", "any": "required", "none": "none"}

CITED = "groundrail.cited"
"""The key of a document's metadata under which a `Cited` is kept."""


class _Turn(Closed):
    role: Literal["user", "assistant", "system"]
    content: Content


class _Metadata(BaseModel):
    user_id: str | None = None


class _Thinking(Closed):
    type: Literal["disabled"]


class _Format(Closed):
    type: Literal["json_schema"]
    json_schema: dict[str, Any] = Field(alias="schema")


class _OutputConfig(Closed):
    format: _Format | None = None


class _Tool(BaseModel):
    """A tool that the client runs; one that Anthropic runs has a type of its own, and its text cannot be held back."""

    type: Literal["custom"] | None = None
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = Field(default=None, alias="input_schema")
    strict: bool | None = None


class _ToolChoice(BaseModel):
    type: Literal["auto", "any", "none", "tool"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class MessagesRequest(OtherRequest):
    """The fields that the server understands; every other one is refused."""

    messages: list[_Turn] = Field(min_length=1)
    max_tokens: int
    system: Content | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    metadata: _Metadata | None = None
    tools: list[_Tool] | None = None
    tool_choice: _ToolChoice | None = None
    thinking: _Thinking | None = None
    output_config: _OutputConfig | None = None


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
    asked, reading = parsed(MessagesRequest, body), _Reading()
    if asked.messages[-1].role == "assistant":
        raise refusal("messages", "the last turn is the assistant's, and a text that is begun is not written on")
    if asked.system:
        reading.messages.append({"role": "system", "content": content_at(asked.system, "system", reading.part)})
    for number, turn in enumerate(asked.messages):
        reading.add(turn, f"messages.{number}.content")
    choice, wanted = asked.tool_choice, asked.output_config and asked.output_config.format
    named = choice and {"type": "function", "function": {"name": choice.name}}
    return asked.as_chat(
        reading.messages,
        max_tokens=asked.max_tokens,
        top_k=asked.top_k,
        stop=asked.stop_sequences or None,
        user=asked.metadata and asked.metadata.user_id,
        tools=[_tool(tool) for tool in asked.tools or ()] or None,
        tool_choice=choice and _CHOICES.get(choice.type, named),
        parallel_tool_calls=False if choice and choice.disable_parallel_tool_use else None,
        response_format=wanted and {"type": "json_schema", "json_schema": {"name": "answer", "schema": wanted.json_schema}},
    )


def _tool(tool: _Tool) -> dict[str, Any]:
    return {"type": "function", "function": tool.model_dump(exclude={"type"}, exclude_none=True)}


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
            match turn.role, block.get("type"):
                case "user", "tool_result":
                    content = content_at(block.get("content") or "", f"{here}.content", self.part)
                    self.messages.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": content})
                case "assistant", "tool_use":
                    said = {"name": block.get("name"), "arguments": json.dumps(block.get("input") or {})}
                    calls.append({"id": block.get("id"), "type": "function", "function": said})
                case _:
                    rest.append(self.part(block, here))
        if rest or calls:
            said = {"role": turn.role, "content": rest or None}
            self.messages.append(said | ({"tool_calls": calls} if calls else {}))

    def part(self, block: dict[str, Any], place: str) -> dict[str, Any]:
        """A block as a part of a chat completion's message. Raises: ProtocolError for a block of another kind."""
        match block.get("type"), block.get("source"):
            case "text", source:
                return {"type": "text", "text": text_at(block, place)} | ({"source": True} if source else {})
            case "grounding_source" | "query" as kind, _:
                return {"type": kind, "text": text_at(block, place)}
            case "image", {"type": "base64", "media_type": str() as kind, "data": str() as data}:
                return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
            case "image", {"type": "url", "url": str() as url}:
                return {"type": "image_url", "image_url": {"url": url}}
            case "image", _:
                raise refusal(f"{place}.source", "an image is sent as base64 or by its URL")
            case "document", {"type": "text", "data": str() as text}:
                return self._source(block, "document", text, None)
            case "document", {"type": "content", "content": content}:
                blocks = [content] if isinstance(content, str) else _texts(content, f"{place}.source.content")
                return self._source(block, "document", "\n".join(blocks), blocks)
            case "document", _:
                said = "only text is read as a source: send the document's text, nothing is fetched or converted"
                raise refusal(f"{place}.source", said)
            case "search_result", source:
                blocks = _texts(block.get("content"), f"{place}.content")
                return self._source(block, "search_result", "\n".join(blocks), blocks, str(source))
            case kind, _:
                raise refusal(place, f"a block of type {kind!r} is not guarded here")

    def _source(
        self,
        block: dict[str, Any],
        kind: Literal["document", "search_result"],
        text: str,
        blocks: list[str] | None,
        source: str | None = None,
    ) -> dict[str, Any]:
        """A part that is marked as a source."""
        index, title, asked = self._counts[kind], block.get("title"), block.get("citations")
        self._counts[kind] += 1
        is_cited = isinstance(asked, dict) and asked.get("enabled") is True
        cited = Cited(kind, index, None if title is None else str(title), source, blocks, is_cited)
        name = source or cited.title or f"{kind}-{index}"
        return {"type": "text", "text": text, "source": {"id": name, "metadata": {CITED: cited}}}


def _texts(content: Any, place: str) -> list[str]:
    """The texts of text blocks. Raises: ProtocolError for other blocks, or none."""
    if not isinstance(content, list) or not content:
        raise refusal(place, "must be a list of text blocks", "list_type")
    for number, block in enumerate(content):
        if not isinstance(block, dict) or block.get("type") != "text":
            raise refusal(f"{place}.{number}", "only blocks of type 'text' are read as a source")
    return [text_at(block, f"{place}.{number}") for number, block in enumerate(content)]
