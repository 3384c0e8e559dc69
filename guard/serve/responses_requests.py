"""Requests of OpenAI's Responses protocol, as chat completions.

Files with text become parts that are marked as sources (`groundrail.serve.sources`).
"""

import base64
from typing import Annotated, Any, Literal
from urllib.parse import unquote_to_bytes

from pydantic import Field

from groundrail.serve.requests import Closed, Content, OtherRequest, content_at, parsed, refusal, text_at


class _AnyFormat(Closed):
    type: Literal["text", "json_object"]


class _SchemaFormat(Closed):
    type: Literal["json_schema"]
    name: str
    json_schema: dict[str, Any] = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None


class _Text(Closed):
    format: Annotated[_AnyFormat | _SchemaFormat, Field(discriminator="type")] | None = None
    verbosity: str | None = None


class _Reasoning(Closed):
    effort: str | None = None


class ResponsesRequest(OtherRequest):
    """The fields that the server understands, with the values that it can keep to; every other one is refused."""

    input: Content = Field(min_length=1)
    instructions: str | None = None
    stream_options: dict[str, Any] | None = None
    max_output_tokens: int | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None
    parallel_tool_calls: bool | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    text: _Text = _Text()
    reasoning: _Reasoning = _Reasoning()
    store: Literal[False] | None = None
    background: Literal[False] | None = None
    truncation: Literal["disabled"] | None = None
    top_logprobs: Literal[0] | None = None
    include: list[Any] | None = Field(default=None, max_length=0)


def as_chat(body: dict[str, Any]) -> dict[str, Any]:
    """The chat completion to ask for. Raises: ProtocolError."""
    asked = parsed(ResponsesRequest, body)
    messages = [] if asked.instructions is None else [{"role": "system", "content": asked.instructions}]
    items = [{"role": "user", "content": asked.input}] if isinstance(asked.input, str) else asked.input
    for number, item in enumerate(items):
        _add(messages, item, f"input.{number}")
    return asked.as_chat(
        messages,
        max_tokens=asked.max_output_tokens,
        user=asked.user,
        metadata=asked.metadata,
        parallel_tool_calls=asked.parallel_tool_calls,
        safety_identifier=asked.safety_identifier,
        prompt_cache_key=asked.prompt_cache_key,
        reasoning_effort=asked.reasoning.effort,
        verbosity=asked.text.verbosity,
        response_format=asked.text.format and _response_format(asked.text.format),
        tools=asked.tools and [_tool(tool, f"tools.{number}") for number, tool in enumerate(asked.tools)],
        tool_choice=_tool_choice(asked.tool_choice),
    )


def _response_format(asked: _AnyFormat | _SchemaFormat) -> dict[str, Any]:
    """The format under the names of chat completions, which have the schema's fields in a level of their own."""
    fields = asked.model_dump(by_alias=True, exclude_none=True, exclude={"type"})
    return {"type": asked.type} | ({"json_schema": fields} if fields else {})


def _add(messages: list[dict[str, Any]], item: dict[str, Any], place: str) -> None:
    """Add an input item to the conversation. Raises: ProtocolError for an item of a kind that is not known."""
    match item.get("type", "message"):
        case "message":
            content = content_at(item.get("content"), f"{place}.content", _part)
            messages.append({"role": item.get("role"), "content": content})
        case "function_call" | "custom_tool_call" as name:
            kind, given = ("function", "arguments") if name == "function_call" else ("custom", "input")
            said = {"name": item.get("name"), given: item.get(given)}
            _add_call(messages, {"id": item.get("call_id"), "type": kind, kind: said})
        case "function_call_output" | "custom_tool_call_output":
            content = content_at(item.get("output"), f"{place}.output", _part)
            messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})
        case kind:
            raise refusal(f"{place}.type", f"an input item of type {kind!r} is not guarded")


def _add_call(messages: list[dict[str, Any]], call: dict[str, Any]) -> None:
    """Add a call to the assistant's turn: calls that follow its text or each other are of one turn."""
    if not (messages and messages[-1]["role"] == "assistant"):
        messages.append({"role": "assistant", "content": None})
    messages[-1].setdefault("tool_calls", []).append(call)


def _part(part: dict[str, Any], place: str) -> dict[str, Any]:
    match part.get("type"):
        case "input_text" | "output_text" | "refusal" as kind:
            text = text_at(part, place, "refusal" if kind == "refusal" else "text")
            return {"type": "text", "text": text} | ({"source": part["source"]} if "source" in part else {})
        case "input_image" if isinstance(part.get("image_url"), str):
            image = {"url": part["image_url"], "detail": part.get("detail") or "auto"}
            return {"type": "image_url", "image_url": image}
        case "input_file":
            name = part.get("filename")
            text = _file_text(part.get("file_data"), f"{place}.file_data")
            return {"type": "text", "text": text, "source": True if name is None else {"id": str(name)}}
        case "grounding_source" | "query":
            return part
        case kind:
            raise refusal(f"{place}.type", f"a part of type {kind!r} is not guarded")


def _file_text(data: Any, place: str) -> str:
    """The text of a file. Raises: ProtocolError for other files."""
    if not isinstance(data, str):
        raise refusal(place, "a file is read from file_data alone, nothing is fetched")
    kind, _, rest = data.partition(",") if data.startswith("data:") else (";base64", ",", data)
    try:
        raw = base64.b64decode(rest, validate=True) if kind.endswith(";base64") else unquote_to_bytes(rest)
        text = raw.decode("utf-8-sig")
    except ValueError:
        text = ""
    if not text or "\0" in text or text.startswith("%PDF-"):
        raise refusal(place, "the file is no text in UTF-8: send its text")
    return text


def _tool(tool: dict[str, Any], place: str) -> dict[str, Any]:
    kind = tool.get("type")
    if kind not in ("function", "custom"):
        raise refusal(f"{place}.type", f"a tool of type {kind!r} runs where its text cannot be held back")
    said = {name: value for name, value in tool.items() if name != "type" and value is not None}
    if isinstance(rules := said.get("format"), dict) and rules.get("type") == "grammar":
        said["format"] = {"type": "grammar", "grammar": {n: v for n, v in rules.items() if n != "type"}}
    return {"type": kind, kind: said}


def _tool_choice(choice: str | dict[str, Any] | None) -> Any:
    if not isinstance(choice, dict):
        return choice
    kind = choice.get("type")
    if kind not in ("function", "custom"):
        raise refusal("tool_choice", f"a choice of type {kind!r} is not passed on")
    return {"type": kind, kind: {"name": choice.get("name")}}
