"""`GuardedRunnable`: a LangChain chain or model whose sentences go out only after their verdict.

Finds the sources, turns the wrapped runnable's stream into text, and behaves as a `Runnable`. The guard decides on
release.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event
from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import PromptValue, StringPromptValue
from langchain_core.prompts import BasePromptTemplate, PromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import patch_config
from langchain_core.tools import BaseTool

from groundrail.errors import GenerationError, InputError
from groundrail.guard import Guard
from groundrail.integrations.langchain.call import continued
from groundrail.integrations.langchain.guarded_run import Event, answer, asked, inner_config, quietly
from groundrail.integrations.langchain.retrieved import (
    SourceCollector,
    SourceDocuments,
    SourcedResult,
    of_tools,
    tool_names,
)
from groundrail.runtime.both_ways import each, iterate, run, value_of

TEMPLATE = """Answer from the source below and from nothing else.

Source:
{documents}

{prompt}"""

SENTENCE_EVENT, RESULT_EVENT = "groundrail_sentence", "groundrail_result"


class GuardedRunnable(Runnable[Any, Any]):
    """Releases the text of a chain, a chat model or an LLM, sentence by sentence, once it is supported.

    runnable: None guards the guard's own generator. A chain gets its input as it is.
    documents_key: where an input, or what a chain returns, has documents. They are sources, beside what retrievers and
        tools inside the chain find before its first text.
    source_tools: tools, or names of tools, whose answers are sources; None for all.
    prompt_key: where a model's input has the prompt.
    answer_key: where a chain that returns dicts writes its answer.
    template: the input of a model, filled with the documents' text and the prompt.
    return_result: return the `SourcedResult` instead of its text; a stream then yields it once, at the end.

    A call that fails before its first text raises its own exception, for `with_retry` and
    `with_fallbacks`; what happens later is the policy's choice. A model can rewrite any refused sentence; a
    chain is run again for its first sentence only, so `Policy(stop=stop_after_attempt(1))` suits a chain
    that must not run twice.

    Every sentence is also a custom event `groundrail_sentence`, and the result `groundrail_result`.

    Raises: InputError where there is nothing to guard.
    """

    def __init__(
        self,
        runnable: Runnable[Any, Any] | None = None,
        *,
        guard: Guard | None = None,
        documents_key: str = "documents",
        source_tools: Iterable[str | BaseTool] | None = None,
        prompt_key: str = "prompt",
        answer_key: str = "answer",
        template: str | BasePromptTemplate[Any] = TEMPLATE,
        return_result: bool = False,
        name: str | None = None,
    ) -> None:
        self.guard = guard or Guard()
        if runnable is None and self.guard.generator is None:
            raise InputError("there is nothing to guard: pass a runnable, or a guard that has a generator")
        self.runnable = runnable
        self.documents_key, self.prompt_key, self.answer_key = documents_key, prompt_key, answer_key
        self.source_tools = tool_names(source_tools)
        self.template = PromptTemplate.from_template(template) if isinstance(template, str) else template
        self.return_result = return_result
        self.name = name
        self._model = _innermost(runnable)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The released text, or a `SourcedResult` with `return_result=True`.

        Raises: InputError for an input without what it needs, UnsupportedError under `fallback="raise"`."""
        return self._call_with_config(self._invoke, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke` for an event loop."""
        return await self._acall_with_config(self._ainvoke, input, config, **kwargs)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Released text, a sentence at a time; with `return_result=True` the result alone, at the end."""
        return self._transform_stream_with_config(iter([input]), self._stream, config, **kwargs)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """`stream` for an event loop."""
        return self._atransform_stream_with_config(each([input]), self._astream, config, **kwargs)

    def _invoke(self, input: Any, run_manager: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        return run(self._answered(input, run_manager, config, kwargs, is_async=False))

    async def _ainvoke(self, input: Any, run_manager: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        return await self._answered(input, run_manager, config, kwargs, is_async=True)

    def _stream(self, inputs: Any, run_manager: Any, config: RunnableConfig, **kwargs: Any) -> Iterator[Any]:
        return iterate(self._pieces(inputs, run_manager, config, kwargs, is_async=False))

    def _astream(self, inputs: Any, run_manager: Any, config: RunnableConfig, **kwargs: Any) -> AsyncIterator[Any]:
        return self._pieces(inputs, run_manager, config, kwargs, is_async=True)

    async def _answered(self, *call: Any, is_async: bool) -> str | SourcedResult:
        async for event in self._events(*call, is_async=is_async):
            if isinstance(event, SourcedResult):
                return event if self.return_result else event.text
        raise GenerationError("the guarded answer ended without a result")

    async def _pieces(self, inputs: Any, *call: Any, is_async: bool) -> AsyncGenerator[str | SourcedResult]:
        async for input in each(inputs):
            async for event in self._events(input, *call, is_async=is_async):
                if (shown := self._shown(event)) is not None:
                    yield shown

    def _shown(self, event: Event) -> str | SourcedResult | None:
        if isinstance(event, SourcedResult):
            return event if self.return_result else None
        return None if self.return_result else event.released_text or None

    async def _events(
        self, input: Any, run_manager: Any, config: RunnableConfig, kwargs: dict[str, Any], *, is_async: bool
    ) -> AsyncGenerator[Event]:
        sources, prompt, request = self._read(input)
        traced = self.guard.policy.keep_refused
        child = patch_config(config, callbacks=run_manager.get_child())
        collector = SourceCollector(sources, self.source_tools)
        inner = inner_config(config, run_manager, collector, is_async=is_async, traced=traced)
        session = None
        if self.runnable is not None:
            stream: Any = self.runnable.astream if is_async else self.runnable.stream

            async def write(accepted: str, refused: Sequence[str]) -> AsyncGenerator[str]:
                chunks = _Chunks(self.answer_key, self.documents_key, sources)
                async for chunk in each(stream(self._request(request, sources, accepted, refused), inner, **kwargs)):
                    if text := chunks.text(chunk):
                        yield text
                chunks.finish()

            session = asked(write, is_async=is_async, continues=self._model is not None)
        events = answer(self.guard, session, prompt, sources, self._looked_at(), is_async=is_async)
        dispatch: Any = adispatch_custom_event if is_async else dispatch_custom_event
        async for event in quietly(inner, events, traced=traced):
            await value_of(dispatch(*_announced(event, sources), config=child))
            yield event

    def _read(self, input: Any) -> tuple[SourceDocuments, str, Any]:
        """The sources and the prompt of an input, and what to ask the wrapped runnable."""
        if not isinstance(input, Mapping):
            prompt = input if isinstance(input, str) else ""
            if self.runnable is None and not prompt:
                raise InputError(f"the input must be a dict with {self.prompt_key!r} and {self.documents_key!r}")
            return SourceDocuments(), prompt, input
        sources = SourceDocuments(input.get(self.documents_key))
        prompt = input.get(self.prompt_key, "")
        if self._model is None and self.runnable is not None:
            return sources, prompt if isinstance(prompt, str) else "", input
        if not isinstance(prompt, str) or self.prompt_key not in input:
            raise InputError(
                f"a model's prompt must be text under {self.prompt_key!r}; the input has the keys {sorted(input)}"
            )
        if self._model is None:
            return sources, prompt, prompt
        texts = "\n\n".join(document.text for document in sources.documents)
        return sources, prompt, self.template.invoke({"documents": texts, "prompt": prompt})

    def _request(self, request: Any, sources: SourceDocuments, accepted: str, refused: Sequence[str]) -> Any:
        """The first request as it is; later ones with the accepted text and the refused sentences."""
        if self._model is None or not (accepted or refused):
            return request
        value = StringPromptValue(text=request) if isinstance(request, str) else request
        if not isinstance(self._model, BaseChatModel):
            return (value.to_string() if isinstance(value, PromptValue) else str(value)) + accepted
        messages: list[Any] = value.to_messages() if isinstance(value, PromptValue) else list(value)
        return continued(messages, accepted, refused)

    def _looked_at(self) -> str:
        inside = "" if self.runnable is None else ", the retrievers and tools that ran before the first text"
        return f"the input's key {self.documents_key!r}{inside}{of_tools(self.source_tools)}"


class _Chunks:
    """Reads what one call of a runnable streams: its text, and documents that come along in dicts."""

    def __init__(self, answer_key: str, documents_key: str, sources: SourceDocuments) -> None:
        self._answer_key, self._documents_key, self._sources = answer_key, documents_key, sources
        self._other_keys: set[str] = set()
        self._answered = False

    def text(self, chunk: Any) -> str:
        """The text of a chunk. Raises: InputError unless it is text, a message or a dict."""
        if isinstance(chunk, Mapping):
            self._sources.add(chunk.get(self._documents_key))
            if self._answer_key not in chunk:
                self._other_keys.update(chunk)
                return ""
            chunk = chunk[self._answer_key]
        self._answered = True
        if isinstance(chunk, BaseMessage):
            return str(chunk.text)
        if isinstance(chunk, str):
            return chunk
        raise InputError(
            f"the runnable gave {type(chunk).__name__}; it must give text, a message, "
            f"or a dict with one of these under {self._answer_key!r} (answer_key)"
        )

    def finish(self) -> None:
        """Raises: InputError if dicts came and none had the answer's key."""
        if self._other_keys and not self._answered:
            keys = sorted(self._other_keys)
            raise InputError(f"no answer under {self._answer_key!r}: the runnable gave {keys}; set answer_key to one")


def _announced(event: Event, sources: SourceDocuments) -> tuple[str, Any]:
    """A custom event's name and data."""
    if isinstance(event, SourcedResult):
        return RESULT_EVENT, event
    return SENTENCE_EVENT, sources.event(event)


def _innermost(runnable: Any) -> BaseLanguageModel[Any] | None:
    """The model inside `bind`, `with_config`, `with_retry` and `with_fallbacks`, None for a chain."""
    while runnable is not None and not isinstance(runnable, BaseLanguageModel):
        runnable = getattr(runnable, "bound", None) or getattr(runnable, "runnable", None)
    return runnable
