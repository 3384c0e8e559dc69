"""The callback handlers: what they tell, what they stop, and that runs never mix."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult, Generation, LLMResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from tests.integrations.langchain.conftest import FALSE, SOURCE, TRUE

from groundrail import CheckedSentence, Guard, InputError, Policy, UnsupportedError, Verdict
from groundrail.integrations.langchain import (
    AsyncGroundrailCallbackHandler,
    GroundrailCallbackHandler,
    SourcedResult,
)
from groundrail.testing import FakeEntailment

PROMPT = ChatPromptTemplate.from_template("{context}\n\n{question}")


def guard(**policy: Any) -> Guard:
    return Guard(scorer="scale", judge=FakeEntailment(), policy=Policy(**policy))


class Shelf(BaseRetriever):
    found: list[LangChainDocument]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
        return self.found


def model(*answers: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter(answers))


def rag(answer: str, *found: str) -> Any:
    shelf = Shelf(found=[LangChainDocument(text, metadata={"n": n}) for n, text in enumerate(found)])
    return {"context": shelf, "question": RunnablePassthrough()} | PROMPT | model(answer) | StrOutputParser()


class Heard(BaseCallbackHandler):
    """Another handler, to see which custom events come by."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.events.append((name, data))

    @property
    def verdicts(self) -> list[str]:
        return [data["verdict"] for name, data in self.events if name == "groundrail_sentence"]


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream", "batch"])
@pytest.mark.parametrize("kind", [GroundrailCallbackHandler, AsyncGroundrailCallbackHandler])
def test_the_events_tell_what_the_callback_cannot_hold_back(way: str, kind: Any) -> None:
    if kind is AsyncGroundrailCallbackHandler and not way.startswith("a"):
        with pytest.raises(InputError, match="GroundrailCallbackHandler"):
            getattr(rag(TRUE, SOURCE), way)(["?"] if way == "batch" else "?", {"callbacks": [kind(guard())]}).__next__()
        return
    heard, sentences, results = Heard(), list[CheckedSentence](), list[SourcedResult]()
    handler = kind(guard(), on_sentence=sentences.append, on_result=results.append)
    config: Any = {"callbacks": [handler, heard]}
    chain = rag(TRUE + FALSE, SOURCE)

    async def collect() -> str:
        return "".join([piece async for piece in chain.astream("How much?", config)])

    match way:
        case "stream":
            shown = "".join(chain.stream("How much?", config))
        case "astream":
            shown = asyncio.run(collect())
        case "ainvoke":
            shown = asyncio.run(chain.ainvoke("How much?", config))
        case "batch":
            (shown,) = chain.batch(["How much?"], config)
        case _:
            shown = chain.invoke("How much?", config)
    assert shown == TRUE + FALSE  # a callback only tells
    assert [s.verdict for s in sentences] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]
    (result,) = results
    assert result.text == TRUE
    assert len(handler.runs) == 0
    if way != "batch":  # where langchain-core does not say which run a step belongs to
        assert heard.verdicts == ["supported", "unsupported"]
        assert heard.events[0][1]["citations"][0]["metadata"] == {"n": 0}
        assert [name for name, _ in heard.events] == ["groundrail_sentence"] * 2 + ["groundrail_result"]
        assert heard.events[-1][1] == result


def test_what_contradicts_a_sentence_is_told_with_its_document_s_metadata() -> None:
    heard = Heard()
    chain = rag("The rent is 990 euros a month.", "Pets are not allowed.", "The rent is 950 euros a month.")
    chain.invoke("How much?", {"callbacks": [GroundrailCallbackHandler(Guard()), heard]})
    conflict = heard.events[0][1]["conflict"]
    assert conflict["text"] == "The rent is 950 euros a month."
    assert conflict["metadata"] == {"n": 1}


def test_each_sentence_is_told_while_the_model_still_writes() -> None:
    sentences: list[CheckedSentence] = []
    handler = GroundrailCallbackHandler(guard(), on_sentence=sentences.append)
    stream = rag(TRUE + FALSE + TRUE, SOURCE).stream("?", {"callbacks": [handler]})
    shown = ""
    for piece in stream:
        shown += piece
        if sentences:
            break
    assert [s.text for s in sentences] == [TRUE]
    assert len(shown) < len(TRUE + FALSE)


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream"])
def test_fallback_raise_stops_the_chain(way: str) -> None:
    heard = Heard()
    results: list[SourcedResult] = []
    kind = AsyncGroundrailCallbackHandler if way.startswith("a") else GroundrailCallbackHandler
    handler = kind(guard(fallback="raise"), on_result=results.append)
    config: Any = {"callbacks": [handler, heard]}
    shown: list[str] = []

    chain = rag(TRUE + FALSE + "Pets are not allowed.", SOURCE)

    async def collect() -> None:
        shown.extend([piece async for piece in chain.astream("?", config)])

    def call() -> None:
        match way:
            case "stream":
                shown.extend(chain.stream("?", config))
            case "astream":
                asyncio.run(collect())
            case "ainvoke":
                shown.append(asyncio.run(chain.ainvoke("?", config)))
            case _:
                shown.append(chain.invoke("?", config))

    with pytest.raises(UnsupportedError, match="990"):
        call()
    assert "allowed" not in "".join(shown)  # the sentence after the wrong one is never written out
    assert heard.verdicts == ["supported", "unsupported"]
    assert [r.text for r in results] == [TRUE]
    assert len(handler.runs) == 0


def test_without_raise_error_langchain_goes_on() -> None:
    handler = GroundrailCallbackHandler(guard(fallback="raise"), raise_error=False)
    assert rag(TRUE + FALSE, SOURCE).invoke("?", {"callbacks": [handler]}) == TRUE + FALSE


def test_events_are_seen_by_astream_events() -> None:
    async def events() -> list[Any]:
        config: Any = {"callbacks": [AsyncGroundrailCallbackHandler(guard())]}
        return [e async for e in rag(TRUE + FALSE, SOURCE).astream_events("?", config, version="v2")]

    seen = [e for e in asyncio.run(events()) if e["event"] == "on_custom_event"]
    assert [e["name"] for e in seen] == ["groundrail_sentence"] * 2 + ["groundrail_result"]
    assert [e["data"]["verdict"] for e in seen[:2]] == ["supported", "unsupported"]


@pytest.mark.parametrize("kind", [GroundrailCallbackHandler, AsyncGroundrailCallbackHandler])
def test_fifty_concurrent_runs_never_mix(kind: Any) -> None:
    results: list[SourcedResult] = []
    handler = kind(guard(), on_result=results.append)

    class Finder(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
            return [LangChainDocument(f"Flat {query} costs {query} euros.", id=query)]

    class Telling(FakeListChatModel):
        responses: list[str] = [""]  # noqa: RUF012

        async def _astream(self, messages: Any, *arguments: Any, **kwargs: Any) -> AsyncIterator[Any]:
            number = str(messages[0].text).split()[-1]
            written = f"Flat {number} costs {number} euros. Flat {int(number) + 1} costs {int(number) + 1} euros. "
            async for chunk in GenericFakeChatModel(messages=iter([written]))._astream(messages):
                await asyncio.sleep(0)
                yield chunk

    chain = {"context": Finder(), "question": RunnablePassthrough()} | PROMPT | Telling() | StrOutputParser()

    async def many() -> None:
        async def one(number: int) -> None:
            async for _ in chain.astream(str(number), {"callbacks": [handler]}):
                pass

        await asyncio.gather(*(one(number) for number in range(50)))

    asyncio.run(many())
    assert len(results) == 50
    for result in results:
        (document,) = result.documents
        assert result.text == f"Flat {document.id} costs {document.id} euros. "
        assert [s.verdict for s in result.sentences] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]
    assert {result.documents[0].id for result in results} == {str(number) for number in range(50)}
    assert len(handler.runs) == 0


def test_nested_and_parallel_chains_see_their_own_documents() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), on_result=results.append)
    red, blue = "The door is red. ", "The door is blue. "
    inner: dict[str, Any] = {
        "red": RunnableLambda(lambda q: rag(red + blue, red).invoke(q)),
        "blue": RunnableLambda(lambda q: rag(red + blue, blue).invoke(q)),
        "none": RunnableLambda(lambda q: rag(red, *[]).invoke(q)),
    }
    parallel: Runnable[Any, Any] = RunnablePassthrough() | inner
    parallel.invoke("?", {"callbacks": [handler]})
    assert sorted(result.text for result in results) == ["", blue, red]
    assert len(handler.runs) == 0


def test_documents_in_inputs_and_metadata_count() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), on_result=results.append)
    given = {"context": [LangChainDocument(SOURCE, id="lease")], "question": "?"}
    (PROMPT | model(TRUE)).invoke(given, {"callbacks": [handler]})
    metadata = {"documents": [LangChainDocument(SOURCE, id="given")]}
    model(TRUE).invoke("?", {"callbacks": [handler], "metadata": metadata})
    FakeListLLM(responses=[TRUE]).invoke("?", {"callbacks": [handler], "metadata": metadata})
    assert [(r.text, r.citations[0].document_id) for r in results] == [
        (TRUE, "lease"),
        (TRUE, "given"),
        (TRUE, "given"),
    ]


def test_tool_results_count() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), on_result=results.append)

    @tool(response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[LangChainDocument]]:
        """Search."""
        return "found one", [LangChainDocument(SOURCE, id="lease", metadata={"page": 4})]

    @tool
    def look_up(query: str) -> str:
        """Look up."""
        return SOURCE

    call = {"type": "tool_call", "id": "1", "name": "search", "args": {"query": "rent"}}
    writer = model(*[TRUE + FALSE] * 4)
    searched: Runnable[Any, Any] = RunnableLambda(lambda _: call) | search | (lambda m: m.content) | writer
    searched.invoke("?", {"callbacks": [handler]})
    looked_up: Runnable[Any, Any] = look_up | writer
    looked_up.invoke("?", {"callbacks": [handler]})
    assert [r.text for r in results] == [TRUE, TRUE]
    assert results[0].document(results[0].citations[0]).metadata == {"page": 4}
    searching = GroundrailCallbackHandler(guard(), on_result=results.append, source_tools=[search])
    searched.invoke("?", {"callbacks": [searching]})
    looked_up.invoke("?", {"callbacks": [searching]})
    assert [r.text for r in results[2:]] == [TRUE, ""]
    assert "of search alone" in (results[3].sentences[0].reason or "")


def test_no_documents_names_the_places_looked_at() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), documents_keys=["passages"], on_result=results.append)
    (PROMPT | model(TRUE)).invoke({"context": [LangChainDocument(SOURCE)], "question": "?"}, {"callbacks": [handler]})
    (sentence,) = results[0].sentences
    assert sentence.verdict is Verdict.NO_SOURCE
    assert "'passages'" in (sentence.reason or "")
    raising = GroundrailCallbackHandler(guard(fallback="raise"))
    with pytest.raises(UnsupportedError, match="'context'"):
        model(TRUE).invoke("?", {"callbacks": [raising]})


def test_empty_documents_are_counted() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), on_result=results.append)
    rag(TRUE, "", SOURCE, " ").invoke("?", {"callbacks": [handler]})
    assert (results[0].text, results[0].empty_documents, len(results[0].documents)) == (TRUE, 2, 1)


def test_a_model_that_dies_leaves_an_error_sentence_and_its_own_exception() -> None:
    heard = Heard()

    class Dying(FakeListChatModel):
        def _stream(self, *arguments: Any, **kwargs: Any) -> Iterator[Any]:
            yield from GenericFakeChatModel(messages=iter([TRUE + "The lease "]))._stream(*arguments, **kwargs)
            raise ConnectionError("gone")

    shelf = Shelf(found=[LangChainDocument(SOURCE)])
    chain = {"context": shelf, "question": RunnablePassthrough()} | PROMPT | Dying(responses=[""]) | StrOutputParser()
    for fallback in ("drop", "raise"):
        heard.events.clear()
        handler = GroundrailCallbackHandler(guard(fallback=fallback))
        with pytest.raises(ConnectionError, match="gone"):
            list(chain.stream("?", {"callbacks": [handler, heard]}))
        assert heard.verdicts == (["supported", "error"] if fallback == "drop" else ["supported"])
        assert len(handler.runs) == 0


def test_every_candidate_answer_is_checked() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), on_result=results.append)

    class Two(FakeListChatModel):
        def _generate(self, *arguments: Any, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage(text)) for text in (TRUE, FALSE)])

    metadata = {"documents": [LangChainDocument(SOURCE)]}
    Two(responses=[""]).invoke("?", {"callbacks": [handler], "metadata": metadata})
    assert [r.text for r in results] == [TRUE, ""]


def test_an_empty_answer_is_not_told() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), on_result=results.append)
    calls = [{"name": "search", "args": {}, "id": "1"}]
    message = AIMessage("", tool_calls=calls)
    GenericFakeChatModel(messages=iter([message])).invoke("?", {"callbacks": [handler]})
    assert results == []
    assert handler._writing == {}


def test_the_abstention_ends_the_telling() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(fallback="abstain", abstention="Ask."), on_result=results.append)
    list(rag(FALSE + TRUE + TRUE, SOURCE).stream("?", {"callbacks": [handler]}))
    assert [r.text for r in results] == ["Ask."]


def test_unknown_runs_leave_nothing_behind() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), on_result=results.append)
    parent, writer = uuid4(), uuid4()
    handler.on_retriever_end([LangChainDocument(SOURCE)], run_id=uuid4(), parent_run_id=parent)
    handler.on_llm_start({}, ["?"], run_id=writer, parent_run_id=parent)
    handler.on_llm_end(LLMResult(generations=[[Generation(text=TRUE)]]), run_id=writer)
    assert [sentence.verdict for sentence in results[0].sentences] == [Verdict.NO_SOURCE]
    assert len(handler.runs) == 0
