"""`GuardedChatModel`: a chat model for any place that takes one, whose text is checked before it is out.

Turns sessions into messages with citations. What is released is decided by the guard.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
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
)
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, set_config_context
from pydantic import Field, field_validator

from groundrail.errors import InputError
from groundrail.generators.asked import AskedSession, Write
from groundrail.guard import Guard
from groundrail.integrations.langchain.call import ModelCall
from groundrail.integrations.langchain.guarded_run import Event, aanswer, answer, aquietly, inner_config, quietly
from groundrail.integrations.langchain.retrieved import SourceCollector, SourceDocuments, tool_sources

LOOKED_AT = "the tool results among the messages, documents= of the call, its metadata's 'documents', and sources_of"


class GuardedChatModel(BaseChatModel):
    """Wraps `model`; its text goes out sentence by sentence once the sources support it.

    Sources of a call: the tool results among its messages, `documents=` of the call or of `bind`,
    `documents` in its config's metadata, and what `sources_of` finds in its messages. Tool calls are passed
    on unchecked, after the text. Only text and tool calls are passed on. What a call's config configures of the
    wrapped model is configured.

    The message's text block carries a standard citation annotation for each place that supports a sentence,
    and `response_metadata["groundrail"]` the whole result. `annotate=False` keeps the content a plain string.
    """

    model: Runnable[LanguageModelInput, Any]
    guard: Guard = Field(default_factory=Guard)
    sources_of: Callable[[Sequence[BaseMessage]], Any] | None = None
    tools: frozenset[str] | None = None
    """Names of the tools whose results are sources; None for all. What a tool repeats of any call is none."""
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

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """The released text as one message."""
        with set_config_context(ensure_config(config)) as context:
            return context.run(super().invoke, input, config, stop=stop, **kwargs)

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """`invoke` for an event loop."""
        with set_config_context(ensure_config(config)) as context:
            asked = super().ainvoke(input, config, stop=stop, **kwargs)
            return await asyncio.create_task(asked, context=context)

    def stream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        """Released text as chunks, a sentence at a time; the last one has no text and all the rest."""
        chunks: Any = super().stream(input, config, stop=stop, **kwargs)
        yield from quietly(ensure_config(config), chunks)

    async def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """`stream` for an event loop."""
        chunks: Any = super().astream(input, config, stop=stop, **kwargs)
        async for chunk in aquietly(ensure_config(config), chunks):
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

    def _call(self, messages: list[BaseMessage], documents: Any, run_manager: BaseRunManager | None) -> ModelCall:
        metadata = ensure_config().get("metadata", {}) if run_manager is None else run_manager.metadata
        sources = SourceDocuments(documents, metadata.get("documents"), tool_sources(messages, self.tools))
        if self.sources_of is not None:
            sources.add(self.sources_of(messages))
        return ModelCall(messages, sources, annotate=self.annotate)

    def _events(self, call: ModelCall, write: Write) -> Generator[Event]:
        """The sentences of what `write` gives, as they are decided on, then the result."""
        return answer(self.guard, AskedSession(write), call.question, call.sources, LOOKED_AT)

    def _aevents(self, call: ModelCall, write: Write) -> AsyncGenerator[Event]:
        """`_events` for an event loop."""
        return aanswer(self.guard, AskedSession(write), call.question, call.sources, LOOKED_AT)

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: CallbackManagerForLLMRun | None,
        kwargs: dict[str, Any],
    ) -> Iterator[ChatGenerationChunk]:
        call = self._call(messages, kwargs.pop("documents", None), run_manager)
        collector = SourceCollector(call.sources, self.tools)
        config = inner_config(None, run_manager, collector, is_async=False, traced=self.guard.policy.keep_refused)

        def write(accepted: str, refused: Sequence[str]) -> Iterator[str]:
            call.begin()
            for chunk in self.model.stream(call.request(accepted, refused), config, stop=stop, **kwargs):
                if text := call.read(chunk):
                    yield text
            call.complete()

        for event in quietly(config, self._events(call, write), traced=self.guard.policy.keep_refused):
            if (chunk := call.chunk(event)) is not None:
                yield chunk

    async def _achunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: AsyncCallbackManagerForLLMRun | None,
        kwargs: dict[str, Any],
    ) -> AsyncIterator[ChatGenerationChunk]:
        call = self._call(messages, kwargs.pop("documents", None), run_manager)
        collector = SourceCollector(call.sources, self.tools)
        config = inner_config(None, run_manager, collector, is_async=True, traced=self.guard.policy.keep_refused)

        async def write(accepted: str, refused: Sequence[str]) -> AsyncIterator[str]:
            call.begin()
            async for chunk in self.model.astream(call.request(accepted, refused), config, stop=stop, **kwargs):
                if text := call.read(chunk):
                    yield text
            call.complete()

        async for event in aquietly(config, self._aevents(call, write), traced=self.guard.policy.keep_refused):
            if (chunk := call.chunk(event)) is not None:
                yield chunk
