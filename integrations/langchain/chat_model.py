"""`GuardedChatModel`: a chat model for any place that takes one, whose text is checked before it is out.

Turns sessions into messages with citations. The guard decides on release.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, set_config_context
from pydantic import Field, field_validator

from groundrail.guard import Guard
from groundrail.integrations.langchain.call import ModelCall
from groundrail.integrations.langchain.guarded_run import (
    AsyncWrite,
    Event,
    answer,
    asked,
    in_context,
    inner_config,
    quietly,
)
from groundrail.integrations.langchain.retrieved import SourceCollector, SourceDocuments, tool_sources
from groundrail.integrations.langchain.structured import GuardedStructuredOutput, checked_answer
from groundrail.objects.answers import object_format
from groundrail.runtime.both_ways import each, iterate

LOOKED_AT = "the tool results among the messages, documents= of the call, its metadata's 'documents', and sources_of"


class GuardedChatModel(BaseChatModel):
    """Wraps `model`; its text goes out sentence by sentence once the sources support it.

    Sources of a call: the tool results among its messages, `documents=` of the call or of `bind`, `documents` in its
    config's metadata, and what `sources_of` finds in its messages. Tool calls are passed on unchecked, after the text.
    Only text and tool calls are passed on. With a `response_format` of JSON, as by `bind`, the text is an object, which
    goes out whole with null in the place of each refused field. A call's config also configures the wrapped model.

    The message's text block carries a standard citation annotation for each place that supports a sentence,
    and `response_metadata["groundrail"]` the whole result. `annotate=False` keeps the content a plain string.
    """

    model: Runnable[LanguageModelInput, Any]
    guard: Guard = Field(default_factory=Guard)
    sources_of: Callable[[Sequence[BaseMessage]], Any] | None = None
    tools: frozenset[str] | None = None
    """Names of the tools whose results are sources; None for all. Text that a tool repeats from a call is no source."""
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
        """Objects of a schema: an object goes out whole, with null in the place of each refused field.

        `unchecked=True` returns the wrapped model's own structured output. `groundrail.integrations.langchain.structured`
        says what `include_raw` returns and which errors are raised. Other options are the wrapped model's.
        """
        if not unchecked:
            return GuardedStructuredOutput(self, schema, include_raw=include_raw, **kwargs)
        bind: Any = self.model.with_structured_output  # type: ignore[attr-defined]
        bound: Runnable[LanguageModelInput, Any] = bind(schema, include_raw=include_raw, **kwargs)
        return bound

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """The released text as one message."""
        with set_config_context(ensure_config(config)) as context:
            return context.run(super().invoke, input, config, **kwargs)

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AIMessage:
        """`invoke` for an event loop."""
        with set_config_context(ensure_config(config)) as context:
            return await in_context(context, super().ainvoke(input, config, **kwargs))

    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[AIMessageChunk]:
        """Released text as chunks, a sentence at a time; the last one has no text and all the rest."""
        chunks: Any = each(super().stream(input, config, **kwargs))
        return iterate(quietly(ensure_config(config), chunks))

    def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[AIMessageChunk]:
        """`stream` for an event loop."""
        chunks: Any = super().astream(input, config, **kwargs)
        return quietly(ensure_config(config), chunks)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        return iterate(self._chunks(messages, stop, run_manager, kwargs, is_async=False))

    def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        return self._chunks(messages, stop, run_manager, kwargs, is_async=True)

    def messages_of(self, input: LanguageModelInput) -> list[BaseMessage]:
        """An input as messages."""
        return self._convert_input(input).to_messages()

    def call_for(self, messages: list[BaseMessage], documents: Any, run_manager: BaseRunManager | None) -> ModelCall:
        """A call with the sources for these messages."""
        metadata = ensure_config().get("metadata", {}) if run_manager is None else run_manager.metadata
        sources = SourceDocuments(documents, metadata.get("documents"), tool_sources(messages, self.tools))
        if self.sources_of is not None:
            sources.add(self.sources_of(messages))
        return ModelCall(messages, sources, annotate=self.annotate)

    def _events(self, call: ModelCall, write: AsyncWrite, *, is_async: bool) -> AsyncGenerator[Event]:
        """The sentences of the text that `write` gives, as they are decided on, then the result."""
        session = asked(write, is_async=is_async)
        return answer(self.guard, session, call.question, call.sources, LOOKED_AT, is_async=is_async)

    async def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: BaseRunManager | None,
        kwargs: dict[str, Any],
        *,
        is_async: bool,
    ) -> AsyncGenerator[ChatGenerationChunk]:
        call = self.call_for(messages, kwargs.pop("documents", None), run_manager)
        traced = self.guard.policy.keep_refused
        collector = SourceCollector(call.sources, self.tools)
        config = inner_config(None, run_manager, collector, is_async=is_async, traced=traced)
        stream: Any = self.model.astream if is_async else self.model.stream

        async def write(accepted: str, refused: Sequence[str]) -> AsyncGenerator[str]:
            call.begin()
            async for chunk in each(stream(call.request(accepted, refused), config, stop=stop, **kwargs)):
                if text := call.read(chunk):
                    yield text
            call.complete()

        wanted = object_format(kwargs.get("response_format"))
        events = (
            self._events(call, write, is_async=is_async)
            if wanted is None
            else checked_answer(self.guard, write, call, wanted, is_async=is_async)
        )
        async for event in quietly(config, events, traced=traced):
            if (chunk := call.chunk(event)) is not None:
                yield chunk
