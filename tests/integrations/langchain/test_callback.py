"""The callback handlers: what they tell, what they stop, and that runs never mix."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult, Generation, LLMResult
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from tests.integrations.langchain.conftest import ALSO_TRUE, FALSE, PROMPT, SOURCE, TRUE, WAYS, asked, events, guard, rag

from groundrail import CheckedSentence, Guard, InputError, UnsupportedError, Verdict
from groundrail.integrations.langchain import AsyncGroundrailCallbackHandler, GroundrailCallbackHandler, SourcedResult


def model(*answers: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter(answers))


def chain(answer: str, *found: str, model: Any = None) -> Any:
    """A retrieval chain that finds these texts."""
    return rag(answer, *(LangChainDocument(text, metadata={"n": n}) for n, text in enumerate(found)), model=model)


class Heard(BaseCallbackHandler):
    """Another handler, to see which custom events come by."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.events.append((name, data))

    @property
    def verdicts(self) -> list[str]:
        return [data["verdict"] for name, data in self.events if name == "groundrail_sentence"]


@pytest.mark.parametrize("way", [*WAYS, "batch"])
@pytest.mark.parametrize("kind", [GroundrailCallbackHandler, AsyncGroundrailCallbackHandler])
def test_the_events_tell_what_the_callback_cannot_hold_back(way: str, kind: Any) -> None:
    if kind is AsyncGroundrailCallbackHandler and not way.startswith("a"):
        with pytest.raises(InputError, match="GroundrailCallbackHandler"):
            asked(chain(TRUE, SOURCE), way, "?", {"callbacks": [kind(guard())]})
        return
    heard, sentences, results = Heard(), list[CheckedSentence](), list[SourcedResult]()
    handler = kind(guard(), on_sentence=sentences.append, on_result=results.append)
    config: Any = {"callbacks": [handler, heard]}
    shown = "".join(asked(chain(TRUE + FALSE, SOURCE), way, "How much?", config))
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
    subject = chain("The rent is 990 euros a month.", ALSO_TRUE, "The rent is 950 euros a month.")
    subject.invoke("How much?", {"callbacks": [GroundrailCallbackHandler(Guard()), heard]})
    conflict = heard.events[0][1]["conflict"]
    assert conflict["text"] == "The rent is 950 euros a month."
    assert conflict["metadata"] == {"n": 1}


def test_each_sentence_is_told_while_the_model_still_writes() -> None:
    sentences: list[CheckedSentence] = []
    handler = GroundrailCallbackHandler(guard(), on_sentence=sentences.append)
    stream = chain(TRUE + FALSE + TRUE, SOURCE).stream("?", {"callbacks": [handler]})
    shown = ""
    for piece in stream:
        shown += piece
        if sentences:
            break
    assert [s.text for s in sentences] == [TRUE]
    assert len(shown) < len(TRUE + FALSE)


@pytest.mark.parametrize("way", WAYS)
def test_fallback_raise_stops_the_chain(way: str) -> None:
    heard = Heard()
    results: list[SourcedResult] = []
    kind = AsyncGroundrailCallbackHandler if way.startswith("a") else GroundrailCallbackHandler
    handler = kind(guard(fallback="raise"), on_result=results.append)
    config: Any = {"callbacks": [handler, heard]}
    shown: list[str] = []

    with pytest.raises(UnsupportedError, match="990"):
        asked(chain(TRUE + FALSE + ALSO_TRUE, SOURCE), way, "?", config, pieces=shown)
    assert "allowed" not in "".join(shown)  # the sentence after the wrong one is never written out
    assert heard.verdicts == ["supported", "unsupported"]
    assert [r.text for r in results] == [TRUE]
    assert len(handler.runs) == 0


def test_without_raise_error_langchain_goes_on() -> None:
    handler = GroundrailCallbackHandler(guard(fallback="raise"), raise_error=False)
    assert chain(TRUE + FALSE, SOURCE).invoke("?", {"callbacks": [handler]}) == TRUE + FALSE


def test_events_are_seen_by_astream_events() -> None:
    seen = events(chain(TRUE + FALSE, SOURCE), "?", {"callbacks": [AsyncGroundrailCallbackHandler(guard())]})
    told = [event for event in seen if event["event"] == "on_custom_event"]
    assert [event["name"] for event in told] == ["groundrail_sentence"] * 2 + ["groundrail_result"]
    assert [event["data"]["verdict"] for event in told[:2]] == ["supported", "unsupported"]


def test_nested_and_parallel_chains_see_their_own_documents() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), on_result=results.append)
    red, blue = "The door is red. ", "The door is blue. "
    inner: dict[str, Any] = {
        "red": RunnableLambda(lambda q: chain(red + blue, red).invoke(q)),
        "blue": RunnableLambda(lambda q: chain(red + blue, blue).invoke(q)),
        "none": RunnableLambda(lambda q: chain(red, *[]).invoke(q)),
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
    assert [(r.text, r.citations[0].document_id) for r in results] == [(TRUE, "lease"), (TRUE, "given"), (TRUE, "given")]


def test_documents_of_a_tool_s_artifact_count() -> None:
    results: list[SourcedResult] = []

    @tool(response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[LangChainDocument]]:
        """Search."""
        return "found one", [LangChainDocument(SOURCE, id="lease", metadata={"page": 4})]

    call = {"type": "tool_call", "id": "1", "name": "search", "args": {"query": "rent"}}
    searched: Runnable[Any, Any] = RunnableLambda(lambda _: call) | search | (lambda m: m.content) | model(TRUE + FALSE)
    searched.invoke("?", {"callbacks": [GroundrailCallbackHandler(guard(), on_result=results.append)]})
    assert results[0].text == TRUE
    assert results[0].document(results[0].citations[0]).metadata == {"page": 4}


def test_inputs_under_other_keys_are_no_source() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), documents_keys=["passages"], on_result=results.append)
    (PROMPT | model(TRUE)).invoke({"context": [LangChainDocument(SOURCE)], "question": "?"}, {"callbacks": [handler]})
    (sentence,) = results[0].sentences
    assert sentence.verdict is Verdict.NO_SOURCE
    assert "'passages'" in (sentence.reason or "")


def test_empty_documents_are_counted() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(), on_result=results.append)
    chain(TRUE, "", SOURCE, " ").invoke("?", {"callbacks": [handler]})
    assert (results[0].text, results[0].empty_documents, len(results[0].documents)) == (TRUE, 2, 1)


def test_a_model_that_dies_leaves_an_error_sentence_and_its_own_exception() -> None:
    heard = Heard()

    class Dying(FakeListChatModel):
        def _stream(self, *arguments: Any, **kwargs: Any) -> Iterator[Any]:
            yield from GenericFakeChatModel(messages=iter([TRUE + "The lease "]))._stream(*arguments, **kwargs)
            raise ConnectionError("gone")

    subject = chain("", SOURCE, model=Dying(responses=[""]))
    for fallback in ("drop", "raise"):
        heard.events.clear()
        handler = GroundrailCallbackHandler(guard(fallback=fallback))
        with pytest.raises(ConnectionError, match="gone"):
            list(subject.stream("?", {"callbacks": [handler, heard]}))
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
    assert len(handler.runs) == 0


def test_the_abstention_ends_the_telling() -> None:
    results: list[SourcedResult] = []
    handler = GroundrailCallbackHandler(guard(fallback="abstain", abstention="Ask."), on_result=results.append)
    list(chain(FALSE + TRUE + TRUE, SOURCE).stream("?", {"callbacks": [handler]}))
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
