"""The writers of answers: an upstream server, or a generator in this process.

`groundrail.serve.guarded` checks and releases an answer.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx

from groundrail.errors import GenerationError
from groundrail.generators import Generator
from groundrail.generators.asked import AskedSession, Refusal
from groundrail.openai.events import Completion
from groundrail.openai.generator import continued
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.requests import ChatRequest
from groundrail.serve.sources import Found, as_message, without_marks
from groundrail.serve.upstream import Upstream, written


class WrittenAnswer(ABC):
    """One answer: a guard reads its text from `generator`.

    completion: why it ended, calls of tools, and counts of tokens. failure: the error to tell if it broke off.
    """

    def __init__(self, generator: Generator) -> None:
        self.generator, self.completion = generator, Completion()
        self.failure: ProtocolError | None = None

    @abstractmethod
    async def begin(self) -> None:
        """Ask. Raises: ProtocolError if the writer refuses, so that nothing needs to be sent before."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of it, finished or not."""


class Writer(ABC):
    """A writer of answers."""

    @abstractmethod
    def answer(self, asked: ChatRequest, body: Mapping[str, Any], found: Found, headers: Mapping[str, str]) -> WrittenAnswer:
        """An answer to a request, not begun yet."""

    @abstractmethod
    async def models(self, headers: Mapping[str, str]) -> Any:
        """The models that can be asked for, as the protocol lists them."""

    async def aclose(self) -> None:  # noqa: B027
        """Close what is open; no answer is asked for after that."""


class UpstreamWriter(Upstream, Writer):
    """Answers of an OpenAI-compatible server."""

    def answer(
        self, asked: ChatRequest, body: Mapping[str, Any], found: Found, headers: Mapping[str, str]
    ) -> "UpstreamAnswer":
        """The request as it goes to the upstream, with documents where the settings want them."""
        fields = {key: value for key, value in body.items() if key not in ("n", "documents", "logprobs")}
        messages = without_marks(list(body["messages"]))
        if asked.documents is not None and self.settings.documents == "forward":
            fields["documents"] = body["documents"]
        elif found.place == "documents" and found.documents and self.settings.documents == "insert":
            messages.insert(0, as_message(found.documents))
        usage = not asked.stream or (asked.stream_options is not None and asked.stream_options.include_usage)
        if usage:
            fields["stream_options"] = {**(body.get("stream_options") or {}), "include_usage": True}
        return UpstreamAnswer(self, {**fields, "messages": messages}, headers, self.settings.max_answer)


class UpstreamAnswer(WrittenAnswer, AskedSession):
    """An answer, and the session that a guard reads it from: after a refusal the upstream is asked to go on.

    It is asked again until the answer calls a tool: another answer would lose the call, or make it twice.
    """

    def __init__(self, upstream: Upstream, body: Mapping[str, Any], headers: Mapping[str, str], longest: int) -> None:
        WrittenAnswer.__init__(self, self)
        AskedSession.__init__(self, self._write_on)
        self._upstream, self._body, self._headers = upstream, body, headers
        self._longest, self._earlier = longest, 0
        self._response: httpx.Response | None = None

    async def begin(self) -> None:
        """Ask the upstream. Raises: ProtocolError where it refuses or cannot be reached."""
        self._response = await self._upstream.ask(self._body, self._headers)

    async def aclose(self) -> None:
        """Leave the upstream's answer, finished or not."""
        response, self._response = self._response, None
        if response is not None:
            await response.aclose()

    @property
    def can_retry(self) -> bool:
        """Whether no tool was called yet."""
        return not self.completion.calls

    async def _write_on(self, accepted: str, refused: Sequence[Refusal]) -> AsyncIterator[str]:
        try:
            if accepted or refused:
                await self._ask_again(accepted, refused)
            if self._response is None:
                return
            async for text in written(self._response, self.completion):
                if self._earlier + self.completion.size > self._longest:
                    said = f"the answer is over {self._longest} characters"
                    raise ProtocolError(502, said, code="answer_too_long", retry=False)
                self.cut_off = self.completion.cut_off
                if text:
                    yield text
        except ProtocolError as failure:
            self.failure = failure
            raise GenerationError(failure.message) from failure
        self.completion.finish_reason = self.completion.finish_reason or "stop"  # some servers do not say
        await self.aclose()

    async def _ask_again(self, accepted: str, refused: Sequence[Refusal]) -> None:
        await self.aclose()
        messages = continued(self._body["messages"], accepted, refused)
        self._response = await self._upstream.ask({**self._body, "messages": messages}, self._headers)
        self._earlier += self.completion.size
        self.completion = Completion(self.completion.usage)


class LocalWriter(Writer):
    """Answers of a generator in this process, one at a time."""

    def __init__(self, generator: Generator, model: str) -> None:
        self.generator, self.model = generator, model
        self._free = asyncio.Lock()

    def answer(self, asked: ChatRequest, body: Mapping[str, Any], found: Found, headers: Mapping[str, str]) -> "LocalAnswer":
        """An answer to the request's question alone."""
        return LocalAnswer(self.generator, self._free)

    async def models(self, headers: Mapping[str, str]) -> Any:
        """The one model that writes here."""
        model = {"id": self.model, "object": "model", "created": 0, "owned_by": "groundrail"}
        return {"object": "list", "data": [model]}


class LocalAnswer(WrittenAnswer):
    """An answer of a generator in this process; it waits for the one before it to end."""

    def __init__(self, generator: Generator, free: asyncio.Lock) -> None:
        super().__init__(generator)
        self.completion.finish_reason = "stop"
        self._free, self._holds = free, False

    async def begin(self) -> None:
        """Wait until no other answer is being written."""
        self._holds = await self._free.acquire()

    async def aclose(self) -> None:
        """Let the next answer begin."""
        if self._holds:
            self._holds = False
            self._free.release()
