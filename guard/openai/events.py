"""Chunks of a chat completion, out of the bytes of a server's event stream however they are cut.

Who asks for them, and what they mean, belongs to `groundrail.openai.client` and `groundrail.serve.upstream`.
"""

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, InstanceOf, ValidationError

LONGEST = 4 * 1024 * 1024
"""Bytes of one event; a stream without any line break is not read for ever."""

_Text: TypeAlias = InstanceOf[str]  # which may be half a character here, the other half in the next chunk


class _Read(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Function(_Read):
    arguments: _Text | None = None


class _Call(_Read):
    index: int | None = None
    function: _Function | None = None


class _Delta(_Read):
    content: _Text | None = None
    refusal: _Text | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(_Read):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(_Read):
    """What is read of a chunk; everything else in it is left alone."""

    model: str | None = None
    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None


class Chunks:
    """Feed it bytes; it gives the chunks that they complete. Comments and other fields than `data` are passed over.

    done: the server has said that nothing follows. ended: that, or a finish reason; the answer is complete.
    """

    def __init__(self) -> None:
        self.done = self.ended = False
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The chunks whose lines end in `data`, errors of the protocol among them.

        Raises: ValueError that quotes what is no chunk.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")  # and at nothing else that breaks lines: text has it too
        for line in lines:
            if line.startswith(b"data:") and not self.done:
                yield from self._chunk(line[len(b"data:") :].strip())
        if len(self._rest) > LONGEST:
            raise ValueError(f"an event of over {LONGEST} bytes")

    def close(self) -> Iterator[dict[str, Any]]:
        """The chunk in a last line that no line break ends. Raises: ValueError."""
        return self.feed(b"\n")

    def _chunk(self, data: bytes) -> Iterator[dict[str, Any]]:
        if data == b"[DONE]":
            self.done = self.ended = True
            return
        try:
            chunk = json.loads(data)
            known = _Chunk.model_validate(chunk)
        except (ValueError, RecursionError) as error:
            kind = "something else than chunks" if isinstance(error, ValidationError) else "malformed JSON"
            raise ValueError(f"{kind}: {data.decode(errors='replace')}") from error
        self.ended = self.ended or any(choice.finish_reason for choice in known.choices or ())
        yield chunk
