"""groundrail for Haystack: a chat generator around another one, whose text goes out once the documents support it.

Tested with haystack-ai 3.4. The wrapped generator writes into a callback, so that nothing is asked for again: a refused
sentence is dropped, or whatever else the policy says. Components that come after it get the checked replies alone.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from groundrail.errors import GenerationError, MissingExtraError
from groundrail.guard import Guard
from groundrail.runtime.both_ways import run, value_of
from groundrail.text.echoes import Echoes
from groundrail.types import CheckedSentence, GuardResult

try:
    from haystack import Document, component
    from haystack.dataclasses import ChatMessage, StreamingCallbackT, StreamingChunk
    from haystack.tools import ToolsType
except ImportError as error:
    raise MissingExtraError("groundrail.integrations.haystack", "haystack") from error

_META = ("model", "index", "finish_reason", "usage")
"""The metadata of a reply that is passed on: other keys, such as `logprobs`, repeat its text."""


@component
class GroundedChatGenerator:
    """A chat generator whose replies and streamed chunks hold supported text alone.

    Sources are the `documents` of the call, as a retriever gives them, and the results of tools among the messages. Tool
    calls are passed on unchecked, after the text; reasoning is not passed on. Each reply's `meta["groundrail"]` is its
    `GuardResult` as a dict.

    Example: `pipeline.add_component("llm", GroundedChatGenerator(OpenAIChatGenerator(), guard))`, connected with
    `pipeline.connect("retriever.documents", "llm.documents")`.
    """

    def __init__(self, generator: Any, guard: Guard, streaming_callback: StreamingCallbackT | None = None) -> None:
        self.generator, self.guard, self.streaming_callback = generator, guard, streaming_callback

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage],
        documents: list[Document] | None = None,
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        tools: ToolsType | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """The checked replies. Raises: what the wrapped generator raises; UnsupportedError under `"raise"`."""
        options = {"generation_kwargs": generation_kwargs, **({"tools": tools} if tools else {})}
        answer = _Answer(self.guard, messages, documents, streaming_callback or self.streaming_callback)
        return run(answer.replies(self.generator.run, options, lambda chunk: run(answer.take(chunk))))

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self,
        messages: list[ChatMessage],
        documents: list[Document] | None = None,
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        tools: ToolsType | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """`run` for an event loop; sentences are judged in a thread."""
        options = {"generation_kwargs": generation_kwargs, **({"tools": tools} if tools else {})}
        answer = _Answer(self.guard, messages, documents, streaming_callback or self.streaming_callback, is_async=True)
        return await answer.replies(self.generator.run_async, options, answer.take)


class _Answer:
    """One call: chunks of the wrapped generator in, released chunks and checked replies out."""

    def __init__(
        self,
        guard: Guard,
        messages: Sequence[ChatMessage],
        documents: Sequence[Document] | None,
        show: Any,
        *,
        is_async: bool = False,
    ) -> None:
        self._guard, self._messages, self._show, self._is_async = guard, messages, show, is_async
        self._source = [*(d.content for d in documents or () if d.content), *_tool_results(messages)]
        self._question = next((m.text or "" for m in reversed(messages) if m.is_from("user")), "")
        self._pushed = guard.pushed(self._source, self._question)
        self._streamed, self._held = False, list[StreamingChunk]()

    async def replies(
        self, call: Callable[..., Any], options: dict[str, Any], take: Any
    ) -> dict[str, list[ChatMessage]]:
        try:
            replies = (await value_of(call(messages=self._messages, streaming_callback=take, **options)))["replies"]
        except Exception as error:
            await self._tell(await self._judged(self._pushed.fail, error))
            raise
        first, *others = replies
        if not self._streamed:
            await self._tell(await self._judged(self._pushed.feed, first.text or ""))
        if (reason := first.meta.get("finish_reason")) in ("length", "content_filter"):
            cut = GenerationError(f"the model stopped before the answer's end ({reason})")
            await self._tell(await self._judged(self._pushed.fail, cut))
        else:
            await self._tell(await self._judged(self._pushed.finish))
        for chunk in self._held if self._show else ():
            await value_of(self._show(chunk))
        results = [await self._judged(self._guard.check, o.text or "", self._source, self._question) for o in others]
        shown = map(_reply, replies, [self._pushed.result, *results])
        return {"replies": list(shown)}

    async def take(self, chunk: StreamingChunk) -> None:
        """Judge the text of a chunk; keep what else it says until the text is out."""
        if chunk.content:
            self._streamed = True
            await self._tell(await self._judged(self._pushed.feed, chunk.content))
        elif chunk.tool_calls or chunk.finish_reason:
            named: dict[str, Any] = {
                "tool_calls": chunk.tool_calls,
                "finish_reason": chunk.finish_reason,
                "index": chunk.index,
            }
            self._held.append(StreamingChunk("", component_info=chunk.component_info, **named))

    async def _judged(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(call, *arguments) if self._is_async else call(*arguments)

    async def _tell(self, sentences: Sequence[CheckedSentence]) -> None:
        for sentence in sentences:
            if sentence.released_text and self._show:
                await value_of(self._show(StreamingChunk(sentence.released_text)))
        if self._pushed.error is not None:
            raise self._pushed.error


def _reply(written: ChatMessage, result: GuardResult | None) -> ChatMessage:
    """The released text and the tool calls of a reply."""
    text = result.text if result else ""
    meta = {name: written.meta[name] for name in _META if name in written.meta}
    told = {"groundrail": result.model_dump(mode="json")} if result else {}
    return ChatMessage.from_assistant(text, meta={**meta, **told}, tool_calls=written.tool_calls)


def _tool_results(messages: Sequence[ChatMessage]) -> list[str]:
    """The texts that tools returned, without text that the model itself wrote into its calls."""
    echoes, found = Echoes(), []
    for message in messages:
        for call in message.tool_calls:
            echoes.call(call.arguments)
        found += [echoes.evidence(str(r.result)) for r in message.tool_call_results if not r.error]
    return [text for text in found if text.strip()]
