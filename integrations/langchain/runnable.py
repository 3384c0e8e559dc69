"""`GuardedRunnable`: a LangChain chain or model whose sentences go out only after their verdict.

Finds the sources, turns the wrapped runnable's stream into text, and behaves as a `Runnable`. The guard decides on
release.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event
from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import BasePromptTemplate, PromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool

from groundrail.errors import InputError
from groundrail.generators.asked import Refusal
from groundrail.guard import Guard
from groundrail.integrations.langchain.call import continued
from groundrail.integrations.langchain.guarded_run import GuardedRun, quietly
from groundrail.integrations.langchain.retrieved import SourceDocuments, SourcedResult, of_tools, tool_names
from groundrail.runtime.both_ways import each, iterate, value_of

TEMPLATE = """Answer from the source below and from nothing else.

Source:
{documents}

{prompt}"""

SENTENCE_EVENT, RESULT_EVENT = "groundrail_sentence", "groundrail_result"


class GuardedRunnable(Runnable[Any, Any]):
    """Releases the text of a chain, a chat model or an LLM, sentence by sentence, once it is supported.

    runnable: None guards the guard's own generator. A chain gets its input as it is.
    documents_key: where an input, or a dict that a runnable of the chain returns, has documents or text. They are sources,
        beside the documents that retrievers, tools and other runnables of the chain return before its first text.
    source_tools: tools, or names of tools, whose answers are sources; None for all.
    prompt_key: where a model's input has the prompt.
    answer_key: where a chain that returns dicts writes its answer.
    template: the input of a model, filled with the documents' text and the prompt.
    return_result: return the `SourcedResult` instead of its text; a stream then yields it once, at the end.

    A call that fails before its first text raises its own exception, for `with_retry` and
    `with_fallbacks`; what happens later is the policy's choice. A model can rewrite any refused sentence; a
    chain is run again for its first sentence only, so `Policy(attempts=1)` suits a chain
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
        if not isinstance(runnable, Runnable | None):
            raise InputError(f"{type(runnable).__name__} is no Runnable; put a function into a RunnableLambda")
        self.runnable = runnable
        self.documents_key, self.prompt_key, self.answer_key = documents_key, prompt_key, answer_key
        self.source_tools = tool_names(source_tools)
        self.template = PromptTemplate.from_template(template) if isinstance(template, str) else template
        self.return_result = return_result
        self.name = name
        self._model = _innermost(runnable)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The released text, or a `SourcedResult` with `return_result=True`.

        Raises: InputError for an input without what it needs; UnsupportedError under `fallback="raise"`, and for an answer
        that comes out blank because no source was found, unless the result is returned."""
        return self._whole(list(self.stream(input, config, **kwargs)))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke` for an event loop."""
        return self._whole([piece async for piece in self.astream(input, config, **kwargs)])

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Released text, a sentence at a time; with `return_result=True` the result alone, at the end."""
        return self._transform_stream_with_config(
            iter([input]), lambda _: iterate(self._pieces(input, kwargs, is_async=False)), config
        )

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """`stream` for an event loop."""
        return self._atransform_stream_with_config(
            each([input]), lambda _: self._pieces(input, kwargs, is_async=True), config
        )

    def _whole(self, pieces: Sequence[Any]) -> Any:
        return pieces[-1] if self.return_result else "".join(pieces)

    async def _pieces(self, input: Any, kwargs: dict[str, Any], *, is_async: bool) -> AsyncGenerator[Any]:
        sources, prompt, request = self._read(input)
        run = GuardedRun(self.guard, sources, self.source_tools, None, is_async)
        wrapped: Any = self.runnable

        def write(accepted: str, refused: Sequence[Refusal]) -> AsyncGenerator[str]:
            return self._texts(run.asked(wrapped, self._request(request, accepted, refused), **kwargs), sources)

        answer = run.answer(prompt, write if wrapped else None, continues=self._model is not None)
        dispatch: Any = adispatch_custom_event if is_async else dispatch_custom_event
        async for event in quietly(run.config, answer, traced=run.traced):
            if isinstance(event, SourcedResult):
                await value_of(dispatch(RESULT_EVENT, event))
                if not self.return_result:
                    sources.require_words(event, self.guard.policy)
                shown: Any = event if self.return_result else None
            else:
                await value_of(dispatch(SENTENCE_EVENT, sources.event(event)))
                shown = None if self.return_result else event.released_text
            if shown:
                yield shown

    def _read(self, input: Any) -> tuple[SourceDocuments, str, Any]:
        """The sources and the prompt of an input, and what to ask the wrapped runnable."""
        inside = "" if self.runnable is None else ", the retrievers, tools and runnables that ran before the first text"
        looked_at = f"the input's key {self.documents_key!r}{inside}{of_tools(self.source_tools)}"
        if not isinstance(input, Mapping):
            prompt = input if isinstance(input, str) else ""
            if self.runnable is None and not prompt:
                raise InputError(f"the input must be a dict with {self.prompt_key!r} and {self.documents_key!r}")
            return SourceDocuments(looked_at=looked_at, key=self.documents_key), prompt, input
        sources = SourceDocuments(input.get(self.documents_key), looked_at=looked_at, key=self.documents_key)
        prompt = input.get(self.prompt_key, "")
        if self._model is None and self.runnable is not None:
            return sources, prompt if isinstance(prompt, str) else "", input
        if not isinstance(prompt, str) or self.prompt_key not in input:
            raise InputError(
                f"a model's prompt must be text under {self.prompt_key!r}; the input has the keys {sorted(input)}"
            )
        texts = "\n\n".join(document.text for document in sources.documents)
        return sources, prompt, self.template.invoke({"documents": texts, "prompt": prompt})

    def _request(self, request: Any, accepted: str, refused: Sequence[Refusal]) -> Any:
        """The first request as it is; later ones with the accepted text and the refused sentences."""
        if self._model is None or not (accepted or refused):
            return request
        prompt: PromptValue = self._model._convert_input(request)  # type: ignore[attr-defined]
        if isinstance(self._model, BaseChatModel):
            return continued(prompt.to_messages(), accepted, refused)
        return prompt.to_string() + accepted

    async def _texts(self, chunks: AsyncIterator[Any], sources: SourceDocuments) -> AsyncGenerator[str]:
        """The text in what one call of a runnable streams; documents that come along in dicts are sources.

        Raises: InputError for a chunk that is no text, message or dict, and for dicts of which none has the answer's key.
        """
        answered, keys = False, set[str]()
        async for chunk in chunks:
            if isinstance(chunk, Mapping):
                sources.add(chunk.get(self.documents_key))
                keys.update(chunk)
                if self.answer_key not in chunk:
                    continue
                chunk = chunk[self.answer_key]
            answered = True
            if not isinstance(chunk, str | BaseMessage):
                raise InputError(
                    f"the runnable gave {type(chunk).__name__}; it must give text, a message, "
                    f"or a dict with one of these under {self.answer_key!r} (answer_key)"
                )
            if text := chunk if isinstance(chunk, str) else str(chunk.text):
                yield text
        if keys and not answered:
            raise InputError(f"no answer under {self.answer_key!r}: the runnable gave {sorted(keys)}; set answer_key to one")


def _innermost(runnable: Any) -> BaseLanguageModel[Any] | None:
    """The model inside `bind`, `with_config`, `with_retry` and `with_fallbacks`, None for a chain."""
    while runnable is not None and not isinstance(runnable, BaseLanguageModel):
        runnable = getattr(runnable, "bound", None) or getattr(runnable, "runnable", None)
    return runnable
