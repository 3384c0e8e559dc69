"""Where an answer's source comes from: the first of four places in the request that holds one.

1. the field `documents`, even if it is empty;
2. messages of the role `tool` (or `function`), of all tools or of those that are named, without what they repeat of
   the calls before them (`groundrail.sources.echoes`);
3. content parts that carry `"source": true`, an id, or `{"id": ..., "metadata": ...}`, or are of LiteLLM's type
   `grounding_source`;
4. text between the configured markers in system, developer and user messages.

The policy decides whether an answer without a source is released.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from groundrail.errors import InputError
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.requests import Message, SourceDocument
from groundrail.sources.echoes import Echoes
from groundrail.text.rendering.visible import is_blank
from groundrail.types import Document, as_documents

_TOOL_ROLES = ("tool", "function")
_Passage: TypeAlias = tuple[object, str, dict[str, Any]]
"""The id of a source, None where it has none, its text and its metadata."""


@dataclass(frozen=True, slots=True)
class Found:
    """The source, and which of the places it was found in: documents, tool, parts, blocks, markers or none."""

    documents: tuple[Document, ...]
    place: str


def find_source(
    messages: Sequence[Message],
    documents: "Sequence[str | SourceDocument] | None",
    markers: tuple[str, str],
    tools: Collection[str] | None = None,
    *,
    together: bool = False,
) -> Found:
    """The first place that holds a source; only results of `tools` count, or of all tools if it is None.

    together: marked parts and tool results are one place, as in protocols that have blocks for documents.

    Raises: ProtocolError for documents that cannot be used.
    """
    if documents is not None:
        return Found(named(documents), "documents")
    plain = [message for message in messages if message.role not in _TOOL_ROLES]
    results = _tool_results(messages, tools)
    places = {
        "blocks" if together else "tool": chain(_marked_parts(plain), results) if together else results,
        "parts": _marked_parts(messages),
        "markers": _between(messages, markers),
    }
    for place, passages in places.items():
        if documents_found := _distinct(passages):
            return Found(documents_found, place)
    return Found((), "none")


def named(documents: "Sequence[str | SourceDocument]") -> tuple[Document, ...]:
    """Documents of a request. Raises: ProtocolError where one has no text, or two have one id."""
    given: list[str | Document] = []
    for number, item in enumerate(documents, start=1):
        if isinstance(item, str):
            given.append(item)
            continue
        data = item.data or {}
        texts = item.text, item.content, data.get("text"), data.get("content")
        text = next((text for text in texts if isinstance(text, str)), None)
        if text is None:
            raise ProtocolError(400, f"document {number} has neither text nor content", param=f"documents.{number - 1}")
        name = f"source-{number}" if item.id is None else str(item.id)
        given.append(Document(text=text, id=name, metadata=item.metadata or {}))
    try:
        return as_documents(given)
    except InputError as error:
        raise ProtocolError(400, str(error), param="documents") from error


def text_of(message: Message, *, marked: bool = True) -> str:
    """The text of a message, its text parts one after another; without parts marked as sources if `marked` is false."""
    if isinstance(message.content, str):
        return message.content
    parts = (part for part in message.content or () if marked or not is_source(part))
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def question_in(messages: Sequence[Message], markers: tuple[str, str]) -> str:
    """The question of the last user message, without the sources in it; empty if there is none."""
    message = next((message for message in reversed(messages) if message.role == "user"), None)
    if message is None:
        return ""
    if isinstance(message.content, list):
        asking = [part for part in message.content if not is_source(part)]
        asking = [part for part in asking if part.get("type") == "query"] or asking  # LiteLLM's block for it
        message = message.model_copy(update={"content": asking})
    before, opened, rest = text_of(message).partition(markers[0])
    return f"{before} {rest.rpartition(markers[1])[2]}" if opened else before


def _tool_results(messages: Sequence[Message], tools: Collection[str] | None) -> Iterator[_Passage]:
    echoes = Echoes()
    called: dict[str, str] = {}
    for message in messages:
        fields = message.model_extra or {}
        if message.role == "assistant":
            for known, made, arguments in _calls(fields):
                called[known] = made
                echoes.call(arguments)
        elif message.role in _TOOL_ROLES:
            call, tool = fields.get("tool_call_id"), fields.get("name")
            if tools is None or called.get(str(call), str(tool)) in tools:
                together = text_of(message, marked=False)  # beside parts that are sources, each for itself
                for name, text, facts in ((None, together, {}), *_marked_parts([message])):
                    if not is_blank(evidence := echoes.evidence(text)):
                        yield name or call or tool, evidence, facts


def _calls(fields: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(id, name, arguments) of an assistant's calls, in the protocol's forms."""
    listed = fields.get("tool_calls")
    for call in [*(listed if isinstance(listed, list) else ()), {"function": fields.get("function_call")}]:
        said = (call.get("function") or call.get("custom")) if isinstance(call, dict) else None
        if isinstance(said, dict):
            yield str(call.get("id")), str(said.get("name")), said.get("arguments", said.get("input"))


def _marked_parts(messages: Sequence[Message]) -> Iterator[_Passage]:
    for message in messages:
        for part in message.content if isinstance(message.content, list) else ():
            text, mark = part.get("text"), part.get("source")
            if is_source(part) and isinstance(text, str):
                given = mark if isinstance(mark, dict) else {"id": None if mark is True else mark or None}
                facts = given.get("metadata")
                yield given.get("id"), text, facts if isinstance(facts, dict) else {}


def is_source(part: dict[str, Any]) -> bool:
    """Whether a content part is marked as a source."""
    return bool(part.get("source")) or part.get("type") == "grounding_source"


def _between(messages: Sequence[Message], markers: tuple[str, str]) -> Iterator[_Passage]:
    for message in messages:
        if message.role not in ("system", "developer", "user"):
            continue
        text, place = text_of(message), 0
        while (opened := text.find(markers[0], place)) >= 0:
            start = opened + len(markers[0])
            end = text.find(markers[1], start)
            if end < 0:  # a marker without its end holds no source
                break
            yield None, text[start:end].strip(), {}
            place = end + len(markers[1])


def _distinct(found: Iterator[_Passage]) -> tuple[Document, ...]:
    """Documents with ids of their own: the given ones, numbered where they are missing or repeat."""
    documents: dict[str, Document] = {}
    for number, (given, text, metadata) in enumerate(found, start=1):
        name = ("" if given is None else str(given)) or f"source-{number}"
        while name in documents:
            name = f"{name}-{number}"
        documents[name] = Document(text=text, id=name, metadata=metadata)
    return tuple(documents.values())


def without_marks(messages: list[Any]) -> list[Any]:
    """The messages as an upstream knows them: parts without the mark that says they are sources."""
    return [
        {**message, "content": [*map(_without_mark, message["content"])]}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def _without_mark(part: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in part.items() if name != "source"}
    return {**plain, "type": "text"} if part.get("type") in ("grounding_source", "query") else plain


INSTRUCTION = "Answer from the following sources and from nothing else."


def as_message(documents: Sequence[Document]) -> dict[str, str]:
    """A system message that gives a model the documents."""
    blocks = [f"[{document.id}]\n{document.text}" for document in documents]
    return {"role": "system", "content": "\n\n".join([INSTRUCTION, *blocks])}
