"""A streamed chat completion: its chunks in a server's bytes, and the text, calls and counts in the chunks.

`groundrail.openai.client` and `groundrail.serve.upstream` ask servers for them.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, InstanceOf, ValidationError

LONGEST = 4 * 1024 * 1024
"""Bytes of one event; a stream without any line break is not read for ever."""

_Text: TypeAlias = InstanceOf[str]  # which may be half a character here, the other half in the next chunk

_CUT_OFF = frozenset(
    "length max_tokens max_output_tokens max_length model_length token_limit time_limit limit model_context_window_exceeded "
    "content_filter content_filtered guardrail_intervened safety image_safety recitation language blocklist spii "
    "prohibited_content malformed_function_call other refusal error error_limit error_toxic abort aborted "
    "cancelled user_cancel timeout network_error insufficient_system_resource".split()
)
"""The reasons of OpenAI, Anthropic, Google, Cohere, Mistral, Amazon, IBM, DeepSeek and vLLM to end an answer early."""


def is_cut_off(reason: object) -> bool:
    """Whether a server that gives this reason ended the answer before its end.

    >>> is_cut_off("MAX_TOKENS"), is_cut_off("stop"), is_cut_off(None)
    (True, False, False)
    """
    return isinstance(reason, str) and reason.lower().replace("-", "_") in _CUT_OFF


_COUNTED = frozenset(
    "prompt completion total input output tokens token count details cached cache creation read write reasoning audio "
    "text image accepted rejected prediction".split()
)


class _Read(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Said(_Read):
    name: str | None = None
    arguments: _Text | None = None  # of a function
    input: _Text | None = None  # of a custom tool


class _Call(_Read):
    index: int | None = None
    id: str | None = None
    function: _Said | None = None
    custom: _Said | None = None
    function_call: _Said | None = None


class _Delta(_Read):
    content: _Text | None = None
    refusal: _Text | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Said | None = None


class _Choice(_Read):
    index: int | None = None  # a server that leaves it out means the place in the list
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(_Read):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


class StreamError(Exception):
    """A stream that is no whole answer; the message goes on from the server's name.

    kind: "garbage" where an event is no chunk, "failed" where the server reports an error, "incomplete" where the
        stream ends too early.
    """

    def __init__(self, kind: Literal["garbage", "failed", "incomplete"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass
class Call:
    """A call of a tool as far as it has been read. `kind`: function, custom, or function_call for the older form."""

    kind: str = ""
    id: str = ""
    name: str = ""
    given: str = ""


class Completion:
    """A chat completion as far as it has been read: `read` gives a chunk's text, the rest is kept.

    Only the first choice counts, which has the index 0. calls: of tools, by their number in the completion.
    usage: token counts, added over the chunks to those of earlier completions, if given.
    size: characters of text and calls.

        completion = Completion()
        for text in client.stream(body, completion):
            print(text, end="")
    """

    def __init__(self, usage: dict[str, Any] | None = None) -> None:
        self.finish_reason: str | None = None
        self.calls: dict[object, Call] = {}
        self.usage: dict[str, Any] = {} if usage is None else usage
        self.size = 0
        self._half = ""  # of a surrogate pair that a server sends in two chunks

    @property
    def cut_off(self) -> str:
        """Why the answer was cut off; "" if it is complete."""
        is_cut = is_cut_off(self.finish_reason)
        return f"the server cut the answer off ({self.finish_reason})" if is_cut else ""

    def read(self, event: object) -> str:
        """The text of the next chunk, a model's refusal included. Raises: StreamError for an event that is no chunk."""
        try:
            chunk = _Chunk.model_validate(event)
        except ValidationError as error:
            raise StreamError("garbage", f"streamed something else than chunks: {event}") from error
        if chunk.error:
            raise StreamError("failed", f"failed while streaming: {chunk.error}")
        add_counts(self.usage, chunk.usage)
        text, self._half = self._half, ""
        for place, choice in enumerate(chunk.choices or ()):
            if (place if choice.index is None else choice.index) == 0:
                text += self._read(choice)
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        self.size += len(text)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def _read(self, choice: _Choice) -> str:
        delta = choice.delta or _Delta()
        self.finish_reason = choice.finish_reason or self.finish_reason
        for number, call in enumerate(delta.tool_calls or ()):
            self._call(number if call.index is None else call.index, call)
        if delta.function_call:
            self._call("function_call", _Call(function_call=delta.function_call))
        return (delta.content or "") + (delta.refusal or "")

    def _call(self, number: object, part: _Call) -> None:
        call = self.calls.setdefault(number, Call())
        call.id = call.id or part.id or ""
        for kind in ("function", "custom", "function_call"):
            if said := getattr(part, kind):
                call.kind, call.name = kind, call.name or said.name or ""
                call.given += (said.input if kind == "custom" else said.arguments) or ""
        self.size += len(repr(part))

    def rest(self) -> str:
        """Half a character that nothing followed."""
        half, self._half = self._half, ""
        return half

    def require_end(self) -> None:
        """Raises: StreamError where the server gave no reason to end."""
        if not self.finish_reason:
            raise StreamError("incomplete", "ended the stream before the answer was complete")


async def texts_of(pieces: AsyncIterable[bytes], completion: Completion) -> AsyncIterator[str]:
    """The text of every event in a server's bytes, up to `[DONE]`, read by `completion`. Raises: StreamError."""
    async for line in _lines(pieces):
        if not line.startswith(b"data:"):  # a comment, or another field
            continue
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise StreamError("garbage", f"streamed malformed JSON: {data.decode(errors='replace')}") from error
        yield completion.read(event)
    completion.require_end()


async def _lines(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytearray]:
    rest = bytearray()
    async for piece in pieces:
        rest += piece
        if b"\n" in piece:
            *lines, rest = rest.split(b"\n")  # and at nothing else that breaks lines: text has it too
            for line in lines:
                yield line
        if len(rest) > LONGEST:
            raise StreamError("garbage", f"streamed an event of over {LONGEST} bytes")
    yield rest


def add_counts(counts: dict[str, Any], more: object) -> None:
    """Add token counts to `counts`, nested ones included; counts in another form are left out."""
    for name, count in more.items() if isinstance(more, dict) else ():
        known = counts.setdefault(name, {} if isinstance(count, dict) else 0)
        if isinstance(known, dict):
            add_counts(known, count)
        elif isinstance(count, int):
            counts[name] = known + count


def known_counts(counts: object) -> dict[str, Any]:
    """The token counts under names of known words, nested ones included; whatever else stands among them may spell text.

    >>> known_counts({"prompt_tokens": 3, "The rent is 990": 1, "prompt_tokens_details": {"cached_tokens": 2}})
    {'prompt_tokens': 3, 'prompt_tokens_details': {'cached_tokens': 2}}
    """
    known: dict[str, Any] = {}
    for name, count in counts.items() if isinstance(counts, Mapping) else ():
        *_, last = words = str(name).split("_")
        if not _COUNTED.issuperset(words):
            continue
        if last != "details" and type(count) is int and 0 <= count < 2**53:
            known[name] = count
        elif last not in ("token", "tokens") and (inner := known_counts(count)):
            known[name] = inner
    return known
