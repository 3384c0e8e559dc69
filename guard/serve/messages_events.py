"""`POST /v1/messages`: the events and objects of Anthropic's Messages protocol around released sentences."""

import json
from collections.abc import Iterator
from typing import Any

from groundrail.serve.error_forms import MESSAGES, ProtocolError
from groundrail.serve.forms import Form, Protocol, Telling, event
from groundrail.serve.messages_requests import CITED, Cited, as_chat
from groundrail.serve.metadata import Call
from groundrail.types import CheckedSentence, Citation, GuardResult

_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


class MessagesForm(Form):
    """One answer as a message.

    Where the request asks for citations of a document, each sentence that cites is a text block of its own, as in
    Anthropic's answers. Sentences without citations share a block.
    """

    prefix = "msg_"

    def __init__(self, telling: Telling) -> None:
        super().__init__(telling)
        found = {document.id: document.metadata.get(CITED) for document in telling.found.documents}
        self._cited = {name: block for name, block in found.items() if isinstance(block, Cited) and block.is_cited}
        self._blocks: list[dict[str, Any]] = []
        self._is_open = False

    def begin(self) -> Iterator[bytes]:
        """The message, still empty."""
        yield _event("message_start", message=self._message([], None))

    def sentence(self, sentence: CheckedSentence) -> Iterator[bytes]:
        """The text of a released sentence, and what it cites."""
        text = sentence.released_text
        if not text:
            return
        citations = self._citations(sentence)
        if citations:
            yield from self._close()
        if not self._is_open:
            yield from self._open({"type": "text", "text": ""} | ({"citations": []} if citations else {}))
        yield self._delta({"type": "text_delta", "text": text})
        for citation in citations:
            yield self._delta({"type": "citations_delta", "citation": citation})
        if citations:
            yield from self._close()

    def end(self, result: GuardResult) -> Iterator[bytes]:
        """Tool calls, why the message ended, and its end."""
        yield from self._close()
        for call in self._calls(result):
            yield from self._open(call | {"input": {}})
            yield self._delta({"type": "input_json_delta", "partial_json": json.dumps(call["input"])})
            yield from self._close()
        told = self.telling.details(result, sentences=True)
        delta = {"stop_reason": self._stop_reason(result), "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=self._usage(), **told)
        yield _event("message_stop")

    def failed(self, error: ProtocolError) -> Iterator[bytes]:
        """The error as an event, without the end that a complete message has."""
        yield event(error.body(MESSAGES), "error")

    def whole(self, result: GuardResult) -> dict[str, Any]:
        """The message of an answer that is not streamed."""
        blocks: list[dict[str, Any]] = []
        for sentence in result.sentences:
            citations, text = self._citations(sentence), sentence.released_text
            if not text:
                continue
            if citations or not blocks or "citations" in blocks[-1]:
                blocks.append({"type": "text", "text": text} | ({"citations": citations} if citations else {}))
            else:
                blocks[-1]["text"] += text
        whole = self._message([*blocks, *self._calls(result)], self._stop_reason(result))
        return whole | self.telling.details(result, sentences=True)

    def _open(self, block: dict[str, Any]) -> Iterator[bytes]:
        self._blocks.append(block)
        self._is_open = True
        yield _event("content_block_start", index=len(self._blocks) - 1, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", index=len(self._blocks) - 1, delta=delta)

    def _close(self) -> Iterator[bytes]:
        if self._is_open:
            self._is_open = False
            yield _event("content_block_stop", index=len(self._blocks) - 1)

    def _message(self, content: list[dict[str, Any]], stop_reason: str | None) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.telling.asked.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": self._usage(),
        }

    def _usage(self) -> dict[str, int]:
        counts = self.telling.usage
        return {"input_tokens": counts.get("prompt_tokens", 0), "output_tokens": counts.get("completion_tokens", 0)}

    def _stop_reason(self, result: GuardResult) -> str:
        reason = self.telling.finish_reason(result)
        return "tool_use" if reason == "function_call" else _STOPS.get(reason, "end_turn")

    def _citations(self, sentence: CheckedSentence) -> list[dict[str, Any]]:
        """The citations of a released sentence in the documents whose citations are asked for."""
        if not sentence.released:
            return []
        return [_location(c, self._cited[c.document_id]) for c in sentence.citations if c.document_id in self._cited]

    def _calls(self, result: GuardResult) -> list[dict[str, Any]]:
        return [_tool_use(call) for call in self.telling.calls(result)]


def _tool_use(call: Call) -> dict[str, Any]:
    """A call as a block. Raises: ProtocolError for arguments that the protocol cannot hold."""
    try:
        given = json.loads(call.given or "{}")
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise ProtocolError(502, "the upstream called a tool with arguments that are no JSON object", code="bad_call")
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given}


def _location(citation: Citation, cited: Cited) -> dict[str, Any]:
    """Where a citation points, in the protocol's form: characters of a text, else whole blocks."""
    if cited.blocks is None:
        return {
            "type": "char_location",
            "cited_text": citation.text,
            "document_index": cited.index,
            "document_title": cited.title,
            "file_id": None,
            "start_char_index": citation.start,
            "end_char_index": citation.end,
        }
    first, last = _block_at(cited.blocks, citation.start), _block_at(cited.blocks, citation.end - 1)
    place = {"start_block_index": first, "end_block_index": last + 1}
    text = "".join(cited.blocks[first : last + 1])
    if cited.kind == "search_result":
        found = {"search_result_index": cited.index, "source": cited.source, "title": cited.title}
        return {"type": "search_result_location", "cited_text": text, **found, **place}
    found = {"document_index": cited.index, "document_title": cited.title, "file_id": None}
    return {"type": "content_block_location", "cited_text": text, **found, **place}


def _block_at(blocks: list[str], place: int) -> int:
    """The block that holds a character of the document that the blocks make."""
    for number, block in enumerate(blocks):
        place -= len(block) + 1
        if place < 0:
            return number
    return len(blocks) - 1


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


ANTHROPIC_MESSAGES = Protocol("messages", as_chat, MessagesForm, format_field="output_config.format")
