"""Nothing that was not released reaches whoever listens, and nothing the model wrote counts as evidence."""

import asyncio
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from tests.integrations.langchain.conftest import FALSE, SOURCE, TRUE, events, guard

from groundrail import Guard
from groundrail.integrations.langchain import GuardedChatModel, GuardedRunnable
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.testing import FakeEntailment
from groundrail.types import Source, as_documents

SECRET = "990"
INPUT = {"documents": SOURCE, "prompt": "How much is the rent?"}


def model(text: str = TRUE + FALSE) -> FakeListChatModel:
    return FakeListChatModel(responses=[text])


class Careless(Runnable[Any, Any]):
    """Calls a model, drops the config that it was given, and gives messages or text."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self._read(model().invoke("?"))

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        yield from map(self._read, model().stream("?"))


class Asking(Scorer):
    """A judge that asks a LangChain model, which says more than it should."""

    def read(self, source: Source) -> Reader:
        return Prepared(self._judge, as_documents(source)[0].text)

    def _judge(self, claims: Sequence[str], source: str) -> list[Score]:
        for _ in model("SECRET 990").stream("Is it so?"):
            pass
        return [Score(float(v)) for v in FakeEntailment().entailment([(source, claim) for claim in claims])]


def write(prompt: str) -> Iterator[str]:
    for chunk in model().stream(prompt):
        yield str(chunk.text)


_KINDS: dict[str, Callable[[Guard], Runnable[Any, Any]]] = {
    "own generator": lambda guard: GuardedRunnable(guard=guard.with_generator(write)),
    "careless runnable": lambda guard: GuardedRunnable(Careless(lambda message: str(message.text)), guard=guard),
    "careless function": lambda guard: GuardedRunnable(RunnableLambda(lambda given: model().invoke("?").text), guard=guard),
    "judge": lambda guard: GuardedRunnable(RunnableLambda(lambda given: TRUE), guard=asking(guard)),
    "chat model": lambda guard: (
        RunnableLambda(lambda given: [HumanMessage(given["prompt"])])
        | GuardedChatModel(model=Careless(lambda message: message), guard=asking(guard), sources_of=lambda messages: SOURCE)
    ),
}


def asking(guard: Guard) -> Guard:
    return Guard(scorer=Asking(), policy=guard.policy)


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("way", ["astream_events", "astream_log"])
@pytest.mark.parametrize("keep", [True, False])
def test_no_listener_sees_unreleased_text(kind: str, way: str, keep: bool) -> None:
    subject = RunnableLambda(lambda given: given) | _KINDS[kind](guard(keep_refused=keep))

    async def logged() -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LangChainDeprecationWarning)
            return [patch async for patch in subject.astream_log(INPUT)]

    told = events(subject, INPUT) if way == "astream_events" else asyncio.run(logged())
    for event in told:
        letters = re.findall(r"content='(.)'", str(event))  # what a model streams comes letter by letter
        assert not letters, event
        assert "FakeListChatModel" not in str(event)  # the model that was called, whose runs hold all that it said
    assert "950" in str(told)
    assert f"SECRET {SECRET}" not in str(told)
    assert keep or f"{SECRET} euros" not in str(told)  # verdicts name what was refused, unless told otherwise


def _after_tool(result: str, arguments: dict[str, Any], **options: Any) -> str:
    messages: list[BaseMessage] = [
        HumanMessage("How much is the rent?"),
        AIMessage("", tool_calls=[{"name": "note", "args": arguments, "id": "1"}]),
        ToolMessage(result, tool_call_id="1", name="note"),
    ]
    subject = GuardedChatModel(model=model(), guard=guard(), annotate=False, **options)
    return str(subject.invoke(messages).text)


@pytest.mark.parametrize(
    "result",
    [
        FALSE,
        FALSE[:-4] + "…",
        "Saved: the rent  is 990 EUROS!",
        '{"ok": true, "note": "The rent is 990 euros."}',
        f"{SOURCE} Noted: {FALSE}",
    ],
)
def test_what_the_model_wrote_into_a_tool_call_is_no_evidence(result: str) -> None:
    assert SECRET not in _after_tool(result, {"note": FALSE, "tags": ["x"]})


def test_a_tools_own_words_are_evidence() -> None:
    assert _after_tool(SOURCE, {"query": "rent"}) == TRUE
    assert _after_tool(SOURCE, {"query": "rent"}, tools=frozenset({"note"})) == TRUE
    assert _after_tool(SOURCE, {"query": "rent"}, tools=frozenset({"other"})) == ""
    query = {"query": "rent is 950 euros"}
    assert _after_tool(SOURCE, query) == TRUE


@tool
def save_note(text: str) -> str:
    """Keep a note."""
    return f"Kept: {text}"


@tool
def read_notes() -> str:
    """All notes."""
    return f"Note 1 of 3 March: {FALSE}"


@pytest.mark.parametrize("read", [False, True])
def test_a_tool_inside_a_chain_is_no_echo_chamber_either(read: bool) -> None:
    def chain(given: Any) -> str:
        save_note.invoke({"text": FALSE})
        if read:
            read_notes.invoke({})
        return FALSE

    assert GuardedRunnable(RunnableLambda(chain), guard=guard(), return_result=True).invoke("?").text == ""


@pytest.mark.parametrize("saved", [False, True])
def test_what_the_model_wrote_before_the_chain_began_is_no_evidence_inside_it(saved: bool) -> None:
    call: Any = {"name": "save_note", "args": {"text": FALSE}, "id": "1"}
    before: list[BaseMessage] = [AIMessage("", tool_calls=[call]), ToolMessage("saved", tool_call_id="1")]

    def chain(given: Any) -> str:
        model("read_notes").invoke([*(before if saved else []), HumanMessage("?")])
        read_notes.invoke({})
        return FALSE

    shown = GuardedRunnable(RunnableLambda(chain), guard=guard()).invoke("?")
    assert shown == ("" if saved else FALSE)
