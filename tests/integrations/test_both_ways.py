"""Every public class in plain and in async code: the same methods, the same parameters, the same text released."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel
from tenacity import stop_after_attempt
from tests.integrations.langchain.conftest import FALSE, SOURCE, TRUE, scripted

import groundrail
from groundrail import AsyncGuardedStream, ChatGuard, Guard, GuardedStream, Policy
from groundrail.integrations import langchain
from groundrail.integrations.langchain import (
    AsyncGroundrailCallbackHandler,
    GroundrailCallbackHandler,
    GroundrailMiddleware,
    GuardedChatModel,
    GuardedRunnable,
)
from groundrail.runtime.both_ways import closing, each, iterate, run, value_of
from groundrail.testing import FakeEntailment

PAIRS: dict[type, list[str]] = {
    Guard: ["read", "check", "check_object", "generate", "stream"],
    ChatGuard: ["ask", "stream"],
    GuardedRunnable: ["invoke", "stream", "batch"],
    GuardedChatModel: ["invoke", "stream", "batch"],
    GroundrailMiddleware: ["wrap_model_call"],
}
"""The methods that wait for a model, each with a twin whose name begins with `a`."""
TWINS: dict[type, tuple[type, dict[str, str]]] = {
    GuardedStream: (
        AsyncGuardedStream,
        {"sentences": "sentences", "result": "result", "close": "aclose"}
        | {f"__{name}__": f"__a{name}__" for name in ("iter", "enter", "exit")},
    ),
    GroundrailCallbackHandler: (
        AsyncGroundrailCallbackHandler,
        {name: name for name in ("on_llm_new_token", "on_llm_end", "on_llm_error")},
    ),
}
"""Classes with an async twin, and the twin's name of each method."""


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    function = function.fget if isinstance(function, property) else function
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def test_every_public_class_that_waits_for_a_model_has_both_forms() -> None:
    exported = [getattr(groundrail, name) for name in groundrail.__all__]
    exported += [getattr(langchain, name) for name in langchain.__all__]
    guarding = {
        item
        for item in [*exported, GroundrailMiddleware]
        if isinstance(item, type)
        and not issubclass(item, Exception)
        and (not issubclass(item, BaseModel) or item in PAIRS)
        and item.__module__ not in {"groundrail.types", "groundrail.policy", "groundrail.scoring.read_source"}
    }
    assert guarding == {*PAIRS, *TWINS, *(twin for twin, _ in TWINS.values())}


@pytest.mark.parametrize("subject", PAIRS)
def test_both_forms_take_the_same_parameters(subject: type) -> None:
    names = PAIRS[subject]
    own = {name for name, value in vars(subject).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert {f"a{name}" for name in names if name in own} == {name for name in own if name[1:] in own and name[0] == "a"}
    for name in set(names) & own:
        assert parameters(getattr(subject, name))[:3] == parameters(getattr(subject, f"a{name}"))[:3]


@pytest.mark.parametrize("subject", TWINS)
def test_a_twin_has_the_same_methods(subject: type) -> None:
    twin, names = TWINS[subject]
    for name, other in names.items():
        assert len(parameters(getattr(subject, name))) == len(parameters(getattr(twin, other)))
    assert {name for name in vars(subject) if not name.startswith("_")} <= {*names}


Released = Callable[[Guard, bool], str]
"""(guard, whether in async code) -> the text that a reader sees of the answer that the guard's generator writes."""
TEXTS = {"all_supported": TRUE + "Pets are not allowed.", "one_refused": TRUE + FALSE + "Pets are not allowed."}


def text_of(guard: Guard) -> str:
    session = guard.generator.start("?", ())  # type: ignore[union-attr]
    return "".join(session.propose())  # type: ignore[arg-type]


async def joined(pieces: Any) -> str:
    return "".join([getattr(piece, "text", piece) async for piece in each(await value_of(pieces))])


def check(guard: Guard, is_async: bool) -> str:
    text = text_of(guard)
    return (asyncio.run(guard.acheck(text, SOURCE)) if is_async else guard.check(text, SOURCE)).text


def generate(guard: Guard, is_async: bool) -> str:
    return (asyncio.run(guard.agenerate("?", SOURCE)) if is_async else guard.generate("?", SOURCE)).text


def stream(guard: Guard, is_async: bool) -> str:
    return asyncio.run(joined(guard.astream("?", SOURCE))) if is_async else "".join(guard.stream("?", SOURCE))


def ask(guard: Guard, is_async: bool) -> str:
    chat = ChatGuard(guard)
    return (asyncio.run(chat.aask("?", SOURCE)) if is_async else chat.ask("?", SOURCE)).reply


def chat_stream(guard: Guard, is_async: bool) -> str:
    chat = ChatGuard(guard)
    return asyncio.run(joined(chat.astream("?", SOURCE))) if is_async else "".join(chat.stream("?", SOURCE))


def invoke_with(subject: Any, given: Any, is_async: bool, **options: Any) -> Any:
    return asyncio.run(subject.ainvoke(given, **options)) if is_async else subject.invoke(given, **options)


def stream_with(subject: Any, given: Any, is_async: bool, **options: Any) -> str:
    return asyncio.run(joined(subject.astream(given, **options) if is_async else subject.stream(given, **options)))


def runnable(guard: Guard, is_async: bool) -> str:
    return str(invoke_with(guard.as_runnable(), {"prompt": "?", "documents": [SOURCE]}, is_async))


def runnable_around_a_model(guard: Guard, is_async: bool) -> str:
    around = GuardedRunnable(scripted(text_of(guard)), guard=guard)
    return stream_with(around, {"prompt": "?", "documents": [SOURCE]}, is_async)


def runnable_around_a_chain(guard: Guard, is_async: bool) -> str:
    around = GuardedRunnable(RunnableLambda(lambda given: text_of(guard)), guard=guard)
    return stream_with(around, {"documents": [SOURCE]}, is_async)


def chat_model(guard: Guard, is_async: bool) -> str:
    model = GuardedChatModel(model=scripted(text_of(guard)), guard=guard)
    return str(invoke_with(model, "?", is_async, documents=[SOURCE]).text)


def chat_model_stream(guard: Guard, is_async: bool) -> str:
    model = GuardedChatModel(model=scripted(text_of(guard)), guard=guard)
    return stream_with(model, "?", is_async, documents=[SOURCE])


def middleware(guard: Guard, is_async: bool) -> str:
    guarding = GroundrailMiddleware(guard, sources_of=lambda messages: [SOURCE])
    agent = create_agent(scripted(text_of(guard)), [], middleware=[guarding])
    return str(invoke_with(agent, {"messages": [HumanMessage("?")]}, is_async)["messages"][-1].text)


def callback(guard: Guard, is_async: bool) -> str:
    released: list[str] = []
    kind = AsyncGroundrailCallbackHandler if is_async else GroundrailCallbackHandler
    handler = kind(guard, on_sentence=lambda sentence: released.append(sentence.released_text))
    config = {"callbacks": [handler], "metadata": {"documents": [SOURCE]}}
    stream_with(scripted(text_of(guard)), "?", is_async, config=config)
    return "".join(released)


WAYS: list[Released] = [
    *(check, generate, stream, ask, chat_stream, runnable, runnable_around_a_model, runnable_around_a_chain),
    *(chat_model, chat_model_stream, middleware, callback),
]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("way", WAYS)
def test_both_forms_release_the_same(way: Released, text: str) -> None:
    def guard() -> Guard:
        policy = Policy(stop=stop_after_attempt(1))
        return Guard(lambda prompt: text, scorer="scale", judge=FakeEntailment(), policy=policy)

    assert [way(guard(), False), way(guard(), True)] == [TRUE + "Pets are not allowed."] * 2


def test_code_that_is_written_once_runs_in_plain_code_and_closes_its_iterator() -> None:
    closed: list[str] = []

    def plain() -> Iterator[int]:
        try:
            yield from range(5)
        finally:
            closed.append("plain")

    async def doubled(items: Any) -> Any:
        async with closing(each(items)) as numbers:
            async for number in numbers:
                yield await value_of(2 * number)

    assert list(iterate(doubled(plain()))) == [0, 2, 4, 6, 8]
    left = iterate(doubled(plain()))
    assert next(left) == 0
    left.close()
    assert closed == ["plain"] * 2


def test_plain_code_that_waits_for_an_event_loop_fails() -> None:
    async def waiting() -> AsyncIterator[int]:
        await asyncio.sleep(0.01)
        yield 1

    with pytest.raises(RuntimeError, match="event loop"):
        run(asyncio.sleep(0.01))
    with pytest.raises(RuntimeError, match="event loop"):
        list(iterate(waiting()))  # type: ignore[arg-type]
