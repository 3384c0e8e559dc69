"""The runnable, the chat model, the middleware and the callback handlers alike: sources, failures, many answers at once."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable, RunnableLambda
from tenacity import stop_after_attempt
from tests.integrations.langchain.conftest import ALSO_TRUE, FALSE, TRUE, Scripted, calling, guard, look_up, note, scripted

from groundrail import Guard, InputError, UnsupportedError, Verdict
from groundrail.errors import GenerationError
from groundrail.integrations.langchain import (
    AsyncGroundrailCallbackHandler,
    GroundrailCallbackHandler,
    GroundrailMiddleware,
    GuardedChatModel,
    GuardedRunnable,
    SourcedResult,
)

Ask = Callable[[str], Awaitable[SourcedResult]]
Door = Callable[..., Ask]
"""(guard, model, names of source tools) -> asks the model, once something was looked up where it is asked for that."""


def _chain(model: Any) -> Runnable[Any, Any]:
    def looked(what: str) -> str:
        if what:
            look_up.invoke({"what": what})
        return what or "?"

    return RunnableLambda(looked) | model


def runnable(guard: Guard, model: Any, tools: Any) -> Ask:
    return GuardedRunnable(_chain(model), guard=guard, source_tools=tools, return_result=True).ainvoke


def chat_model(guard: Guard, model: Any, tools: Any) -> Ask:
    names = None if tools is None else frozenset(getattr(tool, "name", tool) for tool in tools)
    subject = GuardedChatModel(model=model, guard=guard, tools=names)

    async def ask(what: str) -> SourcedResult:
        call: Any = {"name": "look_up", "args": {"what": what}, "id": "1", "type": "tool_call"}
        found = [AIMessage("", tool_calls=[call]), look_up.invoke(call)] if what else []
        message = await subject.ainvoke([HumanMessage(what), *found])
        return SourcedResult.model_validate(message.response_metadata["groundrail"])

    return ask


def middleware(guard: Guard, model: Any, tools: Any) -> Ask:
    subject = create_agent(model, [look_up, note], middleware=[GroundrailMiddleware(guard, source_tools=tools)])

    async def ask(what: str) -> SourcedResult:
        if what and not what.isdigit():
            model.messages.insert(0, calling("look_up", json.dumps({"what": what})))
        done = await subject.ainvoke({"messages": [HumanMessage(what)]})
        return SourcedResult.model_validate(done["messages"][-1].response_metadata["groundrail"])

    return ask


def watched_by(kind: Any) -> Door:
    """A chain with a callback handler."""
    told: ContextVar[list[SourcedResult]] = ContextVar("told")

    def door(guard: Guard, model: Any, tools: Any) -> Ask:
        handler = kind(guard, source_tools=tools, on_result=lambda result: told.get().append(result))

        async def ask(what: str) -> SourcedResult:
            told.set([])
            with suppress(ConnectionError):  # the model's own, which a handler leaves as it is
                async for _ in _chain(model).astream(what, {"callbacks": [handler]}):
                    pass
            (result,) = told.get()
            return result

        return ask

    return door


DOORS: dict[str, tuple[Door, str]] = {
    "runnable": (runnable, "the input's key 'documents', the retrievers, tools and runnables that ran before"),
    "chat model": (chat_model, "the tool results among the messages, documents= of the call"),
    "middleware": (middleware, "the results of the tools called since the user's last message"),
    "callback": (watched_by(GroundrailCallbackHandler), "the retrievers and tools of the run, and the keys 'documents'"),
    "async callback": (watched_by(AsyncGroundrailCallbackHandler), "the retrievers and tools of the run"),
}
"""Doors, and the places in which each looks for documents."""
each_door = pytest.mark.parametrize(("door", "places"), DOORS.values(), ids=DOORS)


def result(door: Door, model: Any, what: str = "rent", tools: Any = None, **policy: Any) -> SourcedResult:
    """The result of an answer that is written once."""

    async def told() -> SourcedResult:
        return await door(guard(stop=stop_after_attempt(1), **policy), model, tools)(what)

    return asyncio.run(told())


@each_door
def test_the_results_of_all_tools_are_sources_or_those_of_named_ones(door: Door, places: str) -> None:
    for named in (None, [look_up], ["note", "look_up"]):
        told = result(door, scripted(TRUE + FALSE + ALSO_TRUE), tools=named)
        assert told.text == TRUE + ALSO_TRUE
        assert [s.verdict for s in told.sentences] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED, Verdict.SUPPORTED]
    (sentence,) = result(door, scripted(TRUE), tools=[note]).sentences
    assert sentence.verdict is Verdict.NO_SOURCE
    if door is not chat_model:
        assert "of note alone" in (sentence.reason or "")
        with pytest.raises(InputError, match=r"\['look_up'\]"):
            result(door, scripted(TRUE), tools="look_up")


@each_door
def test_what_a_tool_repeats_from_its_call_is_no_evidence(door: Door, places: str) -> None:
    assert result(door, scripted(FALSE + ALSO_TRUE), FALSE).text == ALSO_TRUE


@each_door
def test_without_source_it_says_where_it_looked(door: Door, places: str) -> None:
    told = result(door, scripted(TRUE), "")
    assert told.text == ""
    (sentence,) = told.sentences
    assert sentence.verdict is Verdict.NO_SOURCE
    assert places in (sentence.reason or "")
    assert result(door, scripted(TRUE), "", on_no_source="open").text == TRUE
    with pytest.raises(UnsupportedError, match=f"no source.*{places}"):
        result(door, scripted(TRUE), "", fallback="raise")


@each_door
def test_a_stream_that_dies_keeps_what_was_released(door: Door, places: str) -> None:
    told = result(door, scripted(TRUE + "The lease ", gone=ConnectionError("gone")))
    assert told.text == TRUE
    assert told.sentences[-1].verdict is Verdict.ERROR
    assert "gone" in (told.sentences[-1].reason or "")
    if door in (runnable, chat_model, middleware):
        with pytest.raises(GenerationError, match="gone"):
            result(door, scripted(TRUE + "The lease ", gone=ConnectionError("gone")), fallback="raise")


@each_door
@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "SAFETY", "token_limit", "guardrail_intervened"])
def test_half_a_sentence_of_an_answer_that_was_cut_off_stays_back(door: Door, places: str, reason: str) -> None:
    cut_off = AIMessageChunk(content=TRUE + "Pets are", response_metadata={"finish_reason": reason})
    told = result(door, scripted(cut_off))
    assert told.text == TRUE
    assert told.sentences[-1].verdict is Verdict.ERROR
    assert f"before the answer's end ({reason})" in (told.sentences[-1].reason or "")


class Telling(Scripted):
    """Tells of the flat that it is asked about, and of the next one, which nobody has looked up."""

    async def _astream(self, messages: list[BaseMessage], *told: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        number = int(messages[0].text)
        if kwargs.get("tools") and not isinstance(messages[-1], ToolMessage):
            yield ChatGenerationChunk(message=calling("look_up", f'{{"what": "{number}"}}'))
            return
        for flat in (number, number + 1):
            await asyncio.sleep(0)
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"Flat {flat} is let. "))


@each_door
def test_many_answers_at_once_keep_their_own_sources(door: Door, places: str) -> None:
    async def many() -> list[SourcedResult]:
        ask = door(guard(stop=stop_after_attempt(1)), Telling(messages=[]), None)
        return await asyncio.gather(*(ask(str(number)) for number in range(30)))

    for number, told in enumerate(asyncio.run(many())):
        assert told.text == f"Flat {number} is let. "
        assert [s.verdict for s in told.sentences] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]
