"""groundrail for Haystack: a chat generator around another one, whose text goes out once the documents support it.

Tested with haystack-ai 3.4. The wrapped generator writes into a callback, so that nothing is asked for again: a refused
sentence is dropped, or whatever else the policy says. Components that come after it get the checked replies alone.
Parts of a reply that are neither text, reasoning nor calls of the call's tools are refused.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from groundrail.errors import MissingExtraError
from groundrail.generation.drivers import IncrementalCheck
from groundrail.guard import Guard
from groundrail.integrations.doors import metadata, stopped_early, unknown
from groundrail.runtime.both_ways import run, value_of
from groundrail.sources.echoes import Echoes
from groundrail.types import CheckedSentence, GuardResult
from groundrail.types import Document as Source

try:
    from haystack import Document, component
    from haystack.dataclasses import ChatMessage, StreamingCallbackT, StreamingChunk, ToolCall, ToolCallDelta
    from haystack.tools import ToolsType, flatten_tools_or_toolsets
except ImportError as error:
    raise MissingExtraError("groundrail.integrations.haystack", "haystack") from error

_PACKAGE = "haystack-ai"


@component
class GuardedChatGenerator:
    """A chat generator whose replies and streamed chunks hold supported text alone.

    Sources are the `documents` of the call, as a retriever gives them, and the results of tools among the messages. Tool
    calls are passed on unchecked, after the text; reasoning is not passed on, and other parts, such as images, raise a
    GenerationError. Each reply's `meta["groundrail"]` is its `GuardResult` as a dict,
    with marks and citations by the documents' ids.

    Example: `pipeline.add_component("llm", GuardedChatGenerator(OpenAIChatGenerator(), guard))`, connected with
    `pipeline.connect("retriever.documents", "llm.documents")`.
    """

    def __init__(self, generator: Any, guard: Guard, streaming_callback: StreamingCallbackT | None = None) -> None:
        self.generator, self.guard, self.streaming_callback = generator, guard, streaming_callback

    def warm_up(self) -> None:
        """Make the wrapped generator ready."""
        if hasattr(self.generator, "warm_up"):
            self.generator.warm_up()

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
        answer = self._answer(messages, documents, streaming_callback, tools)
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
        answer = self._answer(messages, documents, streaming_callback, tools, is_async=True)
        return await answer.replies(self.generator.run_async, options, answer.take)

    def _answer(self, messages: Any, documents: Any, show: Any, tools: Any, *, is_async: bool = False) -> "_Answer":
        offered = flatten_tools_or_toolsets(tools or getattr(self.generator, "tools", None))
        names = {tool.name for tool in offered}
        return _Answer(self.guard, messages, documents, show or self.streaming_callback, names, is_async)


@dataclass(eq=False)
class _Answer:
    """One call: chunks of the wrapped generator in, released chunks and checked replies out."""

    guard: Guard
    messages: Sequence[ChatMessage]
    documents: Sequence[Document] | None
    show: Any
    offered: Collection[str]
    is_async: bool

    def __post_init__(self) -> None:
        self._source: list[str | Source] = [*_texts(self.documents or ()), *_tool_results(self.messages)]
        self._question = next((m.text or "" for m in reversed(self.messages) if m.is_from("user")), "")
        self._pushed = self.guard.incremental(self._source, self._question)
        self._streamed = False
        self._ended: StreamingChunk | None = None

    async def replies(self, call: Callable[..., Any], options: dict[str, Any], take: Any) -> dict[str, list[ChatMessage]]:
        try:
            replies = (await value_of(call(messages=self.messages, streaming_callback=take, **options)))["replies"]
        except Exception as error:
            await self._tell(self._pushed.fail, error)
            raise
        first, *others = replies
        if not self._streamed:
            await self._tell(self._pushed.feed, "".join(first.texts))
        await self._tell(_ended, self._pushed, first)
        calls = [_calls(reply, self.offered) for reply in replies]
        ends = metadata({"finish_reason": self._ended.finish_reason}) if self._ended else {}
        about: dict[str, Any] = {"component_info": self._ended and self._ended.component_info}
        held = [StreamingChunk("", index=n, tool_calls=[_delta(n, call)], **about) for n, call in enumerate(calls[0])]
        held += [StreamingChunk("", **ends, **about)] if ends else []
        for chunk in held if self.show else ():
            await value_of(self.show(chunk))
        results = [self._pushed.result, *[await self._judged(self._checked, other) for other in others]]
        return {"replies": list(map(_reply, replies, results, calls))}

    def _checked(self, reply: ChatMessage) -> GuardResult | None:
        """The result of a reply that is not streamed. Raises: UnsupportedError under `"raise"`."""
        pushed = self.guard.incremental(self._source, self._question)
        pushed.feed("".join(reply.texts))
        _ended(pushed, reply)
        if pushed.error is not None:
            raise pushed.error
        return pushed.result

    async def take(self, chunk: StreamingChunk) -> None:
        """Judge the text of a chunk; what else it says comes from the reply, but for its reason to end."""
        if chunk.content:
            self._streamed = True
            await self._tell(self._pushed.feed, chunk.content)
        if chunk.finish_reason:
            self._ended = chunk

    async def _judged(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(call, *arguments) if self.is_async else call(*arguments)

    async def _tell(self, judge: Callable[..., Sequence[CheckedSentence]], *arguments: Any) -> None:
        """Judge, and show what is released."""
        for sentence in await self._judged(judge, *arguments):
            if sentence.released_text and self.show:
                await value_of(self.show(StreamingChunk(sentence.released_text)))
        if self._pushed.error is not None:
            raise self._pushed.error


def _ended(pushed: IncrementalCheck, reply: ChatMessage) -> list[CheckedSentence]:
    """The last sentences of a reply, which failed if it stopped before its end."""
    error = stopped_early(reply.meta)
    return pushed.finish() if error is None else pushed.fail(error)


def _reply(written: ChatMessage, result: GuardResult | None, calls: list[ToolCall]) -> ChatMessage:
    """The released text and the tool calls of a reply."""
    details = {"groundrail": result.model_dump(mode="json")} if result else {}
    text = result.text if result else ""
    return ChatMessage.from_assistant(text, meta=metadata(written.meta) | details, tool_calls=calls)


def _calls(written: ChatMessage, offered: Collection[str]) -> list[ToolCall]:
    """The calls of offered tools. Raises: GenerationError for others, and for parts that no guard reads."""
    if any(call.tool_name not in offered for call in written.tool_calls):
        raise unknown("a call of a tool that the call does not offer,", _PACKAGE)
    if len(written) > len([*written.texts, *written.reasonings, *written.tool_calls]):
        raise unknown("a part that is neither text, reasoning nor a tool call,", _PACKAGE)
    calls = [(call, metadata({"id": (call.extra or {}).get("call_id")})) for call in written.tool_calls]
    return [ToolCall(c.tool_name, c.arguments, c.id, {"call_id": m["id"]} if m else None) for c, m in calls]


def _texts(documents: Sequence[Document]) -> list[Source]:
    """The documents that have text, each once, under their ids and with their metadata."""
    found = {each.id: each for each in documents if each.content}
    return [Source(text=each.content or "", id=name, metadata=each.meta) for name, each in found.items()]


def _delta(number: int, call: ToolCall) -> ToolCallDelta:
    return ToolCallDelta(number, call.tool_name, json.dumps(call.arguments), call.id)


def _tool_results(messages: Sequence[ChatMessage]) -> list[str]:
    """The texts that tools returned, without text that the model itself wrote into its calls."""
    echoes, found = Echoes(), []
    for message in messages:
        for call in message.tool_calls:
            echoes.call(call.arguments)
        found += [echoes.evidence(str(r.result)) for r in message.tool_call_results if not r.error]
    return [text for text in found if text.strip()]
