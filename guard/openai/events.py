"""A streamed chat completion: its chunks out of a server's bytes however they are cut, and what the chunks say.

`groundrail.openai.client` and `groundrail.serve.upstream` ask servers for them.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
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
    """The fields of a chunk that are read; all others are ignored."""

    choices: list[_Choice] | None = None


class StreamError(Exception):
    """A stream that is no whole answer; the message goes on from the server's name.

    kind: "garbage" where an event is no chunk, "failed" where the server reports an error, "incomplete" where the
        stream ends too early.
    """

    def __init__(self, kind: Literal["garbage", "failed", "incomplete"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Chunks:
    """Feed it bytes; it gives the chunks that they complete. Comments and other fields than `data` are passed over.

    done: the server has said that nothing follows. ended: that, or a finish reason; the answer is complete.
    """

    def __init__(self) -> None:
        self.done = self.ended = False
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The chunks whose lines end in `data`. Raises: StreamError."""
        self._rest += data
        if b"\n" in data:
            *lines, self._rest = self._rest.split(b"\n")  # and at nothing else that breaks lines: text has it too
            for line in lines:
                event = line[len(b"data:") :].strip()
                if self.done or not line.startswith(b"data:"):
                    continue
                if event == b"[DONE]":
                    self.done = self.ended = True
                    continue
                try:
                    chunk = json.loads(event)
                except (ValueError, RecursionError) as error:
                    said = f"streamed malformed JSON: {event.decode(errors='replace')}"
                    raise StreamError("garbage", said) from error
                yield self.known(chunk)
        if len(self._rest) > LONGEST:
            raise StreamError("garbage", f"streamed an event of over {LONGEST} bytes")

    def close(self) -> Iterator[dict[str, Any]]:
        """The chunk in a last line that no line break ends. Raises: StreamError, also where the answer has no end."""
        yield from self.feed(b"\n")
        self.require_end()

    def known(self, chunk: Any) -> dict[str, Any]:
        """The chunk, noted as the next one. Raises: StreamError for what is no chunk."""
        try:
            known = _Chunk.model_validate(chunk)
        except ValidationError as error:
            raise StreamError("garbage", f"streamed something else than chunks: {chunk}") from error
        if chunk.get("error"):
            raise StreamError("failed", f"failed while streaming: {chunk['error']}")
        self.ended = self.ended or any(
            choice.finish_reason for place, choice in enumerate(known.choices or ()) if _is_first(place, choice.index)
        )
        return dict(chunk)

    def require_end(self) -> None:
        """Raises: StreamError where the answer has no end."""
        if not self.ended:
            raise StreamError("incomplete", "ended the stream before the answer was complete")


async def achunks_of(pieces: AsyncIterable[bytes]) -> AsyncIterator[dict[str, Any]]:
    """The chunks of a whole stream, left once the server has said that nothing follows. Raises: StreamError."""
    chunks = Chunks()
    async for data in pieces:
        for chunk in chunks.feed(data):
            yield chunk
        if chunks.done:
            return
    for chunk in chunks.close():
        yield chunk


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
        for chunk in client.stream(body):
            print(completion.read(chunk), end="")
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

    def read(self, chunk: Mapping[str, Any]) -> str:
        """The text of the next chunk, a model's refusal included."""
        add_counts(self.usage, chunk.get("usage"))
        text, self._half = self._half, ""
        for place, choice in enumerate(chunk.get("choices") or ()):
            if not _is_first(place, choice.get("index")):
                continue
            delta = choice.get("delta") or {}
            text += (delta.get("content") or "") + (delta.get("refusal") or "")
            for number, call in enumerate(delta.get("tool_calls") or ()):
                self._call(number if call.get("index") is None else call["index"], call)
            if said := delta.get("function_call"):
                self._call("function_call", {"function_call": said})
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        self.size += len(text)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def _call(self, number: object, delta: Mapping[str, Any]) -> None:
        call = self.calls.setdefault(number, Call())
        call.id = call.id or delta.get("id") or ""
        for kind in ("function", "custom", "function_call"):
            if said := delta.get(kind):
                call.kind, call.name = kind, call.name or said.get("name") or ""
                call.given += said.get("input" if kind == "custom" else "arguments") or ""
        self.size += len(str(delta))

    def rest(self) -> str:
        """Half a character that nothing followed."""
        half, self._half = self._half, ""
        return half


def _is_first(place: int, index: int | None) -> bool:
    """Whether a part of a chunk, at `place` in the chunk's list, belongs to the first of several choices."""
    return (place if index is None else index) == 0


def add_counts(counts: dict[str, Any], more: object) -> None:
    """Add token counts to `counts`, nested ones included; counts in another form are left out."""
    for name, count in more.items() if isinstance(more, dict) else ():
        known = counts.setdefault(name, {} if isinstance(count, dict) else 0)
        if isinstance(known, dict):
            add_counts(known, count)
        elif isinstance(count, int):
            counts[name] = known + count
