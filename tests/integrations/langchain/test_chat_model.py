"""GuardedChatModel: what it releases, its citations in LangChain's standard shape, tools and sources."""

import functools
import operator
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.documents import Document as LangChainDocument
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from tests.integrations.langchain.conftest import (
    ALSO_TRUE,
    FALSE,
    SOURCE,
    TRUE,
    WAYS,
    asked,
    calling,
    events,
    guard,
    look_up,
    scripted,
)

from groundrail import UnsupportedError
from groundrail.errors import GenerationError
from groundrail.integrations.langchain import GuardedChatModel
from groundrail.integrations.langchain.retrieved import SourceDocuments, tool_source
from groundrail.sources.echoes import Echoes

LEASE = LangChainDocument(SOURCE, id="lease", metadata={"source": "https://example.org/lease", "title": "Lease", "page": 3})


def guarded(model: Any, **options: Any) -> GuardedChatModel:
    return GuardedChatModel(model=model, **({"guard": guard()} | options))


def merged(chunks: list[Any]) -> Any:
    return functools.reduce(operator.add, chunks)


def test_the_message_carries_the_answers_own_marks_with_their_verdicts() -> None:
    model = guarded(scripted("The rent is 950 euros a month [1]. The rent is 950 euros a month [2]."))
    message = model.invoke("?", documents=[LEASE, LangChainDocument("Dogs bark.", id="rules")])
    sentences = message.response_metadata["groundrail"]["sentences"]
    marks = [mark for sentence in sentences for mark in sentence["marks"]]
    assert [(mark["documents"], mark["verdict"], mark["now"]) for mark in marks] == [
        (["lease"], "supported", ""),
        (["rules"], "unsupported", "[1]"),
    ]


@pytest.mark.parametrize("way", [*WAYS, "batch"])
def test_only_the_supported_goes_out_with_standard_citations(way: str) -> None:
    message = merged(asked(guarded(scripted(TRUE + FALSE, ALSO_TRUE)), way, "?", documents=[LEASE]))
    assert message.text == TRUE + ALSO_TRUE
    (block,) = message.content_blocks
    assert block["type"] == "text"
    first, second = block["annotations"]
    assert first["type"] == "citation"
    assert first["url"] == "https://example.org/lease#page=3"
    assert first["title"] == "Lease"
    assert first["cited_text"] == "The rent is 950 euros a month."
    assert message.text[first["start_index"] : first["end_index"]] == TRUE.strip()
    assert message.text[second["start_index"] : second["end_index"]] == ALSO_TRUE
    assert first["extras"]["document_id"] == "lease"
    assert first["extras"]["metadata"]["page"] == 3
    start, end = first["extras"]["document_start"], first["extras"]["document_end"]
    assert SOURCE[start:end] == first["cited_text"]
    cited = message.response_metadata["citations"]
    assert [citation["text"] for citation in cited] == ["The rent is 950 euros a month.", ALSO_TRUE]
    assert cited[0]["metadata"]["page"] == 3
    sentences = message.response_metadata["groundrail"]["sentences"]
    assert [a["text"] for a in sentences[1]["attempts"]] == [FALSE, ALSO_TRUE]


def test_the_abstention_goes_out_for_an_unsupported_sentence_or_an_error() -> None:
    careful = guarded(scripted(TRUE + FALSE), guard=guard(fallback="abstain", abstention="I do not know."))
    assert merged(asked(careful, "stream", "?", documents=SOURCE)).text == TRUE + "I do not know."
    with pytest.raises(UnsupportedError, match="990"):
        guarded(scripted(FALSE), guard=guard(fallback="raise")).invoke("?", documents=SOURCE)


def test_it_stands_in_a_chain_and_its_events_show_no_unreleased_text() -> None:
    prompt = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{question}")])
    subject = guarded(scripted(TRUE + FALSE), sources_of=lambda messages: messages[0].text)
    chain = prompt | subject | StrOutputParser()
    given = {"context": SOURCE, "question": "?"}
    assert chain.invoke(given) == TRUE
    assert "".join(chain.stream(given)) == TRUE
    alone = events(guarded(scripted(TRUE + FALSE)), "?", {"metadata": {"documents": SOURCE}})
    for seen in (events(chain, given), alone):
        streamed = "".join(str(e["data"]["chunk"].text) for e in seen if e["event"] == "on_chat_model_stream")
        assert streamed == TRUE
        assert len([e for e in seen if e["event"] == "on_chat_model_start"]) == 1


def test_plain_content_when_asked() -> None:
    message = guarded(scripted(TRUE + FALSE), annotate=False).invoke("?", documents=SOURCE)
    assert message.content == TRUE
    assert len(message.response_metadata["citations"]) == 1


def test_tools_pass_through_unchecked_and_their_results_are_sources() -> None:
    model = scripted(calling("look_up", '{"what": "990 euros"}'), TRUE + FALSE)
    subject = guarded(model).bind_tools([look_up])
    assert isinstance(subject, GuardedChatModel)
    given: list[BaseMessage] = [HumanMessage("How much is the rent?")]
    first = subject.invoke(given)
    assert first.text == ""
    assert [(c["name"], c["args"], c["id"]) for c in first.tool_calls] == [
        ("look_up", {"what": "990 euros"}, "call-look_up")
    ]
    assert model.tools == [["look_up"]]
    given += [first, *(look_up.invoke(call) for call in first.tool_calls)]
    last = subject.invoke(given)
    assert last.text == TRUE
    block: Any = last.content_blocks[0]
    (annotation,) = block["annotations"]
    assert annotation["extras"]["document_id"] == "look_up"
    again = guarded(scripted(calling("look_up", '{"what": "990 euros"}'))).bind_tools([look_up])
    streamed = merged(asked(again, "astream", given[:1]))
    assert streamed.tool_calls == first.tool_calls


@pytest.mark.parametrize("tool", [look_up, {"type": "function", "function": {"name": "look_up"}}, {"title": "look_up"}])
@pytest.mark.parametrize("arguments", ['{"what": "990 euros"}', '{"what": "990 eu'])
def test_a_call_of_a_tool_that_was_not_offered_stays_back(tool: Any, arguments: str) -> None:
    subject = guarded(scripted(calling("tell", arguments), TRUE)).bind_tools([tool])
    with pytest.raises(GenerationError, match="a tool that was not offered"):
        subject.invoke("?", documents=SOURCE)
    assert subject.invoke("?", documents=SOURCE).text == TRUE


OFFERED: Any = {"type": "function", "function": {"name": "look_up"}}


@pytest.mark.parametrize(
    ("bound", "options", "passes"),
    [({}, {}, False), ({"tools": [OFFERED]}, {}, True), ({}, {"tools": [OFFERED]}, True), ({"stop": ["x"]}, {}, False)],
)
def test_without_bind_tools_calls_pass_only_of_tools_that_the_model_was_given(bound: Any, options: Any, passes) -> None:
    subject = guarded(scripted(calling("look_up", '{"what": "950 euros"}')).bind(**bound))
    if passes:
        assert [call["name"] for call in subject.invoke("?", documents=SOURCE, **options).tool_calls] == ["look_up"]
        return
    with pytest.raises(GenerationError, match="a tool that was not offered"):
        subject.invoke("?", documents=SOURCE, **options)


@pytest.mark.parametrize("way", WAYS)
def test_documents_in_metadata_are_found_while_a_listener_takes_events(way: str) -> None:
    def asking(_: str, config: RunnableConfig) -> str:
        return str(merged(asked(guarded(scripted(TRUE)), way, "?", config)).text)

    seen = events(RunnableLambda(asking), "?", {"metadata": {"documents": [LEASE]}})
    (ended,) = [event for event in seen if event["event"] == "on_chat_model_end"]
    assert ended["data"]["output"].text == TRUE
    alone = merged(asked(guarded(scripted(TRUE)), way, "?", {"metadata": {"documents": [LEASE]}}))
    assert alone.response_metadata["citations"][0]["document_id"] == "lease"


@pytest.mark.parametrize("way", WAYS)
def test_what_a_call_configures_reaches_the_wrapped_model(way: str) -> None:
    either = scripted(TRUE).configurable_alternatives(ConfigurableField(id="which"), other=scripted(ALSO_TRUE))
    config: Any = {"configurable": {"which": "other"}}
    assert merged(asked(guarded(either), way, "?", config, documents=SOURCE)).text == ALSO_TRUE
    assert merged(asked(guarded(either), way, "?", documents=SOURCE)).text == TRUE


def test_sources_come_from_tool_artifacts_and_bound_documents_too() -> None:
    result = ToolMessage("one found", tool_call_id="1", artifact=[LEASE])
    messages: list[BaseMessage] = [SystemMessage("Be brief."), HumanMessage("?"), AIMessage(""), result]
    message = guarded(scripted(TRUE)).invoke(messages)
    assert message.response_metadata["citations"][0]["document_id"] == "lease"
    message = guarded(scripted(TRUE)).bind(documents=[LEASE]).invoke("?")
    assert message.text == TRUE


def test_what_a_tool_repeats_is_no_source_as_a_document_either() -> None:
    made_up = Echoes()
    made_up.call({"text": "The monthly rent is five hundred euros."})
    repeated = LangChainDocument("The monthly rent is five hundred euros.")
    result = ToolMessage("saved", tool_call_id="1", artifact=[repeated, LEASE])
    assert [document.text for document in SourceDocuments(tool_source(result, made_up)).documents] == [SOURCE]
    (document,) = SourceDocuments(tool_source([repeated, LEASE], made_up)).documents
    assert (document.text, document.id, document.metadata) == (SOURCE, "lease", LEASE.metadata)


def test_of_what_the_model_says_beside_text_names_reasons_and_counts_are_kept() -> None:
    usage: Any = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    told = {"finish_reason": "stop", "model_name": "m", "logprobs": {"content": [{"token": FALSE}]}}
    said = AIMessageChunk(content=FALSE, usage_metadata=usage, response_metadata=told)
    message = guarded(scripted(said)).invoke("?", documents=SOURCE)
    assert message.text == ""
    assert message.usage_metadata == {name: 3 * count for name, count in usage.items()}  # it is asked three times
    assert message.response_metadata.keys() == {"finish_reason", "model_name", "groundrail", "citations"}


def test_a_model_without_streaming_is_guarded_as_well() -> None:
    class Plain(GenericFakeChatModel):
        disable_streaming: bool = True

    subject = guarded(Plain(messages=iter([TRUE + FALSE, ALSO_TRUE])))
    assert subject.invoke("?", documents=SOURCE).text == TRUE + ALSO_TRUE


def test_no_answer_comes_from_a_cache() -> None:
    set_llm_cache(InMemoryCache())
    try:
        subject = guarded(scripted(TRUE, FALSE))
        assert subject.invoke("?", documents=[LEASE]).text == TRUE
        assert subject.invoke("?", documents=[LangChainDocument("Cats fly.")]).text == ""
    finally:
        set_llm_cache(None)
    with pytest.raises(ValueError, match="cached"):
        guarded(scripted(TRUE), cache=True)


def test_what_a_failed_tool_says_is_no_source() -> None:
    said = ToolMessage("The rent is 990 euros.", tool_call_id="1", status="error")
    assert guarded(scripted(FALSE)).invoke([HumanMessage("?"), said], documents=[LEASE]).text == ""
