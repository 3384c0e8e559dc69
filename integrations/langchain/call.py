"""One call of a guarded chat model: its request, its reply, and the chunks and the message made of the reply.

The model finds the sources, the guard decides on sentences.
"""

import json
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.content import create_citation
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable

from groundrail.generators.asked import Refusal, turns_to_continue
from groundrail.integrations.doors import metadata, unknown
from groundrail.integrations.langchain.guarded_run import Event, GuardedRun, quietly
from groundrail.integrations.langchain.retrieved import SourcedResult
from groundrail.objects.answers import as_answer, object_format
from groundrail.runtime.both_ways import value_of
from groundrail.text.rendering.visible import is_blank
from groundrail.types import CheckedSentence

_THOUGHT = frozenset(["reasoning", "thinking", "redacted_thinking"])
_SILENT: dict[str, Any] = {"reasoning": "", "thinking": "", "summary": []}
_KEYS = frozenset("type id index signature encrypted_content data".split())
_SIGNATURES = "__gemini_function_call_thought_signatures__"


def continued(messages: Sequence[BaseMessage], accepted: str, refused: Sequence[Refusal]) -> list[BaseMessage]:
    """A conversation that asks the model to go on; where nothing was accepted or refused, the conversation as it is."""
    return [*messages, *convert_to_messages(turns_to_continue(accepted, refused))]


@dataclass(eq=False)
class ModelCall(GuardedRun):
    """A call of `model` with `messages` and `options`.

    annotate: put citations on the text block.
    offered: names of the tools that may be called.
    """

    model: Runnable[Any, Any]
    messages: Sequence[BaseMessage]
    annotate: bool
    offered: Collection[str]
    options: dict[str, Any]
    _said: AIMessage | None = field(default=None, init=False)
    _usage: UsageMetadata | None = field(default=None, init=False)
    _position: int = field(default=0, init=False)

    @property
    def question(self) -> str:
        """The user's last words."""
        asked = [str(message.text) for message in self.messages if isinstance(message, HumanMessage)]
        return asked[-1] if asked else ""

    @property
    def calls_tools(self) -> bool:
        """Whether the model's last complete reply calls tools."""
        return self._said is not None and bool(self._said.tool_calls)

    async def chunks(self) -> AsyncGenerator[ChatGenerationChunk]:
        """Each released sentence, then everything but text."""
        async for event in quietly(self.config, self.events(), traced=self.traced):
            if isinstance(event, SourcedResult):
                yield ChatGenerationChunk(message=self._last(event))
            elif text := event.released_text:
                content: Any = [self._block(event, text)] if self.annotate else text
                self._position += len(text)
                yield ChatGenerationChunk(message=AIMessageChunk(content=content))

    def events(self) -> AsyncGenerator[Event]:
        """The sentences as they are decided on, then the result."""
        if (wanted := object_format(self.options.get("response_format"))) is not None:
            return self._checked(wanted.schema)
        return self.answer(self.question, self.write)

    async def write(self, accepted: str, refused: Sequence[Refusal]) -> AsyncGenerator[str]:
        """The text of a reply to the messages, what stands of the answer and what was refused.

        Raises: GenerationError for a reply that was cut off, or calls a tool that was not offered.
        """
        said: Any = None
        self._said = None
        async for chunk in self.asked(self.model, continued(self.messages, accepted, refused), **self.options):
            said = chunk if said is None else said + chunk
            if text := str(chunk.text):
                yield text
        calls = [] if said is None else [*said.tool_calls, *said.invalid_tool_calls]
        if any(call["name"] not in self.offered for call in calls):
            raise unknown("a call of a tool that was not offered,", "langchain-core")
        self._said = said
        if said is not None and said.usage_metadata is not None:
            self._usage = add_usage(self._usage, said.usage_metadata)

    async def _checked(self, schema: Any) -> AsyncGenerator[Event]:
        """The reply read whole and checked as an object: one sentence, then the result.

        A message that calls tools and has no text passes. Raises: InputError for a text that is no object of the schema;
        UnsupportedObjectError.
        """
        text = "".join([piece async for piece in self.write("", ())])
        if self.calls_tools and is_blank(text):
            yield SourcedResult(text="", answer="", threshold=self.guard.threshold)
            return
        result = await self.check_object(text, schema)
        answer = as_answer(text, result, keep_refused=self.traced)
        for sentence in answer.sentences:
            yield sentence
        yield self.sources.result(answer)

    async def check_object(self, obj: Any, schema: Any) -> Any:
        """The `ObjectResult` of an object that answers the question."""
        check: Any = self.guard.acheck_object if self.is_async else self.guard.check_object
        return await value_of(check(obj, self.sources.documents, schema, self.question))

    def with_thoughts(self, shown: AIMessage) -> AIMessage:
        """The message that was shown, as it goes back to the model.

        If it calls tools, it has no verdicts where it has no text, and it has the keys by which a provider knows its own
        reasoning again, without the reasoning's text.
        """
        if self._said is None or not self._said.tool_calls:
            return shown
        content: Any = str(shown.text)
        if not isinstance(self._said.content, str):
            text = [{"type": "text", "text": content}] if content else []
            content = [*(_silent(block) for block in self._said.content if _is_thought(block)), *text]
        metadata_shown = shown.response_metadata
        if not metadata_shown["groundrail"]["sentences"]:
            metadata_shown = {
                name: value for name, value in metadata_shown.items() if name not in ("groundrail", "citations")
            }
        signatures = {name: kept for name, kept in self._said.additional_kwargs.items() if name == _SIGNATURES}
        calls = {"tool_calls": self._said.tool_calls, "invalid_tool_calls": self._said.invalid_tool_calls}
        beside = {"additional_kwargs": signatures, "response_metadata": metadata_shown}
        return shown.model_copy(update={"content": content} | calls | beside)

    def _block(self, sentence: CheckedSentence, text: str) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "text", "text": text, "index": 0}
        for citation in sentence.supporting:
            facts = self.sources.metadata(citation)
            block.setdefault("annotations", []).append(
                create_citation(
                    url=citation.link or facts.get("url") or facts.get("source"),
                    title=facts.get("title"),
                    start_index=self._position + len(sentence.gap),
                    end_index=self._position + len(text.rstrip()),
                    cited_text=citation.text,
                    document_id=citation.document_id,
                    document_start=citation.start,
                    document_end=citation.end,
                    score=citation.score,
                    metadata=facts,
                )
            )
        return block

    def _last(self, result: SourcedResult) -> AIMessageChunk:
        said = self._said or AIMessage("")
        return AIMessageChunk(
            content=[] if self.annotate else "",
            response_metadata={
                **metadata(said.response_metadata),
                "groundrail": result.model_dump(mode="json", exclude={"documents"}),
                "citations": [self.sources.cited(citation) for citation in result.citations],
            },
            usage_metadata=self._usage,
            tool_call_chunks=[
                tool_call_chunk(
                    name=call["name"],
                    args=call["args"] if isinstance(call["args"], str) else json.dumps(call["args"]),
                    id=call["id"],
                    index=number,
                )
                for number, call in enumerate([*said.tool_calls, *said.invalid_tool_calls])
            ],
            chunk_position="last",
        )


def _is_thought(block: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(block, dict) and block.get("type") in _THOUGHT


def _silent(block: dict[str, Any]) -> dict[str, Any]:
    """A block of reasoning without its text."""
    kept = {key: value for key, value in block.items() if key in _KEYS}
    if signature := (block.get("extras") or {}).get("signature"):
        kept["extras"] = {"signature": signature}
    return kept | {key: empty for key, empty in _SILENT.items() if key in block}
