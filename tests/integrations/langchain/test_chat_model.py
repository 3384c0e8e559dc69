"""GuardedChatModel: what it releases, its citations in LangChain's standard shape, tools and sources."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.documents import Document as LangChainDocument
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from tests.integrations.langchain.conftest import FALSE, SOURCE, TRUE, scripted

from groundrail import Guard, Policy, UnsupportedError
from groundrail.errors import GenerationError
from groundrail.integrations.langchain import GuardedChatModel
from groundrail.integrations.langchain.retrieved import SourceDocuments, tool_source
from groundrail.sources.echoes import Echoes
from groundrail.testing import FakeEntailment

LEASE = LangChainDocument(
    SOURCE, id="lease", metadata={"source": "https://example.org/lease", "title": "Lease", "page": 3}
)


def guarded(model: Any, *, policy: Policy | None = None, **options: Any) -> GuardedChatModel:
    return GuardedChatModel(model=model, guard=Guard(scorer="scale", judge=FakeEntailment(), policy=policy), **options)


async def merged(stream: AsyncIterator[BaseMessageChunk]) -> Any:
    whole: Any = None
    async for chunk in stream:
        whole = chunk if whole is None else whole + chunk
    return whole


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream", "batch"])
def test_only_the_supported_goes_out_with_standard_citations(way: str) -> None:
    subject = guarded(scripted(TRUE + FALSE, "Pets are not allowed."))
    match way:
        case "stream":
            message: Any = None
            for chunk in subject.stream("?", documents=[LEASE]):
                message = chunk if message is None else message + chunk
        case "astream":
            message = asyncio.run(merged(subject.astream("?", documents=[LEASE])))
        case "ainvoke":
            message = asyncio.run(subject.ainvoke("?", documents=[LEASE]))
        case "batch":
            (message,) = subject.batch(["?"], documents=[LEASE])
        case _:
            message = subject.invoke("?", documents=[LEASE])
    assert message.text == TRUE + "Pets are not allowed."
    (block,) = message.content_blocks
    assert block["type"] == "text"
    first, second = block["annotations"]
    assert first["type"] == "citation"
    assert first["url"] == "https://example.org/lease#page=3"
    assert first["title"] == "Lease"
    assert first["cited_text"] == "The rent is 950 euros a month."
    assert message.text[first["start_index"] : first["end_index"]] == TRUE.strip()
    assert message.text[second["start_index"] : second["end_index"]] == "Pets are not allowed."
    assert first["extras"]["document_id"] == "lease"
    assert first["extras"]["metadata"]["page"] == 3
    start, end = first["extras"]["document_start"], first["extras"]["document_end"]
    assert SOURCE[start:end] == first["cited_text"]
    assert [c["text"] for c in message.response_metadata["citations"]] == [
        "The rent is 950 euros a month.",
        "Pets are not allowed.",
    ]
    assert message.response_metadata["citations"][0]["metadata"]["page"] == 3
    sentences = message.response_metadata["groundrail"]["sentences"]
    assert [a["text"] for a in sentences[1]["attempts"]] == [FALSE, "Pets are not allowed."]


def test_an_unsupported_sentence_never_reaches_the_stream() -> None:
    policy = Policy(fallback="abstain", abstention="I do not know.")
    pieces = [str(c.text) for c in guarded(scripted(TRUE + FALSE), policy=policy).stream("?", documents=SOURCE)]
    assert "".join(pieces) == TRUE + "I do not know."
    with pytest.raises(UnsupportedError, match="990"):
        guarded(scripted(FALSE), policy=Policy(fallback="raise")).invoke("?", documents=SOURCE)


def test_it_stands_in_a_chain_and_its_events_show_no_unreleased_text() -> None:
    prompt = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{question}")])
    subject = guarded(scripted(TRUE + FALSE), sources_of=lambda messages: messages[0].text)
    chain = prompt | subject | StrOutputParser()
    given = {"context": SOURCE, "question": "?"}
    assert chain.invoke(given) == TRUE
    assert "".join(chain.stream(given)) == TRUE

    async def events() -> list[Any]:
        return [event async for event in chain.astream_events(given, version="v2")]

    async def events_alone() -> list[Any]:
        config: Any = {"metadata": {"documents": SOURCE}}
        return [e async for e in guarded(scripted(TRUE + FALSE)).astream_events("?", config, version="v2")]

    for seen in (asyncio.run(events()), asyncio.run(events_alone())):
        streamed = "".join(str(e["data"]["chunk"].text) for e in seen if e["event"] == "on_chat_model_stream")
        assert streamed == TRUE
        assert len([e for e in seen if e["event"] == "on_chat_model_start"]) == 1


def test_plain_content_when_asked() -> None:
    message = guarded(scripted(TRUE + FALSE), annotate=False).invoke("?", documents=SOURCE)
    assert message.content == TRUE
    assert len(message.response_metadata["citations"]) == 1


def test_tools_pass_through_unchecked_and_their_results_are_sources() -> None:
    @tool
    def look_up(what: str) -> str:
        """Look something up."""
        return SOURCE

    calls: Any = [{"name": "look_up", "args": '{"what": "990 euros"}', "id": "1", "index": 0}]
    model = scripted(AIMessageChunk(content="", tool_call_chunks=calls), TRUE + FALSE)
    subject = guarded(model).bind_tools([look_up])
    assert isinstance(subject, GuardedChatModel)
    asked: list[BaseMessage] = [HumanMessage("How much is the rent?")]
    first = subject.invoke(asked)
    assert first.text == ""
    assert [(c["name"], c["args"], c["id"]) for c in first.tool_calls] == [("look_up", {"what": "990 euros"}, "1")]
    assert model.tools == [["look_up"]]
    asked += [first, *(look_up.invoke(call) for call in first.tool_calls)]
    last = subject.invoke(asked)
    assert last.text == TRUE
    block: Any = last.content_blocks[0]
    (annotation,) = block["annotations"]
    assert annotation["extras"]["document_id"] == "look_up"
    streamed = asyncio.run(
        merged(guarded(scripted(AIMessageChunk(content="", tool_call_chunks=calls))).astream(asked[:1]))
    )
    assert streamed.tool_calls == first.tool_calls


async def answered(way: str, subject: Any, config: Any = None, **options: Any) -> str:
    """The text that a model gives in one of its four ways."""
    match way:
        case "invoke":
            return str(subject.invoke("?", config, **options).text)
        case "ainvoke":
            return str((await subject.ainvoke("?", config, **options)).text)
        case "stream":
            return "".join(chunk.text for chunk in subject.stream("?", config, **options))
        case _:
            return "".join([chunk.text async for chunk in subject.astream("?", config, **options)])


WAYS = ["invoke", "ainvoke", "stream", "astream"]


@pytest.mark.parametrize("way", WAYS)
def test_documents_in_metadata_are_found_while_a_listener_takes_events(way: str) -> None:
    async def events() -> list[Any]:
        chain = RunnableLambda(asking)
        config: Any = {"metadata": {"documents": [LEASE]}}
        return [event async for event in chain.astream_events("?", config, version="v2")]

    async def asking(_: str, config: RunnableConfig) -> str:
        return await answered(way, guarded(scripted(TRUE)), config)

    (ended,) = [event for event in asyncio.run(events()) if event["event"] == "on_chat_model_end"]
    assert ended["data"]["output"].text == TRUE


@pytest.mark.parametrize("way", WAYS)
def test_what_a_call_configures_reaches_the_wrapped_model(way: str) -> None:
    other = "Pets are not allowed."
    either = scripted(TRUE).configurable_alternatives(ConfigurableField(id="which"), other=scripted(other))
    config: Any = {"configurable": {"which": "other"}}
    assert asyncio.run(answered(way, guarded(either), config, documents=SOURCE)) == other
    assert asyncio.run(answered(way, guarded(either), documents=SOURCE)) == TRUE


def test_sources_come_from_metadata_and_tool_artifacts_too() -> None:
    result = ToolMessage("one found", tool_call_id="1", artifact=[LEASE])
    messages: list[BaseMessage] = [SystemMessage("Be brief."), HumanMessage("?"), AIMessage(""), result]
    message = guarded(scripted(TRUE)).invoke(messages)
    assert message.response_metadata["citations"][0]["document_id"] == "lease"
    message = guarded(scripted(TRUE)).invoke("?", {"metadata": {"documents": [LEASE]}})
    assert message.response_metadata["citations"][0]["document_id"] == "lease"
    config: Any = {"metadata": {"documents": [LEASE]}}
    assert "".join(str(chunk.text) for chunk in guarded(scripted(TRUE)).stream("?", config)) == TRUE
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


def test_without_source_it_says_where_it_looked() -> None:
    message = guarded(scripted(TRUE)).invoke("?")
    assert message.text == ""
    (sentence,) = message.response_metadata["groundrail"]["sentences"]
    assert sentence["verdict"] == "no_source"
    assert "tool results" in sentence["reason"]


def test_what_the_model_says_beside_text_is_kept() -> None:
    usage: Any = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    said = AIMessageChunk(content=TRUE, usage_metadata=usage, response_metadata={"finish_reason": "stop"})
    message = guarded(scripted(said)).invoke("?", documents=SOURCE)
    assert message.usage_metadata == usage
    assert message.response_metadata["finish_reason"] == "stop"


def test_a_model_without_streaming_is_guarded_as_well() -> None:
    class Plain(GenericFakeChatModel):
        disable_streaming: bool = True

    subject = guarded(Plain(messages=iter([TRUE + FALSE, "Pets are not allowed."])))
    assert subject.invoke("?", documents=SOURCE).text == TRUE + "Pets are not allowed."


def test_a_stream_that_dies() -> None:
    class Dying(FakeListChatModel):
        def _stream(self, *arguments: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
            yield ChatGenerationChunk(message=AIMessageChunk(content=TRUE + "The lease "))
            raise ConnectionError("gone")

    model = Dying(responses=[""])
    message = guarded(model).invoke("?", documents=SOURCE)
    assert message.text == TRUE
    assert message.response_metadata["groundrail"]["sentences"][-1]["verdict"] == "error"
    with pytest.raises(GenerationError, match="gone"):
        guarded(model, policy=Policy(fallback="raise")).invoke("?", documents=SOURCE)


def test_fifty_concurrent_calls_keep_their_own_sources() -> None:
    class Telling(FakeListChatModel):
        responses: list[str] = ["unused"]  # noqa: RUF012

        async def _astream(self, messages: Any, *arguments: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
            for number in (int(messages[0].text), int(messages[0].text) + 1):
                await asyncio.sleep(0)
                yield ChatGenerationChunk(message=AIMessageChunk(content=f"Flat {number} costs {number} euros. "))

    subject = guarded(Telling(), policy=Policy(fallback="drop"))

    async def many() -> list[AIMessage]:
        calls = (subject.ainvoke(str(n), documents=f"Flat {n} costs {n} euros.") for n in range(50))
        return await asyncio.gather(*calls)

    for number, message in enumerate(asyncio.run(many())):
        assert message.text == f"Flat {number} costs {number} euros. "


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


def test_logprobs_of_refused_text_stay_inside() -> None:
    chunk = AIMessageChunk(
        content=FALSE, response_metadata={"logprobs": {"content": [{"token": FALSE}]}, "model_name": "m"}
    )
    message = guarded(scripted(chunk)).invoke("?", documents=[LEASE])
    assert message.text == ""
    assert message.response_metadata["model_name"] == "m"
    assert "logprobs" not in message.response_metadata
