"""One call of a guarded chat model: its request, its reply, and the chunks and the message made of the reply.

The model finds the sources, the guard decides on sentences.
"""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, message_chunk_to_message
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.content import create_citation
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk

from groundrail.generators.asked import request_to_continue
from groundrail.integrations.doors import metadata
from groundrail.integrations.langchain.guarded_run import Event
from groundrail.integrations.langchain.retrieved import SourceDocuments, SourcedResult
from groundrail.types import CheckedSentence

_THOUGHT = frozenset(["reasoning", "thinking", "redacted_thinking"])
_SILENT: dict[str, Any] = {"reasoning": "", "thinking": "", "summary": []}
_KEYS = frozenset("type id index signature encrypted_content data".split())
_SIGNATURES = "__gemini_function_call_thought_signatures__"


def continued(messages: Sequence[BaseMessage], accepted: str, refused: Sequence[str]) -> list[BaseMessage]:
    """A conversation that asks the model to go on: `accepted` as its turn, then a turn that asks.

    Where nothing was accepted or refused, the conversation as it is.
    """
    stands = [AIMessage(accepted)] if accepted else []
    asks = [HumanMessage(request_to_continue(accepted, refused))] if accepted or refused else []
    return [*messages, *stands, *asks]


class ModelCall:
    """The sources of a call, the model's reply beside its text, and the chunks to show.

    `request` makes the messages for the model; `begin`, `read` and `complete` follow each of its replies.
    """

    def __init__(self, messages: Sequence[BaseMessage], sources: SourceDocuments, *, annotate: bool) -> None:
        self.sources = sources
        asked = [str(message.text) for message in messages if isinstance(message, HumanMessage)]
        self.question = asked[-1] if asked else ""
        self._messages, self._annotate = list(messages), annotate
        self._saying: AIMessage | None = None
        self._said: AIMessage | None = None
        self._usage: UsageMetadata | None = None
        self._position = 0

    @property
    def calls_tools(self) -> bool:
        """Whether the model's last complete reply calls tools."""
        return self._said is not None and bool(self._said.tool_calls)

    def request(self, accepted: str, refused: Sequence[str]) -> list[BaseMessage]:
        """The messages, then what stands of the answer and what was refused."""
        return continued(self._messages, accepted, refused)

    def begin(self) -> None:
        """The model is asked, perhaps not for the first time."""
        self._saying = self._said = None

    def read(self, chunk: AIMessage) -> str:
        """The text of a chunk, which is kept with all it holds."""
        self._saying = chunk if self._saying is None else self._saying + chunk  # type: ignore[assignment]
        return str(chunk.text)

    def complete(self) -> None:
        """The model has said all that it says this time."""
        self._said = self._saying
        if self._said is not None and self._said.usage_metadata is not None:
            self._usage = add_usage(self._usage, self._said.usage_metadata)

    def chunk(self, event: Event) -> ChatGenerationChunk | None:
        """The chunk for an event: a released sentence, or at the end everything but text."""
        if isinstance(event, SourcedResult):
            return ChatGenerationChunk(message=self._last(event))
        text = event.released_text
        if not text:
            return None
        content: Any = [self._block(event, text)] if self._annotate else text
        self._position += len(text)
        return ChatGenerationChunk(message=AIMessageChunk(content=content))

    def said_with(self, shown: AIMessage) -> AIMessage:
        """The model's last message, with the text, the id and the verdicts of the message that was shown.

        Of the rest, the calls go on, the metadata of known kinds, and the keys by which a provider knows its own reasoning
        again, without the reasoning's text.
        """
        if self._said is None:
            return shown
        said: Any = self._said
        if isinstance(said, AIMessageChunk):
            said = message_chunk_to_message(said)
        content, text = said.content, str(shown.text)
        if not isinstance(content, str):
            thoughts = [
                _silent(block) for block in content if isinstance(block, dict) and block.get("type") in _THOUGHT
            ]
            content = [*thoughts, *([{"type": "text", "text": text}] if text else [])]
        verdicts = shown.response_metadata if shown.response_metadata["groundrail"]["sentences"] else {}
        return AIMessage(
            content=text if isinstance(content, str) else content,
            id=shown.id,
            name=shown.name,
            tool_calls=said.tool_calls,
            invalid_tool_calls=said.invalid_tool_calls,
            additional_kwargs={key: value for key, value in said.additional_kwargs.items() if key == _SIGNATURES},
            response_metadata=metadata(said.response_metadata) | verdicts,
            usage_metadata=shown.usage_metadata,
        )

    def _block(self, sentence: CheckedSentence, text: str) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "text", "text": text, "index": 0}
        end = self._position + len(text.rstrip())
        for citation in sentence.supporting:
            metadata = self.sources.metadata(citation)
            block.setdefault("annotations", []).append(
                create_citation(
                    url=citation.link or metadata.get("url") or metadata.get("source"),
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
                **metadata(raw),
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


def _silent(block: dict[str, Any]) -> dict[str, Any]:
    """A block of reasoning without its text."""
    kept = {key: value for key, value in block.items() if key in _KEYS}
    if signature := (block.get("extras") or {}).get("signature"):
        kept["extras"] = {"signature": signature}
    return kept | {key: empty for key, empty in _SILENT.items() if key in block}
