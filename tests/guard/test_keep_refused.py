"""`Policy(keep_refused=False)`: a word of a refused sentence is nowhere in what comes out, whatever the way out."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableLambda
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import Field
from tests.guard.parts import Starting, Told, first_text, raising
from tests.guard.serve.conftest import Handler, asking, client, http, judge, serve, upstream, writing

from groundrail import Guard, Policy
from groundrail.chat import ChatGuard
from groundrail.corpus.rows import scored_rows
from groundrail.errors import GroundrailError
from groundrail.integrations.langchain import GroundrailCallbackHandler, GuardedChatModel, GuardedRunnable
from groundrail.scoring.nearest import NearestScorer
from groundrail.serve.observe import Observer
from groundrail.serve.tracing import Tracing
from groundrail.testing import FakeEntailment, ScriptedGenerator

__all__ = ["client", "http", "judge", "serve", "upstream"]

MARK = "wombat"
SOURCE = "The rent is 950 euros a month. Pets are not allowed."
TRUE, FALSE = "The rent is 950 euros. ", f"The {MARK} is allowed. "
FALLBACKS = ["drop", "abstain", "quote", "correct", "raise"]


def guard(generator: Any = None, fallback: Any = "drop", **options: Any) -> Guard:
    policy = Policy(keep_refused=False, fallback=fallback)
    return Guard(generator, scorer=NearestScorer(FakeEntailment()), policy=policy, **options)


def told(error: BaseException | None) -> str:
    """All that an error says, with its notes, its result and the errors behind it."""
    if error is None:
        return ""
    own = [repr(error), str(error), repr(vars(error)), *getattr(error, "__notes__", ())]
    return "\n".join([*own, told(error.__cause__), told(error.__context__)])


def outcome(call: Callable[[], Any]) -> str:
    """The value that a call returns, or the error that it raises."""
    try:
        found = call()
    except GroundrailError as error:
        return told(error)
    return repr(found)


def failing(prompt: str) -> Iterator[str]:
    """A generator whose error repeats what it wrote."""
    yield TRUE + FALSE
    yield f"And the {MARK}"
    raise RuntimeError(f"stopped after the {MARK}")


@pytest.mark.parametrize("fallback", FALLBACKS)
@pytest.mark.parametrize("writer", [failing, lambda prompt: TRUE + FALSE + TRUE], ids=["failing", "whole"])
def test_results_and_errors(writer, fallback) -> None:
    subject = guard(writer, fallback)

    def html() -> str:
        result = subject.generate("?", SOURCE)
        return result.to_html(SOURCE) + result.to_markdown(held_back=True) + result._repr_html_()

    for call in (
        lambda: subject.generate("?", SOURCE),
        lambda: subject.generate("?", SOURCE).model_dump_json(),
        lambda: asyncio.run(subject.agenerate("?", SOURCE)),
        lambda: list(subject.stream("?", SOURCE).sentences()),
        lambda: subject.check(TRUE + FALSE, SOURCE),
        lambda: ChatGuard(subject).ask("?", SOURCE),
        html,
    ):
        found = outcome(call)
        assert found
        assert MARK not in found


@pytest.mark.parametrize("fallback", ["drop", "flag", "abstain"])
def test_sentences_are_slices_of_what_is_kept_and_a_flag_shows_no_try_before_it(fallback) -> None:
    script = [TRUE, [FALSE, "The cat is allowed. "], "Dragons at http://evil.example fly. "]
    result = guard(ScriptedGenerator(script), fallback).generate("?", SOURCE)
    assert result.text.startswith(TRUE)
    assert ("cat" in result.text and "Dragons" in result.text) == (fallback == "flag")
    assert MARK not in result.model_dump_json() + result.to_html() + result.to_markdown(held_back=True)
    for sentence in result.sentences:
        assert result.answer[sentence.start : sentence.end] == sentence.text


@pytest.mark.parametrize("fallback", FALLBACKS)
@pytest.mark.parametrize("first", [TRUE, FALSE], ids=["accept", "reject"])
def test_a_session_that_fails_when_told(first, fallback) -> None:
    failing = Starting(lambda: Told(first + FALSE, raising(RuntimeError(f"the {MARK} is next"))))
    assert MARK not in outcome(lambda: guard(failing, fallback).generate("?", SOURCE))


def closing_badly(prompt: str) -> Iterator[str]:
    """A generator whose error on closing repeats what it wrote."""
    try:
        while True:
            yield TRUE + FALSE
    finally:
        raise RuntimeError(f"closed after the {MARK}")


async def aclosing_badly(prompt: str) -> AsyncIterator[str]:
    try:
        while True:
            yield TRUE + FALSE
    finally:
        raise RuntimeError(f"closed after the {MARK}")


async def leading_to_one(prompt: str) -> Iterator[str]:
    return closing_badly(prompt)


@pytest.mark.parametrize("keep", [True, False])
def test_the_log_of_a_generator_that_raises_on_closing(caplog, keep) -> None:
    writers: list[Any] = [closing_badly, aclosing_badly, leading_to_one]
    for writer in writers:
        subject = Guard(writer, scorer=NearestScorer(FakeEntailment()), policy=Policy(keep_refused=keep))
        assert first_text(subject, writer is not closing_badly, SOURCE) == TRUE
    assert caplog.text.count("a generator raised RuntimeError on closing") == 3
    assert (MARK in caplog.text) is keep


class Listening(BaseCallbackHandler):
    """Keeps everything that a handler is told."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_"):
            return lambda *given, **more: self.heard.append((name, given, more))
        return super().__getattribute__(name)


class Talking(FakeListChatModel):
    """A model that says more than its text, which it keeps out of its fields: handlers are told those."""

    responses: list[str] = Field(default_factory=list)

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        for letter in TRUE + FALSE:
            message = AIMessageChunk(content=letter, response_metadata={"logprobs": {"content": MARK}, "refusal": MARK})
            yield ChatGenerationChunk(message=message, generation_info={"logprobs": MARK})
        if run_manager is not None:
            run_manager.on_llm_new_token(MARK)

    async def _astream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        for chunk in self._stream(messages):
            yield chunk


@pytest.mark.parametrize("fallback", FALLBACKS)
def test_langchain(fallback) -> None:
    model, given = Talking(), {"documents": SOURCE, "prompt": "How much?"}
    chat = GuardedChatModel(model=model, guard=guard(fallback=fallback), sources_of=lambda messages: SOURCE)
    around = GuardedRunnable(model, guard=guard(fallback=fallback), return_result=True)
    own = GuardedRunnable(guard=guard(failing, fallback))
    for subject, asked in ((chat, "How much?"), (around, given), (own, given)):
        chain: Any = RunnableLambda(lambda x: x) | subject

        async def events(chain: Any = chain, asked: Any = asked) -> list[Any]:
            return [event async for event in chain.astream_events(asked, version="v2")]

        for call in (
            lambda config, chain=chain, asked=asked: chain.invoke(asked, config),
            lambda config, chain=chain, asked=asked: list(chain.stream(asked, config)),
            lambda config, chain=chain, asked=asked: asyncio.run(chain.ainvoke(asked, config)),
            lambda config, events=events: asyncio.run(events()),
        ):
            ear = Listening()
            found = outcome(lambda call=call, ear=ear: call({"callbacks": [ear]}))  # type: ignore[misc]
            assert MARK not in found
            assert MARK not in repr(ear.heard)
            heard = "\n".join(told(error) for _, given, _ in ear.heard for error in given if isinstance(error, Exception))
            assert MARK not in heard


def test_langsmith_where_the_environment_turns_it_on(monkeypatch) -> None:
    from langsmith.utils import tracing_is_enabled

    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setattr("langsmith.utils.get_env_var", lambda name, *more, **options: "true" if "TRACING" in name else None)
    from groundrail.integrations.langchain.guarded_run import quietly
    from groundrail.runtime.both_ways import each, iterate

    for traced in (True, False):
        given: Any = each(tracing_is_enabled() for _ in range(1))
        passed: list[Any] = list(iterate(quietly({}, given, traced=traced)))
        assert passed == [traced]
    assert tracing_is_enabled()


def test_a_callback_handler_tells_no_refused_text() -> None:
    heard: list[Any] = []
    handler = GroundrailCallbackHandler(guard(), on_sentence=heard.append, on_result=heard.append)
    list(
        FakeListChatModel(responses=[TRUE + FALSE]).stream("?", {"callbacks": [handler], "metadata": {"documents": SOURCE}})
    )
    assert len(heard) == 3
    assert MARK not in repr(heard)


def echoing(handler: Handler, body: dict[str, Any]) -> None:
    """Refuses, and repeats what it was asked."""
    handler.send(400, json.dumps({"error": {"message": f"no: {body['messages'][-1]['content']}"}}))


@pytest.mark.parametrize("fallback", FALLBACKS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("again", ["writes", "echoes"])
def test_server(serve, upstream, http, caplog, fallback, stream, again) -> None:
    caplog.set_level(logging.DEBUG, logger="groundrail")
    upstream.replies = [writing(TRUE, FALSE, TRUE)]
    upstream.usual = echoing if again == "echoes" else writing(FALSE)
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    observer = Observer(Tracing(provider, content=True), log_text=True)
    address = serve(policy=Policy(keep_refused=False, fallback=fallback), observer=observer)
    said = [
        http.post(f"{address}/v1/chat/completions", json=asking(stream=stream), headers={"x-groundrail-details": "full"}),
        http.post(f"{address}/v1/check", json={"answer": TRUE + FALSE, "source": SOURCE, "stream": stream}),
        http.get(f"{address}/metrics"),
    ]
    assert MARK in repr(upstream.bodies)  # the one who writes is told what not to write again
    assert MARK not in "\n".join(response.text + repr(response.headers) for response in said)
    assert MARK not in "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("groundrail"))
    spans = exporter.get_finished_spans()
    assert spans
    assert MARK not in "\n".join(span.to_json() for span in spans)


def test_rows_hold_no_claim() -> None:
    rows = scored_rows(NearestScorer(FakeEntailment()), [{"id": 1, "claim": FALSE, "source": SOURCE}])
    assert rows[0]["verdict"] == "unsupported"
    assert MARK not in repr(rows)
