"""`POST /v1/messages`: the events and objects of Anthropic's Messages protocol around released sentences."""

import json
from collections.abc import Iterator
from typing import Any

from groundrail.openai.events import Call
from groundrail.serve.error_forms import MESSAGES, ProtocolError
from groundrail.serve.forms import Form, event
from groundrail.serve.messages_requests import CITED, Cited, as_chat
from groundrail.types import CheckedSentence, Citation, GuardResult

_STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_STOPS |= dict.fromkeys(("tool_calls", "function_call"), "tool_use")


class MessagesForm(Form):
    """One answer as a message.

    Where the request asks for citations of a document, each sentence that cites is a text block of its own, as in
    Anthropic's answers. Sentences without citations share a block.
    """

    name, prefix, format_field = "messages", "msg_", "output_config.format"
    as_chat = staticmethod(as_chat)

    def __post_init__(self) -> None:
        super().__post_init__()
        found = {document.id: document.metadata.get(CITED) for document in self.found.documents}
        self._cited = {name: block for name, block in found.items() if isinstance(block, Cited) and block.is_cited}
        self._blocks: list[dict[str, Any]] = []
        self._is_open = False

    def begin(self) -> Iterator[bytes]:
        yield _event("message_start", message=self._message([], None))

    def sentence(self, sentence: CheckedSentence) -> Iterator[bytes]:
        text = sentence.released_text
        if not text:
            return
        citations = self._citations(sentence)
        if citations:
            yield from self._close()
        if not self._is_open:
            yield from self._open({"type": "text", "text": ""} | ({"citations": []} if citations else {}))
        self._blocks[-1]["text"] += text
        yield self._delta({"type": "text_delta", "text": text})
        for citation in citations:
            self._blocks[-1]["citations"].append(citation)
            yield self._delta({"type": "citations_delta", "citation": citation})
        if citations:
            yield from self._close()

    def end(self, result: GuardResult) -> Iterator[bytes]:
        yield from self._close()
        for call in map(_tool_use, self.calls(result)):
            yield from self._open(call | {"input": {}})
            self._blocks[-1] = call
            yield self._delta({"type": "input_json_delta", "partial_json": json.dumps(call["input"])})
            yield from self._close()
        delta = {"stop_reason": self._stop_reason(result), "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=self._usage(), **self.details(result))
        yield _event("message_stop")

    def failed(self, error: ProtocolError) -> Iterator[bytes]:
        yield event(error.body(MESSAGES), "error")

    def object(self, result: GuardResult) -> dict[str, Any]:
        return self._message(self._blocks, self._stop_reason(result)) | self.details(result)

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
        message = {"id": self.id, "type": "message", "role": "assistant", "model": self.asked.model}
        ending = {"stop_reason": stop_reason, "stop_sequence": None, "usage": self._usage()}
        return {**message, "content": content, **ending}

    def _usage(self) -> dict[str, int]:
        counts = self.usage
        return {"input_tokens": counts.get("prompt_tokens", 0), "output_tokens": counts.get("completion_tokens", 0)}

    def _stop_reason(self, result: GuardResult) -> str:
        return _STOPS[self.finish_reason(result)]

    def _citations(self, sentence: CheckedSentence) -> list[dict[str, Any]]:
        """The citations of a sentence's released text in the documents whose citations are asked for."""
        return [_location(c, self._cited[c.document_id]) for c in sentence.supporting if c.document_id in self._cited]


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
    place = {"document_index": cited.index, "document_title": cited.title, "file_id": None}
    if cited.blocks is None:
        place |= {"start_char_index": citation.start, "end_char_index": citation.end}
        return {"type": "char_location", "cited_text": citation.text, **place}
    kind = "content_block_location"
    if cited.kind == "search_result":
        kind = "search_result_location"
        place = {"search_result_index": cited.index, "source": cited.source, "title": cited.title}
    first, last = _block_at(cited.blocks, citation.start), _block_at(cited.blocks, citation.end - 1)
    place |= {"start_block_index": first, "end_block_index": last + 1}
    return {"type": kind, "cited_text": "".join(cited.blocks[first : last + 1]), **place}


def _block_at(blocks: list[str], place: int) -> int:
    """The block that holds a character of the document that the blocks make."""
    for number, block in enumerate(blocks):
        place -= len(block) + 1
        if place < 0:
            return number
    return len(blocks) - 1


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)
