"""LangChain's documents as groundrail's: distinct ids, metadata kept, empty ones counted; and a handler that finds them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import LLMResult
from langchain_core.tools import BaseTool

from groundrail.errors import GenerationError, InputError, UnsupportedError
from groundrail.integrations.doors import stopped_early
from groundrail.policy import Policy
from groundrail.sources.echoes import Echoes
from groundrail.text.rendering.visible import is_blank
from groundrail.types import CheckedSentence, Citation, Document, GuardResult, Source, Verdict


class SourcedResult(GuardResult):
    """A `GuardResult` with the documents it was checked against; `empty_documents` had no text."""

    documents: tuple[Document, ...] = ()
    empty_documents: int = 0

    def document(self, citation: Citation) -> Document:
        """The document a citation points into, its metadata included."""
        return next(document for document in self.documents if document.id == citation.document_id)

    def to_html(self, source: Source | None = None, *, question: str = "") -> str:
        """`GuardResult.to_html`, beside its own documents unless told otherwise."""
        return super().to_html(self.documents if source is None else source, question=question)


class SourceDocuments:
    """Collects the documents of one answer, and tells of its sentences with them.

    Documents often share an id or have none: a document is named by its id, else by its metadata's
    `id` or `source`, and a name that is taken gets a number. The same document found twice is kept once.
    looked_at: words for the places of documents, which the reason of a sentence without source names.
    key: where a dict that a runnable returns has documents or text.
    """

    def __init__(self, *found: Any, looked_at: str = "", key: str | None = None) -> None:
        self.key = key
        self._documents: dict[str, Document] = {}
        self._seen: list[tuple[str, str, dict[str, Any]]] = []
        self._looked_at = looked_at
        self.empty = 0
        self.add(found)

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents in the order they were found, each once, under distinct ids."""
        return tuple(self._documents.values())

    def add(self, found: Any) -> None:
        """Add text, a document, a tool message, a list of those, or None.

        Raises: InputError for anything else.
        """
        for text, name, metadata in _read(found):
            if is_blank(text):
                self.empty += 1
            elif (text, name, metadata) not in self._seen:
                self._seen.append((text, name, metadata))
                names = chain([name], (f"{name}-{number}" for number in count(2)))
                free = next(name for name in names if name not in self._documents)
                self._documents[free] = Document(text=text, id=free, metadata=metadata)

    def metadata(self, citation: Citation) -> dict[str, Any]:
        """The metadata of the document that a citation points into."""
        return self._documents[citation.document_id].metadata

    def cited(self, citation: Citation) -> dict[str, Any]:
        """A citation as data, with its document's metadata."""
        return citation.model_dump(mode="json") | {"metadata": self.metadata(citation)}

    def event(self, sentence: CheckedSentence) -> dict[str, Any]:
        """A sentence as the data of a custom event; its citations and its conflict carry their document's metadata."""
        data = sentence.model_dump(mode="json", exclude={"citations", "conflict"})
        data["citations"] = [self.cited(citation) for citation in sentence.citations]
        data["conflict"] = sentence.conflict and self.cited(sentence.conflict)
        return data

    def explained(self, sentence: CheckedSentence) -> CheckedSentence:
        """The sentence; where it has no source, its reason says which places were looked at."""
        if sentence.verdict is not Verdict.NO_SOURCE:
            return sentence
        return sentence.model_copy(update={"reason": self._missing})

    @property
    def _missing(self) -> str:
        empty = f" ({self.empty} documents were empty)" if self.empty else ""
        return f"no document with text was found{empty}; looked at {self._looked_at}"

    def require_words(self, result: SourcedResult, policy: Policy) -> None:
        """Raises: UnsupportedError for an answer that comes out blank, without a word, because it has no source."""
        has_none = any(sentence.verdict is Verdict.NO_SOURCE for sentence in result.sentences)
        if has_none and policy.is_silent_without_source and is_blank(result.text):
            raise UnsupportedError(
                f"the whole answer was held back: {self._missing}. Put documents into the input, have a runnable of the chain "
                f"return them (a list of documents, or a dict with text under {self.key!r}, which documents_key names), or "
                'choose Policy(fallback="abstain"), which says so in the answer, or Policy(on_no_source="open")',
                result,
            )

    def result(self, result: GuardResult) -> SourcedResult:
        """The result with its documents and explained sentences."""
        fields = {name: getattr(result, name) for name in GuardResult.model_fields}
        fields["sentences"] = tuple(map(self.explained, result.sentences))
        return SourcedResult(**fields, documents=self.documents, empty_documents=self.empty)

    def raised(self, error: UnsupportedError) -> UnsupportedError:
        """The error with this source's result, saying where a source was looked for if there was none."""
        if not isinstance(error.result, GuardResult):
            return error
        result = self.result(error.result)
        last = result.sentences[-1] if result.sentences else None
        if last is None or last.verdict is not Verdict.NO_SOURCE:
            return UnsupportedError(str(error), result)
        return UnsupportedError(f"a sentence has no source: {last.text.strip()!r} ({last.reason})", result)


class SourceCollector(BaseCallbackHandler):
    """Puts what retrievers, tools and other runnables return below its config into `sources`, without the model's own words.

    The documents in a runnable's output count: alone, in a list, or in a dict. In a dict the text under `sources.key` counts, too.

    stopped: the error of the last model that ended, if it stopped before its answer's end.
    tools: names of the tools whose answers count; None for all.
    """

    raise_error = True
    run_inline = True

    def __init__(self, sources: SourceDocuments, tools: Collection[str] | None = None) -> None:
        self._sources, self.source_tools, self._echoes, self._by_models = sources, tools, Echoes(), Echoes()
        self.stopped: GenerationError | None = None

    def echoes(self, run: UUID | None) -> Echoes:
        """The echoes of the calls around a run."""
        return self._echoes

    def found(self, run: UUID | None, documents: Any) -> None:
        """Documents turned up in a run."""
        self._sources.add(documents)

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Follow the calls and results of the conversation so far."""
        for conversation in messages:
            tool_sources(conversation, echoes=self.echoes(parent_run_id))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> Any:
        self.stopped = stopped(response)
        for generation in chain.from_iterable(response.generations):
            calls = getattr(getattr(generation, "message", None), "tool_calls", ())
            self._by_models.call({"written": [generation.text, *(call["args"] for call in calls)]})

    def on_chain_end(self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> Any:
        given = outputs if isinstance(outputs, Mapping) else {"": outputs}
        found = [document for value in given.values() for document in documents_in(value)]
        if isinstance(text := given.get(self._sources.key), str):
            found.append(Document(text=text))
        for echoes in (self._by_models, self.echoes(parent_run_id)):
            found = [_evident(document, echoes) for document in found]
        self.found(parent_run_id, found)

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, inputs: Any = None, **kwargs: Any) -> None:
        self.echoes(run_id).call(input_str if inputs is None else inputs)

    def on_tool_end(self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        if self.source_tools is None or kwargs.get("name") in self.source_tools:
            self.found(parent_run_id, tool_source(output, self.echoes(parent_run_id)))

    def on_retriever_end(self, documents: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        self.found(parent_run_id, documents)


def stopped(response: LLMResult) -> GenerationError | None:
    """The error for a model's answers of which one stopped before its end."""
    for generation in chain.from_iterable(response.generations):
        said = getattr(getattr(generation, "message", None), "response_metadata", {})
        if error := stopped_early({**(generation.generation_info or {}), **said}):
            return error
    return None


def tool_names(tools: Iterable[str | BaseTool] | None) -> frozenset[str] | None:
    """The names of tools, or None for all of them. Raises: InputError for a name alone."""
    if isinstance(tools, str):
        raise InputError(f"source_tools is a list of tools or of their names: [{tools!r}]")
    return None if tools is None else frozenset(tool if isinstance(tool, str) else tool.name for tool in tools)


def of_tools(names: Collection[str] | None) -> str:
    """Words that limit "the tools" to these names in a reason."""
    return "" if names is None else f", of {', '.join(sorted(names)) or 'no tool'} alone"


def tool_source(output: Any, echoes: Echoes) -> Any:
    """The source in a tool's output: the documents of its artifact, else its text; None for an error.

    Text that it repeats of the calls before it is no source.
    """
    if getattr(output, "status", None) == "error":  # it may repeat what the model made up
        return None
    if documents := documents_in(getattr(output, "artifact", None)) or documents_in(output):
        return [_evident(document, echoes) for document in documents]
    if isinstance(output, BaseMessage):
        return output.model_copy(update={"content": echoes.evidence(str(output.text))})
    if isinstance(output, list | tuple):
        return [tool_source(item, echoes) for item in output]
    return None if output is None else echoes.evidence(str(output))


def _evident(document: Any, echoes: Echoes) -> Any:
    field = "page_content" if isinstance(document, LangChainDocument) else "text"
    return document.model_copy(update={field: echoes.evidence(getattr(document, field))})


def tool_sources(
    messages: Sequence[BaseMessage],
    names: Collection[str] | None = None,
    *,
    this_turn: bool = False,
    echoes: Echoes | None = None,
) -> list[Any]:
    """The sources in the tool results among messages, of the tools in `names` alone where these are given.

    this_turn: results count from the user's last message on; the words of calls before it are no evidence either.
    echoes: of the conversation, where that is not in the messages alone.
    """
    echoes = echoes or Echoes()
    called: dict[str | None, str] = {}
    found: list[Any] = []
    for message in messages:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                called[call["id"]] = call["name"]
                echoes.call(call["args"])
        elif isinstance(message, ToolMessage):
            if names is None or (message.name or called.get(message.tool_call_id)) in names:
                found.append(tool_source(message, echoes))
        elif this_turn and isinstance(message, HumanMessage):
            found.clear()
    return found


def documents_in(value: Any) -> list[Any]:
    """The value's documents, if it is one or a list of nothing else; empty otherwise."""
    items = list(value) if isinstance(value, list | tuple) else [value]
    return items if all(isinstance(item, LangChainDocument | Document) for item in items) else []


def _read(found: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(text, name, metadata) of everything in `found`."""
    match found:
        case None:
            return
        case str():
            yield found, "source", {}
        case LangChainDocument():
            metadata = dict(found.metadata)
            name = found.id or metadata.get("id") or metadata.get("source") or "source"
            yield found.page_content, str(name), metadata
        case Document():
            yield found.text, found.id, dict(found.metadata)
        case ToolMessage():
            yield found.text, found.name or "tool", {"tool_call_id": found.tool_call_id}
        case BaseMessage():
            yield found.text, found.name or found.type, {}
        case Iterable() if not isinstance(found, Mapping | bytes):
            for item in found:
                yield from _read(item)
        case _:
            raise InputError(f"documents are text, Documents or a list of them, not {type(found).__name__}")
