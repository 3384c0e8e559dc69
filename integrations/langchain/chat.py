"""`GuardedChatModel`: a chat model for any place that takes one, whose text is checked before it is out.

Turns sessions into messages with citations. What is released is decided by the guard.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.content import create_citation
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from pydantic import Field, field_validator

from groundrail.errors import InputError
from groundrail.generators.asked import AskedSession, request_to_continue
from groundrail.guard import Guard
from groundrail.integrations.langchain.answer import Event, aanswer, answer, aquietly, inner_config, quietly
from groundrail.integrations.langchain.documents import SourceDocuments, SourcedResult, tool_source
from groundrail.integrations.langchain.echo import arguments_of
from groundrail.types import CheckedSentence

LOOKED_AT = "the tool results among the messages, documents= of the call, its metadata's 'documents', and sources_of"


PASSED_ON = frozenset(
    "finish_reason stop_reason model model_id model_name model_provider service_tier system_fingerprint token_usage".split()
)
"""What of the wrapped model's `response_metadata` goes out; logprobs, say, spell unreleased text."""


class GuardedChatModel(BaseChatModel):
    """Wraps `model`; its text goes out sentence by sentence once the sources support it.

    Sources of a call: the tool results among its messages, `documents=` of the call or of `bind`,
    `documents` in its config's metadata, and what `sources_of` finds in its messages. Tool calls are passed
    on unchecked, after the text. Only text and tool calls are passed on.

    The message's text block carries a standard citation annotation for each place that supports a sentence,
    and `response_metadata["groundrail"]` the whole result. `annotate=False` keeps the content a plain string.
    """

    model: Runnable[LanguageModelInput, Any]
    guard: Guard = Field(default_factory=Guard)
    sources_of: Callable[[Sequence[BaseMessage]], Any] | None = None
    tools: frozenset[str] | None = None
    """Names of the tools whose results are sources; None for all. What a tool repeats of its call never is one."""
    annotate: bool = True
    cache: BaseCache | bool | None = Field(default=False, exclude=True)
    """Off, also where LangChain's global cache is set: its key knows neither documents nor policy."""

    @field_validator("cache")
    @classmethod
    def _never_caches(cls, value: Any) -> Any:
        if value is not None and value is not False:
            raise ValueError("a guarded answer cannot be cached: cache the wrapped model instead")
        return False

    @property
    def _llm_type(self) -> str:
        return f"groundrail-{getattr(self.model, '_llm_type', 'model')}"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(getattr(self.model, "_identifying_params", {}))

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """A guarded model around the model with its tools bound."""
        bound = self.model.bind_tools(tools, **kwargs)  # type: ignore[attr-defined]
        return self.model_copy(update={"model": bound})

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, unchecked: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """The wrapped model's structured output, which no guard reads.

        Raises: InputError unless `unchecked` is True: an object is no text that could be checked by sentences.
        """
        if not unchecked:
            raise InputError(
                "structured output is not checked against any source: check its texts with guard.check(text, source), "
                "or pass unchecked=True to get it as the model writes it"
            )
        wrapped: Any = self.model
        bound: Runnable[LanguageModelInput, Any] = wrapped.with_structured_output(
            schema, include_raw=include_raw, **kwargs
        )
        return bound

    def stream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        """Released text as chunks, a sentence at a time; the last one has no text and all the rest."""
        yield from super().stream(input, config, stop=stop, **_with_documents(config, kwargs))

    async def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """`stream` for an event loop."""
        async for chunk in super().astream(input, config, stop=stop, **_with_documents(config, kwargs)):
            yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._chunks(messages, stop, run_manager, kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._achunks(messages, stop, run_manager, kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from self._chunks(messages, stop, run_manager, kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in self._achunks(messages, stop, run_manager, kwargs):
            yield chunk

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: CallbackManagerForLLMRun | None,
        kwargs: dict[str, Any],
    ) -> Iterator[ChatGenerationChunk]:
        call = _Call(self, messages, kwargs.pop("documents", None), run_manager)
        config = inner_config(None, run_manager, call.sources, is_async=False, traced=self.guard.policy.keep_refused)

        def write(accepted: str, refused: Sequence[str]) -> Iterator[str]:
            call.begin()
            for chunk in self.model.stream(call.request(accepted, refused), config, stop=stop, **kwargs):
                if text := call.read(chunk):
                    yield text
            call.complete()

        events = answer(self.guard, AskedSession(write), call.question, call.sources, LOOKED_AT)
        for event in quietly(config, events, traced=self.guard.policy.keep_refused):
            if (chunk := call.chunk(event)) is not None:
                yield chunk

    async def _achunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: AsyncCallbackManagerForLLMRun | None,
        kwargs: dict[str, Any],
    ) -> AsyncIterator[ChatGenerationChunk]:
        call = _Call(self, messages, kwargs.pop("documents", None), run_manager)
        config = inner_config(None, run_manager, call.sources, is_async=True, traced=self.guard.policy.keep_refused)

        async def write(accepted: str, refused: Sequence[str]) -> AsyncIterator[str]:
            call.begin()
            async for chunk in self.model.astream(call.request(accepted, refused), config, stop=stop, **kwargs):
                if text := call.read(chunk):
                    yield text
            call.complete()

        events = aanswer(self.guard, AskedSession(write), call.question, call.sources, LOOKED_AT)
        async for event in aquietly(config, events, traced=self.guard.policy.keep_refused):
            if (chunk := call.chunk(event)) is not None:
                yield chunk


def _with_documents(config: RunnableConfig | None, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the metadata's documents among them: `_stream` is told of no metadata."""
    documents = ensure_config(config).get("metadata", {}).get("documents")
    return kwargs if documents is None else kwargs | {"documents": [kwargs.get("documents"), documents]}


class _Call:
    """One call of a guarded chat model: its sources, what the model said beside text, the chunks to show."""

    def __init__(
        self,
        guarded: GuardedChatModel,
        messages: list[BaseMessage],
        documents: Any,
        run_manager: BaseRunManager | None,
    ) -> None:
        metadata = run_manager.metadata if run_manager is not None else {}
        written = arguments_of(messages)
        results = [
            tool_source(message, written.get(message.tool_call_id))
            for message in messages
            if isinstance(message, ToolMessage) and (guarded.tools is None or message.name in guarded.tools)
        ]
        self.sources = SourceDocuments(documents, metadata.get("documents"), results)
        if guarded.sources_of is not None:
            self.sources.add(guarded.sources_of(messages))
        asked = [str(message.text) for message in messages if isinstance(message, HumanMessage)]
        self.question = asked[-1] if asked else ""
        self._messages, self._annotate = messages, guarded.annotate
        self._saying: AIMessage | None = None
        self._said: AIMessage | None = None
        self._usage: UsageMetadata | None = None
        self._position = 0

    def request(self, accepted: str, refused: Sequence[str]) -> list[BaseMessage]:
        if not (accepted or refused):
            return self._messages
        stands = [AIMessage(accepted)] if accepted else []
        return [*self._messages, *stands, HumanMessage(request_to_continue(accepted, refused))]

    def begin(self) -> None:
        self._saying = self._said = None

    def read(self, chunk: AIMessage) -> str:
        self._saying = chunk if self._saying is None else self._saying + chunk  # type: ignore[assignment]
        return str(chunk.text)

    def complete(self) -> None:
        self._said = self._saying
        if self._said is not None and self._said.usage_metadata is not None:
            self._usage = add_usage(self._usage, self._said.usage_metadata)

    def chunk(self, event: Event) -> ChatGenerationChunk | None:
        """What to show of an event: a released sentence, or at the end all that is not text."""
        if isinstance(event, SourcedResult):
            return ChatGenerationChunk(message=self._last(event))
        text = event.released_text
        if not text:
            return None
        content: Any = [self._block(event, text)] if self._annotate else text
        self._position += len(text)
        return ChatGenerationChunk(message=AIMessageChunk(content=content))

    def _block(self, sentence: CheckedSentence, text: str) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "text", "text": text, "index": 0}
        end = self._position + len(text.rstrip())
        for citation in sentence.supporting:
            metadata = self.sources.metadata(citation)
            block.setdefault("annotations", []).append(
                create_citation(
                    url=metadata.get("url") or metadata.get("source"),
                    title=metadata.get("title"),
                    start_index=self._position,
                    end_index=end,
                    cited_text=citation.text,
                    document_id=citation.document_id,
                    document_start=citation.start,
                    document_end=citation.end,
                    score=citation.score,
                    metadata=metadata,
                )
            )
        return block

    def _last(self, result: SourcedResult) -> AIMessageChunk:
        said = self._said
        raw = {} if said is None else said.response_metadata
        citations = [c.model_dump(mode="json") | {"metadata": self.sources.metadata(c)} for c in result.citations]
        calls = [] if said is None else [*said.tool_calls, *said.invalid_tool_calls]
        return AIMessageChunk(
            content=[] if self._annotate else "",
            response_metadata={
                **{key: value for key, value in raw.items() if key in PASSED_ON},
                "groundrail": result.model_dump(mode="json", exclude={"documents"}),
                "citations": citations,
            },
            usage_metadata=self._usage,
            tool_call_chunks=[
                tool_call_chunk(
                    name=call["name"],
                    args=call["args"] if isinstance(call["args"], str) else json.dumps(call["args"]),
                    id=call["id"],
                    index=number,
                )
                for number, call in enumerate(calls)
            ],
            chunk_position="last",
        )
