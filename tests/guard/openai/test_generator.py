"""Generating and judging through a real HTTP server on loopback, well-behaved and otherwise."""

import asyncio
import json
import logging
import math
import re
import time
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenacity import stop_after_attempt
from tests.guard.serve.conftest import ENDING_EARLY, FALSE, HALF, SOURCE, TRUE, going_wrong, sending
from tests.http_servers import Handler, Reply, ScriptedServer, serving

from groundrail import Guard, GuardResult, InputError, Policy, Verdict
from groundrail.entailment.base import EntailmentModel
from groundrail.errors import ClaimTooLongError, GenerationError, ModelError, ScoringError
from groundrail.generators.asked import Fresh
from groundrail.openai.events import Completion
from groundrail.openai.generator import OpenAIGenerator
from groundrail.openai.judge import RemoteEntailment
from groundrail.runtime.both_ways import each, value_of
from groundrail.testing import FakeEntailment, shares_all_words

KEY = "sk-very-secret-0123456789"
ASKED = re.compile(r'(.*) Question: Does this imply that "(.*)"\? Yes or No\?', re.DOTALL)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving(ScriptedServer(judging)) as running:
        yield running


def streaming(*texts: str, finish: str = "stop") -> Reply:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        assert body["stream"] is True
        handler.begin()
        handler.raw(": comment\n\n")
        for text in texts:
            for start in range(0, len(text), 6):
                handler.chunk({"content": text[start : start + 6]})
        handler.chunk({"content": ""}, finish)
        handler.raw('data: {"choices": [], "usage": {"completion_tokens": 11}}\n\n')
        handler.end()

    return reply


def answering(candidates: dict[str, float], *, first: str | None = None) -> Reply:
    """One token with logprobs; `candidates` are probabilities."""

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        top = [{"token": token, "logprob": math.log(p)} for token, p in candidates.items()]
        token = top[0] if first is None else {"token": first, "logprob": -1.0}
        choice = {"message": {"content": "Yes"}, "logprobs": {"content": [{**token, "top_logprobs": top}]}}
        handler.send(200, json.dumps({"choices": [choice]}))

    return reply


def judging(handler: Handler, body: dict[str, Any]) -> None:
    """Says Yes where the premise has all the claim's words."""
    match = ASKED.fullmatch(body["messages"][-1]["content"])
    yes = 0.98 if match and shares_all_words(match[1], match[2]) else 0.01
    answering({"Yes": yes * 0.9, " yes": yes * 0.1, "No": 1 - yes})(handler, body)


def generator(server: ScriptedServer, **options: Any) -> OpenAIGenerator:
    return OpenAIGenerator(f"{server.url}/", "tiny", **({"timeout": 5.0} | options))


def guarded(server: ScriptedServer, policy: Policy | None = None, **options: Any) -> Guard:
    return Guard(generator(server, **options), scorer="scale", judge=FakeEntailment(), policy=policy)


def generated(subject: Guard, is_async: bool = False) -> GuardResult:
    return asyncio.run(subject.agenerate("?", SOURCE)) if is_async else subject.generate("?", SOURCE)


def judge(server: ScriptedServer, **options: Any) -> RemoteEntailment:
    return RemoteEntailment(f"{server.url}/", "tiny", **({"timeout": 5.0} | options))


def test_it_generates_and_judges_through_servers(server) -> None:
    server.replies = [streaming(TRUE, "Pets are not allowed.")]
    result = Guard(generator(server, temperature=0.2), scorer="scale", judge=judge(server)).generate("How much?", SOURCE)
    assert result.text == TRUE + "Pets are not allowed."
    assert [c.text for c in result.citations] == ["The rent is 950 euros a month.", "Pets are not allowed."]
    assert result.generation["completion_tokens"] == 11
    first = server.bodies[0]
    assert (first["model"], first["temperature"]) == ("tiny", 0.2)
    assert SOURCE in first["messages"][0]["content"]
    assert "How much?" in first["messages"][0]["content"]


def test_after_a_refusal_it_is_asked_to_go_on(server) -> None:
    server.replies = [streaming(TRUE, FALSE), streaming(TRUE, "Pets are not allowed.")]
    result = guarded(server).generate("?", SOURCE)
    assert result.text == TRUE + "Pets are not allowed."
    asked, partial, request = server.bodies[1]["messages"]
    assert asked == server.bodies[0]["messages"][0]
    assert partial == {"role": "assistant", "content": TRUE.strip()}
    assert request["role"] == "user"
    assert FALSE.strip() in request["content"]


@pytest.mark.parametrize("fields", [True, {}, {"prefix": True}])
def test_or_writes_on_in_the_partial_message(server, fields) -> None:
    server.replies = [streaming(TRUE, FALSE), streaming(" Pets are not allowed.")]
    result = guarded(server, prefill=fields).generate("?", SOURCE)
    assert result.text == TRUE + "Pets are not allowed."
    assert [m["role"] for m in server.bodies[1]["messages"]] == ["user", "assistant"]
    assert server.bodies[1].get("continue_final_message") == (True if fields is True else None)
    assert server.bodies[1].get("prefix") == (True if fields == {"prefix": True} else None)
    assert FALSE.strip() in server.bodies[1]["messages"][0]["content"]


def test_async_generation_with_many_at_once(server) -> None:
    def tell(handler: Handler, body: dict[str, Any]) -> None:
        number = body["messages"][0]["content"].split()[-1]
        time.sleep(0.01)
        streaming(f"Flat {number} costs {number} euros. ", "Flat 99 costs 99 euros.")(handler, body)

    server.usual = tell
    subject = guarded(server, Policy(stop=stop_after_attempt(1)), max_concurrency=3)

    async def many() -> list[Any]:
        calls = (subject.agenerate(str(n), f"Flat {n} costs {n} euros.") for n in range(12))
        return await asyncio.gather(*calls)

    for number, result in enumerate(asyncio.run(many())):
        assert result.text == f"Flat {number} costs {number} euros. "
    assert server.most_at_once <= 3


def test_judging_asks_a_bounded_number_at_a_time_and_keeps_the_order(server) -> None:
    def slow(handler: Handler, body: dict[str, Any]) -> None:
        time.sleep(0.02)
        judging(handler, body)

    server.usual = slow
    subject = judge(server, max_concurrency=3)
    pairs = [(SOURCE, TRUE), (SOURCE, FALSE), (SOURCE, "Pets are not allowed."), ("", TRUE)] * 4
    pairs += [(SOURCE, f"The rent is {n} euros.") for n in range(8)]
    values = subject.entailment(pairs)
    assert isinstance(subject, EntailmentModel)
    assert (values > 0.5).tolist() == [shares_all_words(*pair) == 1.0 for pair in pairs]
    assert 1 < server.most_at_once <= 3
    assert len(server.bodies) == len(set(pairs))
    assert subject.entailment([]).shape == (0,)


@pytest.mark.parametrize(
    ("candidates", "first", "expected"),
    [
        ({"Yes": 0.6, "No": 0.2}, None, 0.75),
        ({"Yes": 0.3, " yes": 0.2, "YES": 0.1, "▁Yes": 0.1, "No": 0.1, "no": 0.1, "Maybe": 0.1}, None, 0.7 / 0.9),
        ({"No": 0.9}, None, 0.0),
        ({"Well": 0.5, "Yes": 0.25, "NO.": 0.25}, None, 0.5),
        ({"Yes": 0.25, "No": math.exp(-1.0)}, "No", 0.25 / (0.25 + math.exp(-1.0))),
        ({"Yes": 0.2, "Maybe": 0.6, "Perhaps": 0.1}, None, 2 / 3),  # a No counts as the least that is listed
    ],
)
def test_yes_and_no_count_in_all_casings(server, candidates, first, expected) -> None:
    server.replies = [answering(candidates, first=first)]
    np.testing.assert_allclose(judge(server).entailment([("a", "b")]), [expected])
    assert server.bodies[0]["logprobs"] is True
    assert server.bodies[0]["max_tokens"] == 1


def choosing(logprobs: Any) -> Reply:
    return sending(200, json.dumps({"choices": [{"message": {"content": "Yes"}, "logprobs": logprobs}]}))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (sending(200, '{"choices": [{"message": {"content": "Yes"}}]}'), "logprobs"),
        (choosing(None), "logprobs"),
        (choosing({"content": []}), "logprobs"),
        (choosing({"content": [{"token": "Yes"}]}), "logprobs"),
        (choosing({"content": [{"token": "Yes", "logprob": -0.1}]}), "logprobs"),
        (choosing({"content": [{"token": "Y", "logprob": -1, "top_logprobs": []}]}), "logprobs"),
        (answering({"Maybe": 0.9, "Yesterday": 0.1}), "Maybe"),
    ],
)
def test_it_does_not_guess_from_text(server, reply, said) -> None:
    server.replies = [reply]
    with pytest.raises(ModelError, match=said):
        judge(server).entailment([("a", "b")])


def test_pairs_that_do_not_fit_are_refused(server) -> None:
    subject = judge(server, max_tokens=10)
    with pytest.raises(ClaimTooLongError):
        subject.entailment([("a", "word " * 10)])
    with pytest.raises(InputError, match="together"):
        subject.entailment([("word " * 8, "word word word")])
    assert server.bodies == []
    with pytest.raises(InputError, match="template"):
        judge(server, template="{premise}?")


def test_a_request_that_may_succeed_is_repeated(server) -> None:
    server.replies = [sending(500, Retry_After="0"), sending(503, Retry_After="0"), streaming(TRUE)]
    assert generated(guarded(server)).text == TRUE
    assert len(server.bodies) == 3
    for reply in (sending(502, Retry_After="0"), sending(429, Retry_After="Sat, 01 Jan 2000 00:00:00 GMT")):
        server.replies = [reply]
        assert judge(server).entailment([(SOURCE, TRUE)])[0] > 0.9


@pytest.mark.parametrize(
    ("reply", "said", "asked"),
    [
        (sending(500, "broken pipe", Retry_After="0"), "500: broken pipe", 2),
        (sending(429, "slow down", Retry_After="3600"), "3600", 1),
        (sending(302, Location="http://127.0.0.1:1/"), "302", 1),
        (sending(200, "{"), "malformed JSON", 1),
        (sending(200, "<html>"), "malformed JSON", 1),
        (sending(200, "[]"), "without choices", 1),
        (sending(200, '{"choices": []}'), "without choices", 1),
    ],
)
def test_a_failure_is_told_once_it_was_repeated_as_often_as_it_may(server, reply, said, asked) -> None:
    server.usual = reply
    with pytest.raises(ScoringError, match=said):
        judge(server, max_retries=1).entailment([("a", "b")])
    assert len(server.bodies) == asked


@pytest.mark.parametrize("is_async", [False, True])
def test_429_waits_as_long_as_it_is_told(server, is_async) -> None:
    server.replies = [sending(429, Retry_After="0.4"), streaming(TRUE)]
    started = time.monotonic()
    subject = guarded(server)
    result = generated(subject, is_async)
    assert result.text == TRUE
    assert time.monotonic() - started >= 0.4


def test_a_wrong_request_is_not_repeated(server) -> None:
    server.replies = [sending(400, "no such model")]
    with pytest.raises(GenerationError, match="no such model"):
        guarded(server).generate("?", SOURCE)
    assert len(server.bodies) == 1


def cutting(handler: Handler, body: dict[str, Any]) -> None:
    handler.begin()
    handler.chunk({"content": HALF})
    handler.close_connection = True


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (cutting, "stream"),
        (ENDING_EARLY, "stream"),
        (going_wrong(HALF, '{"choices": ['), "malformed JSON"),
        (going_wrong(HALF, '{"choices": 5}'), "than chunks"),
        (going_wrong(HALF, '{"error": {"message": "out of memory"}}'), "out of memory"),
        (going_wrong(HALF), "Timeout"),
    ],
)
def test_a_stream_that_goes_wrong_keeps_what_was_released(server, reply, reason, is_async) -> None:
    server.replies = [reply]
    result = generated(guarded(server, timeout=1.0 if reason == "Timeout" else 20), is_async)
    assert result.text == TRUE
    assert [(s.text, s.verdict) for s in result.sentences] == [(TRUE, Verdict.SUPPORTED), (HALF[len(TRUE) :], Verdict.ERROR)]
    assert reason in (result.sentences[1].reason or "")


def test_no_server_is_a_clear_error(server) -> None:
    server.usual = lambda handler, body: time.sleep(1.0)
    with pytest.raises(ScoringError, match="Timeout"):
        judge(server, timeout=0.2, max_retries=0).entailment([("a", "b")])
    subject = RemoteEntailment("http://127.0.0.1:1/v1", "tiny", max_retries=0)
    with pytest.raises(ScoringError, match="gave no answer"):
        subject.entailment([("a", "b")])
    for address in ("localhost:8000", "ftp://host/v1", "https://"):
        with pytest.raises(InputError, match="base_url"):
            OpenAIGenerator(address, "tiny")


def test_the_key_is_sent_and_told_nobody(server, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    server.replies = [sending(401, f"wrong key {KEY} for Bearer {KEY}")]
    subject, writer = judge(server, api_key=KEY), generator(server, api_key=KEY)
    with pytest.raises(ScoringError, match="401") as caught:
        subject.entailment([("a", "b")])
    server.replies = [sending(401, f"wrong key {KEY}"), streaming(TRUE)]
    guard = Guard(writer, scorer="scale", judge=FakeEntailment())
    with pytest.raises(GenerationError, match="401") as refused:
        guard.generate("?", SOURCE)
    assert guard.generate("?", SOURCE).text == TRUE
    sent = [{name.lower(): value for name, value in headers.items()} for headers in server.headers]
    assert {headers.get("authorization") for headers in sent} == {f"Bearer {KEY}"}
    told = [
        repr(subject),
        repr(writer),
        repr(vars(subject)),
        repr(vars(writer)),
        repr(vars(subject.client)),
        "".join(traceback.format_exception(caught.value)),
        "".join(traceback.format_exception(refused.value)),
        caplog.text,
    ]
    assert not [text for text in told if KEY in text]
    assert "tiny" in told[0]
    named = RemoteEntailment("http://ada:hunter2@127.0.0.1:1/v1?api-key=hunter2", "tiny", max_retries=0)
    assert "hunter2" not in repr(named)
    with pytest.raises(ScoringError) as unreached:
        named.entailment([("a", "b")])
    assert "hunter2" not in "".join(traceback.format_exception(unreached.value))


@pytest.mark.parametrize("is_async", [False, True])
def test_streams_that_nobody_reads_on_are_told_of(server, is_async) -> None:
    server.usual = streaming(*[TRUE] * 3)
    client = generator(server, max_concurrency=1, timeout=0.5).client

    async def crowded() -> int:
        ask: Any = client.astream if is_async else client.stream
        open_stream = ask({"messages": []}, Completion())
        await anext(each(open_stream))
        with pytest.raises(GenerationError, match="max_concurrency"):
            await anext(each(ask({"messages": []}, Completion())))
        await value_of(open_stream.aclose() if is_async else open_stream.close())
        return len([text async for text in each(ask({"messages": []}, Completion()))])

    assert asyncio.run(crowded()) >= 3


def test_an_answer_is_put_together_and_counted(server) -> None:
    server.replies = [streaming("The rent is 950 euros \ud83d", "\ude00. ", "The rent", finish="length")]
    result = generated(guarded(server))
    assert result.answer == "The rent is 950 euros \U0001f600. The rent"
    assert result.generation["ended_by_length"] == 1


@given(st.text(alphabet="ab .", max_size=12), st.text(alphabet="ab .", max_size=12), st.integers(1, 5), st.booleans())
def test_a_repetition_of_what_stands_is_left_out(written, new, size, repeats) -> None:
    text = written.strip() + new if repeats else new
    fresh = Fresh(written)
    passed = "".join(fresh.feed(text[i : i + size]) for i in range(0, len(text), size)) + fresh.flush()
    expected = text
    if written.strip() and text.lstrip().startswith(written.strip()):
        expected = text.lstrip()[len(written.strip()) :]
    if written and written[-1].isspace():
        expected = expected.lstrip()
    assert passed == expected


@pytest.mark.parametrize("is_async", [False, True])
def test_line_breaks_of_other_standards_are_text(server, is_async) -> None:
    """Servers that write characters as they are may send them within an event."""
    text = "The rent is\u2028950 euros.\x85 "

    choices = [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]
    server.replies = [going_wrong("", json.dumps({"choices": choices}, ensure_ascii=False))]
    subject = guarded(server)
    result = generated(subject, is_async)
    assert result.answer == text


def test_no_key_and_no_name_comes_from_the_environment(server, monkeypatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    judge(server).entailment([(SOURCE, TRUE)])
    assert KEY not in str(server.headers)
