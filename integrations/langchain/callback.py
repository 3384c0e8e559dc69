"""Callback handlers that check what LangChain's models write and tell of it.

A callback sees tokens and the chain emits them all the same: it can report, or stop the chain with an
error, and cannot hold text back. `groundrail.integrations.langchain.runnable` can.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool

from groundrail.errors import InputError, UnsupportedError
from groundrail.generation.drivers import IncrementalCheck
from groundrail.guard import Guard
from groundrail.integrations.langchain.retrieved import (
    SourceCollector,
    SourceDocuments,
    SourcedResult,
    documents_in,
    of_tools,
    stopped,
    tool_names,
)
from groundrail.integrations.langchain.runnable import RESULT_EVENT, SENTENCE_EVENT
from groundrail.runtime.both_ways import run, value_of
from groundrail.sources.echoes import Echoes
from groundrail.types import CheckedSentence

Findings: TypeAlias = list[tuple[str, Any] | UnsupportedError]
"""Custom events to tell now, by name and data, and perhaps the error to raise after them."""


@dataclass(slots=True, eq=False)
class _Run:
    """A run of a chain or a tool: what was found in it, and the echoes of calls in its whole tree."""

    parent: UUID | None
    echoes: Echoes
    sources: SourceDocuments | None = None


@dataclass(slots=True)
class _Writing:
    """A model's run: the answer it writes, begun with its first text."""

    sources: SourceDocuments
    question: str
    answer: IncrementalCheck | None = None


class _RunWatcher(SourceCollector):
    """The part that both handlers share: the tree of runs, and findings for text, ends and failures.

    A run sees the documents of its nearest ancestor that has any: parallel branches, each with its own
    retriever, do not see each other's, and a retriever that found nothing counts as having looked. Runs whose
    start was not seen have nothing, so that nothing outlives its run.

    guard: scores and judges; its policy's fallback `"raise"` stops the chain, every other one only tells.
    documents_keys: keys of chain inputs that hold lists of documents; also looked for in the metadata given
        at call time.
    source_tools: tools, or names of tools, whose answers are sources; None for all.
    on_sentence, on_result: called with every `CheckedSentence` and `SourcedResult`.
    raise_error: leave it True. False makes langchain-core log the handler's errors and go on, unsupported
        answers included.
    """

    run_inline = False

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
        self.runs: dict[UUID, _Run] = {}
        self._writing: dict[UUID, _Writing] = {}
        self._lock = threading.Lock()

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        given = inputs if isinstance(inputs, Mapping) else {}
        found = [documents for key in self.documents_keys for documents in documents_in(given.get(key))]
        self.runs[run_id] = _Run(parent_run_id, self.echoes(parent_run_id), SourceDocuments(found) if found else None)

    def _over(self, outcome: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.runs.pop(run_id, None)

    on_chain_end: Any = _over
    on_chain_error: Any = _over
    on_tool_error: Any = _over

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self.runs[run_id] = _Run(parent_run_id, self.echoes(parent_run_id))
        super().on_tool_start(serialized, input_str, run_id=run_id, **kwargs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.runs.pop(run_id, None)
        super().on_tool_end(output, run_id=run_id, **kwargs)

    def on_llm_start(
        self, serialized: Any, prompts: list[str], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        sources, metadata = self._visible_from(parent_run_id), kwargs.get("metadata") or {}
        sources.add([metadata.get(key) for key in self.documents_keys])
        self._writing[run_id] = _Writing(sources, prompts[-1] if prompts else "")

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        super().on_chat_model_start(serialized, messages, run_id=run_id, parent_run_id=parent_run_id)
        asked = [str(message.text) for row in messages for message in row if message.type == "human"]
        self.on_llm_start(serialized, asked[-1:], run_id=run_id, parent_run_id=parent_run_id, **kwargs)

    def echoes(self, run: UUID | None) -> Echoes:
        return next((around.echoes for around in self._around(run)), Echoes())

    def found(self, run: UUID | None, documents: Any) -> None:
        with self._lock:
            for around in self._around(run):
                around.sources = around.sources or SourceDocuments()
                around.sources.add(documents)

    def _around(self, run: UUID | None) -> Iterator[_Run]:
        """The run and the runs around it."""
        while run is not None and (around := self.runs.get(run)) is not None:
            yield around
            run = around.parent

    def _visible_from(self, run: UUID | None) -> SourceDocuments:
        """A copy of the sources of the run, or of its nearest ancestor that has sources."""
        keys, tools = ", ".join(map(repr, self.documents_keys)), of_tools(self.source_tools)
        looked_at = f"the retrievers and tools of the run{tools}, and the keys {keys} of chain inputs and of metadata"
        visible = SourceDocuments(looked_at=looked_at)
        with self._lock:
            if nearest := next((around.sources for around in self._around(run) if around.sources), None):
                visible.add(nearest.documents)
                visible.empty = nearest.empty
        return visible

    def _written(self, run_id: UUID, text: str) -> Findings:
        """Findings for the sentences that this text completes."""
        writing = self._writing.get(run_id)
        if writing is None or not text:
            return []
        writing.answer = writing.answer or self._begun(writing)
        return self._findings(run_id, writing.sources, writing.answer, writing.answer.feed(text))

    def _ended(self, run_id: UUID, response: LLMResult) -> Findings:
        """Findings for the rest of a streamed answer, or for all answers that came at once."""
        findings: Findings = []
        writing = self._writing.pop(run_id, None)
        if writing is None:
            return findings
        error = stopped(response)
        if writing.answer is not None:
            return self._findings(run_id, writing.sources, writing.answer, _end(writing.answer, error))
        texts = [_text(generation.text, generation) for row in response.generations for generation in row]
        for text in filter(str.strip, texts):
            answer = self._begun(writing)
            findings += self._findings(run_id, writing.sources, answer, [*answer.feed(text), *_end(answer, error)])
            if answer.error is not None:
                break
        return findings

    def _failed(self, run_id: UUID, error: BaseException) -> Findings:
        """Findings for an answer whose model failed; langchain-core raises the error itself."""
        writing = self._writing.pop(run_id, None)
        if writing is None or writing.answer is None:
            return []
        cause = error if isinstance(error, Exception) else RuntimeError(repr(error))
        found = self._findings(run_id, writing.sources, writing.answer, writing.answer.fail(cause))
        return [finding for finding in found if not isinstance(finding, Exception)]

    def _begun(self, writing: _Writing) -> IncrementalCheck:
        return self.guard.incremental(writing.sources.documents, writing.question)

    def _findings(
        self, run_id: UUID, sources: SourceDocuments, answer: IncrementalCheck, decided: Sequence[CheckedSentence]
    ) -> Findings:
        """Findings for sentences just decided on and for an answer that has just ended, whose run gets no further findings."""
        findings: Findings = []
        for sentence in map(sources.explained, decided):
            findings.append((SENTENCE_EVENT, sources.event(sentence)))
            if self.on_sentence is not None:
                self.on_sentence(sentence)
        if answer.result is not None:
            self._writing.pop(run_id, None)
            result = sources.result(answer.result)
            findings.append((RESULT_EVENT, result))
            if self.on_result is not None:
                self.on_result(result)
        return findings if answer.error is None else [*findings, sources.raised(answer.error)]


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


def _end(answer: IncrementalCheck, error: Exception | None) -> Sequence[CheckedSentence]:
    return answer.finish() if error is None else answer.fail(error)


async def _tell(findings: Findings, dispatch: Callable[..., Any]) -> None:
    """Send the events where a chain is around the model: none reaches a model called by itself. Then raise."""
    config = ensure_config()
    is_heard = getattr(config.get("callbacks"), "parent_run_id", None) is not None
    for finding in findings:
        if isinstance(finding, Exception):
            raise finding
        if is_heard:
            await value_of(dispatch(*finding, config=config))


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
