"""Requests of OpenAI's Responses protocol, as chat completions.

A field or an item that the server cannot guard, or whose promise it would not keep, is refused by name. Files with
text become parts that are marked as sources (`groundrail.serve.sources`).
"""

import base64
import binascii
from typing import Annotated, Any, Literal
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ConfigDict, Field

from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.requests import SourceDocument, parsed

_PASSED_ON = (
    "model",
    "stream",
    "temperature",
    "top_p",
    "user",
    "metadata",
    "parallel_tool_calls",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "documents",
)
"""Fields that a chat completion has under the same name, with the same meaning."""


class _AnyFormat(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["text", "json_object"]


class _SchemaFormat(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["json_schema"]
    name: str
    json_schema: dict[str, Any] = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None


class _Text(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Annotated[_AnyFormat | _SchemaFormat, Field(discriminator="type")] | None = None
    verbosity: str | None = None


class _Reasoning(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    effort: str | None = None


class ResponsesRequest(BaseModel):
    """The fields that the server understands; every other one is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    input: str | list[dict[str, Any]] = Field(min_length=1)
    instructions: str | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None
    parallel_tool_calls: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    text: _Text | None = None
    reasoning: _Reasoning | None = None
    documents: list[str | SourceDocument] | None = None
    store: Literal[False] | None = None
    background: Literal[False] | None = None
    truncation: Literal["disabled"] | None = None
    top_logprobs: Literal[0] | None = None
    include: list[Any] | None = Field(default=None, max_length=0)


def as_chat(body: dict[str, Any]) -> dict[str, Any]:
    """The chat completion to ask for. Raises: ProtocolError."""
    body = {name: value for name, value in body.items() if value is not None}
    asked = parsed(ResponsesRequest, body)
    messages = [] if asked.instructions is None else [{"role": "system", "content": asked.instructions}]
    items = [{"role": "user", "content": asked.input}] if isinstance(asked.input, str) else asked.input
    for number, item in enumerate(items):
        _add(messages, item, f"input.{number}")
    fields: dict[str, Any] = {
        "max_tokens": asked.max_output_tokens,
        "reasoning_effort": asked.reasoning and asked.reasoning.effort,
        "verbosity": asked.text and asked.text.verbosity,
        "response_format": asked.text and asked.text.format and _response_format(asked.text.format),
        "tools": asked.tools and [_tool(tool, f"tools.{number}") for number, tool in enumerate(asked.tools)],
        "tool_choice": _tool_choice(asked.tool_choice),
        "stream_options": {"include_usage": True} if asked.stream else None,
    }
    fields |= {name: body.get(name) for name in _PASSED_ON}
    return {name: value for name, value in fields.items() if value is not None} | {"messages": messages}


def _response_format(asked: _AnyFormat | _SchemaFormat) -> dict[str, Any]:
    """The format under the names of chat completions, which have the schema's fields in a level of their own."""
    fields = asked.model_dump(by_alias=True, exclude_none=True, exclude={"type"})
    return {"type": asked.type} | ({"json_schema": fields} if fields else {})


def _add(messages: list[dict[str, Any]], item: dict[str, Any], place: str) -> None:
    """Add an input item to the conversation. Raises: ProtocolError for an item of a kind that is not known."""
    match item.get("type", "message"):
        case "message":
            messages.append({"role": item.get("role"), "content": _content(item.get("content"), f"{place}.content")})
        case "function_call":
            said = {"name": item.get("name"), "arguments": item.get("arguments")}
            _add_call(messages, {"id": item.get("call_id"), "type": "function", "function": said})
        case "custom_tool_call":
            said = {"name": item.get("name"), "input": item.get("input")}
            _add_call(messages, {"id": item.get("call_id"), "type": "custom", "custom": said})
        case "function_call_output" | "custom_tool_call_output":
            content = _content(item.get("output"), f"{place}.output")
            messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})
        case kind:
            raise _refusal(f"{place}.type", f"an input item of type {kind!r} is not guarded")


def _add_call(messages: list[dict[str, Any]], call: dict[str, Any]) -> None:
    """Add a call to the assistant's turn: calls that follow its text or each other are of one turn."""
    if not (messages and messages[-1]["role"] == "assistant"):
        messages.append({"role": "assistant", "content": None})
    messages[-1].setdefault("tool_calls", []).append(call)


def _content(content: Any, place: str) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise ProtocolError(400, f"{place}: must be text or a list of parts", param=place)
    return [_part(part, f"{place}.{number}") for number, part in enumerate(content)]


def _part(part: dict[str, Any], place: str) -> dict[str, Any]:
    match part.get("type"):
        case "input_text" | "output_text" | "refusal" as kind:
            text = part.get("refusal" if kind == "refusal" else "text")
            if not isinstance(text, str):
                raise ProtocolError(400, f"{place}.text: must be text", param=place)
            return {"type": "text", "text": text} | ({"source": part["source"]} if "source" in part else {})
        case "input_image" if isinstance(part.get("image_url"), str):
            image = {"url": part["image_url"], "detail": part.get("detail") or "auto"}
            return {"type": "image_url", "image_url": image}
        case "input_file":
            return _file(part, place)
        case "grounding_source" | "query":
            return part
        case kind:
            raise _refusal(f"{place}.type", f"a part of type {kind!r} is not guarded")


def _file(part: dict[str, Any], place: str) -> dict[str, Any]:
    """A file with text, as a source named after it. Raises: ProtocolError for other files."""
    data = part.get("file_data")
    if not isinstance(data, str):
        raise _refusal(f"{place}.file_data", "a file is read from file_data alone, nothing is fetched")
    kind, _, rest = data.partition(",") if data.startswith("data:") else (";base64", ",", data)
    try:
        raw = base64.b64decode(rest, validate=True) if kind.endswith(";base64") else unquote_to_bytes(rest)
        text = raw.decode("utf-8-sig")
    except (binascii.Error, ValueError):
        text = ""
    if not text or "\0" in text or text.startswith("%PDF-"):
        raise _refusal(f"{place}.file_data", "the file is no text in UTF-8: send its text")
    name = part.get("filename")
    return {"type": "text", "text": text, "source": True if name is None else {"id": str(name)}}


def _tool(tool: dict[str, Any], place: str) -> dict[str, Any]:
    kind = tool.get("type")
    if kind not in ("function", "custom"):
        raise _refusal(f"{place}.type", f"a tool of type {kind!r} runs where its text cannot be held back")
    said = {name: value for name, value in tool.items() if name != "type" and value is not None}
    if isinstance(rules := said.get("format"), dict) and rules.get("type") == "grammar":
        said["format"] = {"type": "grammar", "grammar": {n: v for n, v in rules.items() if n != "type"}}
    return {"type": kind, kind: said}


def _tool_choice(choice: str | dict[str, Any] | None) -> Any:
    if not isinstance(choice, dict):
        return choice
    kind = choice.get("type")
    if kind not in ("function", "custom"):
        raise _refusal("tool_choice", f"a choice of type {kind!r} is not passed on")
    return {"type": kind, kind: {"name": choice.get("name")}}


def _refusal(param: str, message: str) -> ProtocolError:
    return ProtocolError(400, f"{param}: {message}", param=param, code="unsupported_parameter")
