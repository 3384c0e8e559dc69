"""`GuardedChatModel`: a chat model for any place that takes one, whose text is checked before it is out."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, ClassVar

from langchain_core.caches import BaseCache
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import RunnableBinding
from langchain_core.runnables.config import ensure_config
from pydantic import Field, PrivateAttr, field_validator

from groundrail.guard import Guard
from groundrail.integrations.langchain.call import ModelCall
from groundrail.integrations.langchain.guarded_run import configured, quietly
from groundrail.integrations.langchain.retrieved import SourceDocuments, tool_sources
from groundrail.integrations.langchain.structured import guarded_objects
from groundrail.runtime.both_ways import each, iterate

LOOKED_AT = "the tool results among the messages, documents= of the call, its metadata's 'documents', and sources_of"


class GuardedChatModel(BaseChatModel):
    """Wraps `model`; its text goes out sentence by sentence once the sources support it.

    Sources of a call: the tool results among its messages, `documents=` of the call or of `bind`, `documents` in its
    config's metadata, and what `sources_of` finds in its messages. Calls of the tools that are bound to the model are passed
    on unchecked, after the text; a call of another tool is an error.
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

    _kind: ClassVar[type[ModelCall]] = ModelCall
    _offered: frozenset[Any] | None = PrivateAttr(default=None)

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
        """A guarded model around the model with its tools bound; it passes on no call of another tool."""
        bound = self.model.bind_tools(tools, **kwargs)  # type: ignore[attr-defined]
        guarded = self.model_copy(update={"model": bound})
        guarded._offered = frozenset(map(_name, tools))
        return guarded

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, unchecked: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Objects of a schema: an object goes out whole, with null in the place of each refused field.

            GuardedChatModel(model=model).with_structured_output(Lease).invoke(question, documents=documents)

        `include_raw=True` returns a dict with the object under "parsed" and a message under "raw", whose metadata holds
        the verdicts and citations by JSON pointer. `unchecked=True` returns the wrapped model's own structured output.
        Other options are the wrapped model's.

        Raises, when it is asked: UnsupportedObjectError if the schema does not allow null in the place of a refused field;
        GenerationError if the model wrote no object of the schema. `with_retry` asks again.
        """
        structured: Any = self.model.with_structured_output  # type: ignore[attr-defined]
        if unchecked:
            bound: Runnable[LanguageModelInput, Any] = structured(schema, include_raw=include_raw, **kwargs)
            return bound
        objects = structured(schema, include_raw=True, **kwargs)
        return guarded_objects(self._call, objects, schema, include_raw=include_raw)

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """The released text as one message."""
        with configured(ensure_config(config)):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """`invoke` for an event loop."""
        with configured(ensure_config(config)):
            return await super().ainvoke(input, config, **kwargs)

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

    def _generate(self, *call: Any, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(*call, **kwargs))

    async def _agenerate(self, *call: Any, **kwargs: Any) -> ChatResult:
        return await agenerate_from_stream(self._astream(*call, **kwargs))

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        return iterate(self._call(messages, run_manager, is_async=False, stop=stop, **kwargs).chunks())

    def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        return self._call(messages, run_manager, is_async=True, stop=stop, **kwargs).chunks()

    def _call(
        self,
        input: LanguageModelInput,
        run_manager: BaseRunManager | None = None,
        *,
        is_async: bool,
        documents: Any = None,
        **options: Any,
    ) -> ModelCall:
        """A call with its sources."""
        messages = self._convert_input(input).to_messages()
        sources = self._sources(messages, documents, run_manager)
        if self.sources_of is not None:
            sources.add(self.sources_of(messages))
        around = self.guard, sources, self.tools, run_manager, is_async
        offered = self._offered
        if offered is None:
            offered = frozenset(map(_name, [*_bound_tools(self.model), *options.get("tools", ())]))
        return self._kind(*around, self.model, messages, self.annotate, offered, options)

    def _sources(
        self, messages: Sequence[BaseMessage], documents: Any, run_manager: BaseRunManager | None
    ) -> SourceDocuments:
        metadata = ensure_config().get("metadata", {}) if run_manager is None else run_manager.metadata
        found = documents, metadata.get("documents"), tool_sources(messages, self.tools)
        return SourceDocuments(*found, looked_at=LOOKED_AT)


def _bound_tools(model: Any) -> Sequence[Any]:
    """The tools that were bound to a model before it was guarded."""
    tools: list[Any] = []
    while isinstance(model, RunnableBinding):
        tools += model.kwargs.get("tools") or ()
        model = model.bound
    return tools


def _name(tool: Any) -> Any:
    """The name of a tool in any form that `bind_tools` takes; None for a tool that the provider calls itself."""
    if isinstance(tool, dict):
        described = tool.get("function", tool)
        return described.get("name") or described.get("title")
    return getattr(tool, "name", None) or tool.__name__
