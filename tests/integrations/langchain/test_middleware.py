"""GroundrailMiddleware in a real `create_agent`: sources of this turn, tool calls that pass, answers that are held back."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel
from tenacity import stop_after_attempt
from tests.integrations.langchain.conftest import (
    ALSO_TRUE,
    FALSE,
    SOURCE,
    TRUE,
    Scripted,
    asked,
    calling,
    events,
    guard,
    look_up,
    note,
    scripted,
)

from groundrail import Guard, InputError, Policy, UnsupportedError
from groundrail.integrations.langchain import GroundrailMiddleware
from groundrail.testing import FakeEntailment

SECRET = "990 euros"
QUESTION: Any = {"messages": [HumanMessage("How much is the rent?")]}
PLAIN_OR_ASYNC = pytest.mark.parametrize("way", ["plain", "async"])


def agent(model: Any, *, policy: Policy | None = None, before: Any = (), after: Any = (), **options: Any) -> Any:
    guarding = GroundrailMiddleware(Guard(scorer="scale", judge=FakeEntailment(), policy=policy), **options)
    return create_agent(model, [look_up, note], middleware=[*before, guarding, *after])


def ask(subject: Any, way: str, given: Any = QUESTION) -> list[Any]:
    """The agent's messages."""
    (done,) = asked(subject, "invoke" if way == "plain" else "ainvoke", given)
    return list(done["messages"])


def follow(subject: Any, way: str, see: Callable[[Any], object], mode: str = "messages") -> None:
    """Show a stream of the agent to `see`, piece by piece."""

    async def through() -> None:
        async for piece in subject.astream(QUESTION, stream_mode=mode):
            see(piece)

    if way == "async":
        asyncio.run(through())
    else:
        for piece in subject.stream(QUESTION, stream_mode=mode):
            see(piece)


def streamed(subject: Any, way: str, mode: str = "messages") -> list[Any]:
    """The parts that a stream of the agent gives."""
    pieces: list[Any] = []
    follow(subject, way, pieces.append, mode)
    return pieces


def shown(pieces: Sequence[Any]) -> list[str]:
    """The texts that a stream of messages shows of the model."""
    return [message.text for message, _ in pieces if isinstance(message, AIMessage) and message.text]


@PLAIN_OR_ASYNC
def test_an_answer_is_guarded_with_what_its_tools_found(way: str) -> None:
    model = scripted(calling("look_up"), TRUE + FALSE, ALSO_TRUE)
    _, called, found, answer = ask(agent(model), way)
    assert [(c["name"], c["args"], c["id"]) for c in called.tool_calls] == [("look_up", {"what": "rent"}, "call-look_up")]
    assert "groundrail" not in called.response_metadata
    assert isinstance(found, ToolMessage)
    assert answer.text == TRUE + ALSO_TRUE
    assert len(model.asked) == 3
    assert FALSE.strip() in model.asked[2][-1].text
    sentences = answer.response_metadata["groundrail"]["sentences"]
    assert [s["verdict"] for s in sentences] == ["supported", "supported"]
    assert [a["text"] for a in sentences[1]["attempts"]] == [FALSE, ALSO_TRUE]
    (block,) = answer.content_blocks
    assert [a["cited_text"] for a in block["annotations"]] == ["The rent is 950 euros a month.", ALSO_TRUE]
    assert answer.response_metadata["citations"][0]["document_id"] == "look_up"


@PLAIN_OR_ASYNC
def test_what_the_model_wrote_into_a_call_of_an_earlier_turn_is_no_evidence(way: str) -> None:
    call: Any = {"name": "save", "args": {"text": FALSE}, "id": "1"}
    earlier = [HumanMessage("Keep it."), AIMessage("", tool_calls=[call]), ToolMessage("saved", tool_call_id="1")]
    kept = note.model_copy(update={"func": lambda text: f"{ALSO_TRUE} Note of 3 March: {FALSE}"})
    model = scripted(calling("note", '{"text": "all"}'), FALSE + ALSO_TRUE)
    subject = create_agent(model, [kept], middleware=[GroundrailMiddleware(guard(stop=stop_after_attempt(1)))])
    assert ask(subject, way, {"messages": [*earlier, *QUESTION["messages"]]})[-1].text == ALSO_TRUE


@PLAIN_OR_ASYNC
def test_a_stream_shows_whole_sentences_with_their_verdict_behind_them(way: str) -> None:
    subject = agent(scripted(calling("look_up"), TRUE + FALSE, ALSO_TRUE))
    pieces = streamed(subject, way)
    assert shown(pieces) == [TRUE, ALSO_TRUE]
    assert [m.tool_call_chunks[0]["name"] for m, _ in pieces if getattr(m, "tool_call_chunks", None)] == ["look_up"]


@PLAIN_OR_ASYNC
def test_a_sentence_goes_out_before_the_next_one_is_written(way: str) -> None:
    seen = threading.Event()

    class Waiting(Scripted):
        """Writes on only once its first sentence was shown."""

        def _stream(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
            for number, chunk in enumerate(super()._stream(messages)):
                yield chunk
                if len(self.asked) == 2 and number == len(TRUE) + 10 and not seen.wait(0 if way == "async" else 60):
                    raise TimeoutError("the first sentence was not shown")

        async def _astream(
            self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any
        ) -> AsyncIterator[ChatGenerationChunk]:
            for chunk in self._stream(messages):
                yield chunk
                for _ in range(100):
                    await asyncio.sleep(0 if seen.is_set() else 0.001)

    subject = agent(Waiting(messages=[calling("look_up"), AIMessageChunk(content=TRUE + ALSO_TRUE)], asked=[]))
    texts: list[str] = []

    def see(piece: tuple[BaseMessage, Any]) -> None:
        texts.append(str(piece[0].text))
        if piece[0].text == TRUE:
            seen.set()

    follow(subject, way, see)
    assert [text for text in texts if text in (TRUE, ALSO_TRUE)] == [TRUE, ALSO_TRUE]


@PLAIN_OR_ASYNC
def test_a_message_that_calls_tools_passes_without_what_no_guard_reads(way: str) -> None:
    content = [
        {"type": "reasoning", "reasoning": FALSE, "id": "rs_1", "encrypted_content": "x", "said": FALSE, "index": 0},
        {"type": "image", "base64": FALSE, "mime_type": "text/plain"},
        {"type": "text", "text": "I'd be happy to help.", "said": FALSE},
    ]
    metadata = {"logprobs": FALSE, "model_name": "m", "finish_reason": FALSE, "token_usage": {FALSE: 1}}
    said = calling("look_up", content=content, response_metadata=metadata, additional_kwargs={"signature": FALSE})
    messages = ask(agent(scripted(said, TRUE)), way)
    called = messages[1]
    assert called.text == "I'd be happy to help."
    assert called.content[0] == {"type": "reasoning", "reasoning": "", "id": "rs_1", "encrypted_content": "x", "index": 0}
    assert SECRET not in repr(called)
    assert called.response_metadata["model_name"] == "m"
    assert called.response_metadata["groundrail"]["sentences"][0]["verdict"] == "no_claim"
    assert messages[-1].text == TRUE


@PLAIN_OR_ASYNC
@pytest.mark.parametrize("policy", [Policy(fallback="raise"), Policy(fallback="abstain"), Policy(fallback=lambda s: "?")])
def test_unsupported_text_beside_a_tool_call_is_neither_shown_nor_a_failure(way: str, policy: Policy) -> None:
    model = scripted(
        calling(
            "look_up",
            content=[{"type": "reasoning", "reasoning": "Hm.", "index": 0}, {"type": "text", "text": FALSE + "It is so."}],
        ),
        calling("note", '{"text": "x"}', content=TRUE + FALSE, response_metadata={"logprobs": FALSE}),
        TRUE,
    )
    subject = agent(model, policy=policy)
    messages = ask(subject, way)
    first, second, last = [message for message in messages if isinstance(message, AIMessage)]
    assert len(model.asked) == 3
    assert first.text == ""
    assert [block["type"] for block in first.content_blocks] == ["reasoning", "tool_call"]
    assert [call["name"] for call in first.tool_calls] == ["look_up"]
    assert second.text == TRUE
    assert [call["name"] for call in second.tool_calls] == ["note"]
    assert "logprobs" not in second.response_metadata
    assert [s["verdict"] for s in second.response_metadata["groundrail"]["sentences"]] == ["supported", "unsupported"]
    assert last.text == TRUE
    model.asked.clear()
    assert shown(streamed(subject, way)) == [TRUE, TRUE]


@PLAIN_OR_ASYNC
@pytest.mark.parametrize("mode", ["messages", "updates", "values"])
def test_nothing_refused_reaches_any_stream_where_it_is_not_kept(way: str, mode: str) -> None:
    def subject() -> Any:
        told = calling("look_up", content=FALSE), calling("look_up", content=TRUE + FALSE), TRUE + FALSE
        return agent(scripted(*told), policy=Policy(keep_refused=False))

    outer = StateGraph(MessagesState).add_node("agent", subject()).add_edge(START, "agent").add_edge("agent", END)
    for graph in (subject(), outer.compile()):
        pieces = streamed(graph, way, mode)
        assert TRUE in str(pieces)
        assert SECRET not in str(pieces)
    told = [event for event in events(subject(), QUESTION) if event["event"] == "on_chat_model_stream"]
    assert "".join(str(event["data"]["chunk"].text) for event in told) == TRUE * 2
    assert SECRET not in str(told)


@PLAIN_OR_ASYNC
def test_results_of_an_earlier_turn_are_no_source(way: str) -> None:
    before = ask(agent(scripted(calling("look_up"), TRUE)), way)
    *_, message = ask(agent(scripted(TRUE)), way, {"messages": [*before, HumanMessage("Sure?")]})
    assert message.text == ""
    (sentence,) = message.response_metadata["groundrail"]["sentences"]
    assert sentence["verdict"] == "no_source"


def test_further_sources_and_plain_content() -> None:
    model = scripted(calling("look_up"), TRUE)
    assert ask(agent(model, source_tools=[], sources_of=lambda messages: SOURCE), "plain")[-1].text == TRUE
    assert ask(agent(scripted(calling("look_up"), TRUE), annotate=False), "plain")[-1].content == TRUE


@PLAIN_OR_ASYNC
def test_the_policy_decides_on_what_stays_unsupported(way: str) -> None:
    def subject(**rules: Any) -> Any:
        policy = Policy(stop=stop_after_attempt(1), **rules)
        return agent(scripted(calling("look_up"), TRUE + FALSE + ALSO_TRUE), policy=policy)

    assert shown(streamed(subject(fallback="drop"), way)) == [TRUE, ALSO_TRUE]
    assert shown(streamed(subject(fallback="abstain", abstention="I cannot say."), way)) == [TRUE, "I cannot say."]
    assert shown(streamed(subject(fallback=lambda s: "(unclear) "), way)) == [TRUE, "(unclear) ", ALSO_TRUE]
    assert shown(streamed(subject(fallback="flag"), way)) == [TRUE, FALSE, ALSO_TRUE]
    with pytest.raises(UnsupportedError, match=SECRET):
        streamed(subject(fallback="raise"), way)


@PLAIN_OR_ASYNC
@pytest.mark.parametrize("deadline", [None, 30.0])
def test_a_stream_that_dies_behind_a_refused_sentence(way: str, deadline: float | None) -> None:
    model = scripted(TRUE + FALSE + ALSO_TRUE + " The lease", gone=ConnectionError("gone"))
    policy = Policy(stop=stop_after_attempt(1), deadline=deadline)
    answer = ask(agent(model, policy=policy, sources_of=lambda messages: SOURCE), way)[-1]
    assert answer.text.strip() == TRUE + ALSO_TRUE
    sentences = answer.response_metadata["groundrail"]["sentences"]
    assert [s["verdict"] for s in sentences] == ["supported", "unsupported", "supported", "error"]
    assert "gone" in sentences[-1]["reason"]


@PLAIN_OR_ASYNC
def test_another_middleware_cannot_get_around_it(way: str) -> None:
    failing = scripted("", gone=ConnectionError("down"))
    leaked: list[Any] = []

    inside = agent(failing, after=[ModelFallbackMiddleware(scripted(FALSE))])
    with pytest.raises(InputError, match="last"):
        follow(inside, way, leaked.append)
    assert not shown(leaked)
    around = agent(failing, before=[ModelFallbackMiddleware(scripted(calling("look_up"), TRUE + FALSE))])
    assert ask(around, way)[-1].text == TRUE


def test_structured_output_is_refused() -> None:
    class Rent(BaseModel):
        """A rent."""

        euros: int

    with pytest.raises(InputError, match="response_format"):
        create_agent(scripted(""), [look_up], middleware=[GroundrailMiddleware()], response_format=Rent).invoke(QUESTION)


@pytest.mark.slow
def test_nothing_else_needs_langchain() -> None:
    program = (
        "import sys; sys.modules['langchain'] = None\n"
        "from groundrail import MissingExtraError\n"
        "from groundrail.integrations.langchain import *\n"
        "try:\n"
        "    from groundrail.integrations.langchain import GroundrailMiddleware\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "groundrail[langchain]" in done.stdout


@PLAIN_OR_ASYNC
@pytest.mark.parametrize("keep_refused", [True, False])
def test_a_message_that_calls_tools_carries_no_refused_text_beside_its_content(way: str, keep_refused: bool) -> None:
    said = {"reasoning_content": f"I will say: {FALSE}", "function_call": {"name": "look_up"}}
    model = scripted(calling("look_up", content=TRUE + FALSE, additional_kwargs=said), TRUE)
    subject = agent(model, policy=Policy(keep_refused=keep_refused), sources_of=lambda messages: [SOURCE], annotate=False)
    called = ask(subject, way)[1]
    assert called.tool_calls
    assert called.text == TRUE
    assert called.additional_kwargs == {}
