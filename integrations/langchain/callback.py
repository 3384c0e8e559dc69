"""Callback handlers that check what LangChain's models write and tell of it.

A callback sees tokens and the chain emits them all the same: it can report, or stop the chain with an
error, and cannot hold text back. `groundrail.integrations.langchain.runnable` can.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool

from groundrail.errors import InputError, UnsupportedError
from groundrail.generation.drivers import PushedAnswer
from groundrail.guard import Guard
from groundrail.integrations.langchain.retrieved import (
    SourceDocuments,
    SourcedResult,
    documents_in,
    of_tools,
    tool_names,
    tool_source,
    tool_sources,
)
from groundrail.integrations.langchain.runnable import RESULT_EVENT, SENTENCE_EVENT
from groundrail.runtime.both_ways import run, value_of
from groundrail.sources.echoes import Echoes
from groundrail.types import CheckedSentence


class _RunTree:
    """Runs by id, with what retrievers and tools found below them, documents in their inputs and the echoes of calls.

    A run sees the documents of its nearest ancestor that has any: parallel branches, each with its own
    retriever, do not see each other's, and a retriever that found nothing counts as having looked. Runs whose
    start was not seen have nothing, so that nothing outlives its run.
    """

    def __init__(self, input_keys: tuple[str, ...]) -> None:
        self._input_keys = input_keys
        self._parents: dict[UUID, UUID | None] = {}
        self._sources: dict[UUID, SourceDocuments] = {}
        self._echoes: dict[UUID, Echoes] = {}
        self._lock = threading.Lock()

    def start(self, run: UUID, parent: UUID | None, inputs: Any = None) -> None:
        """A run begins; lists of documents under the input keys of its inputs are its sources."""
        found = [documents_in(inputs.get(key)) for key in self._input_keys] if isinstance(inputs, Mapping) else []
        with self._lock:
            self._parents[run] = parent
            if any(found):
                self._sources.setdefault(run, SourceDocuments()).add(found)

    def end(self, run: UUID) -> None:
        """A run is over; the documents that it found stay with the runs around it."""
        with self._lock:
            self._parents.pop(run, None)
            self._sources.pop(run, None)
            self._echoes.pop(run, None)

    def found(self, run: UUID | None, documents: Any) -> None:
        """Documents turned up in a run: it and every run around it has them."""
        with self._lock:
            for ancestor in self._upwards(run):
                self._sources.setdefault(ancestor, SourceDocuments()).add(documents)

    def echoes(self, run: UUID | None) -> Echoes:
        """The echoes of tool calls around a run: those of the outermost run around it."""
        with self._lock:
            *_, outermost = None, *self._upwards(run)
            return Echoes() if outermost is None else self._echoes.setdefault(outermost, Echoes())

    def visible_from(self, run: UUID | None) -> SourceDocuments:
        """A copy of the sources of the run, or of its nearest ancestor that has sources."""
        with self._lock:
            nearest = next((self._sources[r] for r in self._upwards(run) if r in self._sources), SourceDocuments())
            copied = SourceDocuments(nearest.documents)
            copied.empty = nearest.empty
            return copied

    def __len__(self) -> int:
        return len(self._parents)

    def _upwards(self, run: UUID | None) -> Iterator[UUID]:
        while run in self._parents:
            yield run
            run = self._parents[run]


class _Findings(NamedTuple):
    """Events to tell now, and the error to raise after them."""

    events: Sequence[tuple[str, Any]] = ()
    error: UnsupportedError | None = None


@dataclass(slots=True)
class _ModelRun:
    """A model's run: the answer it writes, begun with its first text."""

    sources: SourceDocuments
    question: str = ""
    answer: PushedAnswer | None = None
    told: bool = False


class _RunWatcher(BaseCallbackHandler):
    """The part that both handlers share: the run tree, and findings for text, ends and failures.

    guard: scores and judges; its policy's fallback `"raise"` stops the chain, every other one only tells.
    documents_keys: keys of chain inputs that hold lists of documents; also looked for in the metadata given
        at call time.
    source_tools: tools, or names of tools, whose answers are sources; None for all.
    on_sentence, on_result: called with every `CheckedSentence` and `SourcedResult`.
    raise_error: leave it True. False makes langchain-core log the handler's errors and go on, unsupported
        answers included.
    """

    def __init__(
        self,
        guard: Guard | None = None,
        *,
        documents_keys: Sequence[str] = ("documents", "context"),
        source_tools: Iterable[str | BaseTool] | None = None,
        on_sentence: Callable[[CheckedSentence], None] | None = None,
        on_result: Callable[[SourcedResult], None] | None = None,
        raise_error: bool = True,
    ) -> None:
        self.guard = guard or Guard()
        self.documents_keys = tuple(documents_keys)
        self.source_tools = tool_names(source_tools)
        self.on_sentence, self.on_result = on_sentence, on_result
        self.raise_error = raise_error
        self.runs = _RunTree(self.documents_keys)
        self._writing: dict[UUID, _ModelRun] = {}

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self.runs.start(run_id, parent_run_id, inputs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.runs.end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.runs.end(run_id)

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: Any = None,
        **kwargs: Any,
    ) -> None:
        self.runs.start(run_id, parent_run_id)
        self.runs.echoes(run_id).call(input_str if inputs is None else inputs)

    def on_tool_end(self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        echoes = self.runs.echoes(parent_run_id)
        self.runs.end(run_id)
        if self.source_tools is None or kwargs.get("name") in self.source_tools:
            self.runs.found(parent_run_id, tool_source(output, echoes))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.runs.end(run_id)

    def on_retriever_end(
        self, documents: Sequence[Any], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self.runs.found(parent_run_id, documents)

    def on_llm_start(
        self,
        serialized: Any,
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        sources = self.runs.visible_from(parent_run_id)
        for key in self.documents_keys:
            sources.add((metadata or {}).get(key))
        self._writing[run_id] = _ModelRun(sources, prompts[-1] if prompts else "")

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        for conversation in messages:
            tool_sources(conversation, echoes=self.runs.echoes(parent_run_id))
        asked = [str(message.text) for row in messages for message in row if message.type == "human"]
        self.on_llm_start(serialized, asked[-1:], run_id=run_id, parent_run_id=parent_run_id, **kwargs)

    def _written(self, run_id: UUID, text: str) -> _Findings:
        writing = self._writing.get(run_id)
        if writing is None or not text:
            return _Findings()
        if writing.answer is None:
            writing.answer = self.guard.pushed(writing.sources.documents, writing.question)
        return self._found(writing, writing.answer.feed(text))

    def _ended(self, run_id: UUID, response: LLMResult) -> _Findings:
        """Findings for the rest of a streamed answer, or for all answers that came at once."""
        writing = self._writing.pop(run_id, None)
        if writing is None:
            return _Findings()
        texts = [_text(generation.text, generation) for row in response.generations for generation in row]
        if writing.answer is not None:
            return self._found(writing, writing.answer.finish())
        events: list[tuple[str, Any]] = []
        for text in filter(str.strip, texts):
            answer = self.guard.pushed(writing.sources.documents, writing.question)
            found = self._found(_ModelRun(writing.sources, answer=answer), [*answer.feed(text), *answer.finish()])
            events += found.events
            if found.error is not None:
                return _Findings(events, found.error)
        return _Findings(events)

    def _failed(self, run_id: UUID, error: BaseException) -> _Findings:
        """Findings for an answer whose model failed; langchain-core raises the error itself."""
        writing = self._writing.pop(run_id, None)
        if writing is None or writing.answer is None:
            return _Findings()
        cause = error if isinstance(error, Exception) else RuntimeError(repr(error))
        return _Findings(self._found(writing, writing.answer.fail(cause)).events)

    def _found(self, writing: _ModelRun, decided: Sequence[CheckedSentence]) -> _Findings:
        """Events for sentences just decided on and for an answer that has just ended."""
        sources, answer, looked_at = writing.sources, writing.answer, self._looked_at()
        events: list[tuple[str, Any]] = []
        for sentence in (sources.explained(sentence, looked_at) for sentence in decided):
            events.append((SENTENCE_EVENT, sources.event(sentence)))
            if self.on_sentence is not None:
                self.on_sentence(sentence)
        if answer is None or answer.result is None or writing.told:
            return _Findings(events)
        writing.told = True
        result = sources.result(answer.result, looked_at)
        events.append((RESULT_EVENT, result))
        if self.on_result is not None:
            self.on_result(result)
        return _Findings(events, answer.error and sources.raised(answer.error, looked_at))

    def _looked_at(self) -> str:
        keys = ", ".join(map(repr, self.documents_keys))
        tools = of_tools(self.source_tools)
        return f"the retrievers and tools of the run{tools}, and the keys {keys} of chain inputs and of metadata"


class GroundrailCallbackHandler(_RunWatcher):
    """Checks each sentence a model writes below a run, as it is complete, and tells of it.

    Sources are what retrievers and tools returned in the same run tree, documents in chain inputs, and
    documents in the metadata given at call time. Each sentence is a custom event `groundrail_sentence` and
    each answer's `SourcedResult` a `groundrail_result`, seen by `astream_events` and other handlers where a
    chain is around the model; in `batch`, langchain-core names no run to put them in, and `on_sentence` and
    `on_result` are the way. Works in plain and in async chains.
    """

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **kwargs: Any) -> None:
        """Tell of the sentences that this text completes."""
        run(_tell(self._written(run_id, _text(token, chunk)), dispatch_custom_event))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Tell of the rest of the answer and of its result."""
        run(_tell(self._ended(run_id, response), dispatch_custom_event))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Tell the findings from before the model failed."""
        run(_tell(self._failed(run_id, error), dispatch_custom_event))


class AsyncGroundrailCallbackHandler(_RunWatcher):
    """`GroundrailCallbackHandler` for async chains only; checks run in threads.

    In a plain chain langchain-core swallows what an async handler raises, so it refuses to start there.
    """

    run_inline = True  # the bookkeeping is quick and stays in order; the checks are coroutines

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        """Raises: InputError in a plain chain."""
        _require_event_loop()
        super().on_chain_start(serialized, inputs, **kwargs)

    def on_llm_start(self, serialized: Any, prompts: list[str], **kwargs: Any) -> None:
        """Raises: InputError in a plain chain."""
        _require_event_loop()
        super().on_llm_start(serialized, prompts, **kwargs)

    async def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **kwargs: Any) -> None:
        """Tell of the sentences that this text completes."""
        await _tell(await asyncio.to_thread(self._written, run_id, _text(token, chunk)), adispatch_custom_event)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Tell of the rest of the answer and of its result."""
        await _tell(await asyncio.to_thread(self._ended, run_id, response), adispatch_custom_event)

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Tell the findings from before the model failed."""
        await _tell(await asyncio.to_thread(self._failed, run_id, error), adispatch_custom_event)


async def _tell(findings: _Findings, dispatch: Callable[..., Any]) -> None:
    config = _enclosing_run()
    for name, data in findings.events if config else ():
        await value_of(dispatch(name, data, config=config))
    if findings.error is not None:
        raise findings.error


def _enclosing_run() -> RunnableConfig | None:
    """The config of the chain around the model; None for a model called by itself, which no event can reach."""
    config = ensure_config()
    return config if getattr(config.get("callbacks"), "parent_run_id", None) is not None else None


def _text(token: Any, chunk: Any) -> str:
    """The text of a token or a whole generation; messages may hold it in blocks."""
    message = getattr(chunk, "message", None)
    if isinstance(message, BaseMessage):
        return str(message.text)
    return token if isinstance(token, str) else ""


def _require_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise InputError(
            "AsyncGroundrailCallbackHandler is for async chains: langchain-core swallows what it raises "
            "elsewhere; use GroundrailCallbackHandler, which works in both"
        ) from None
