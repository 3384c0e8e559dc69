"""`/v1/chat/completions` with the official client, and with bare sockets where bytes are what counts."""

import json
import threading
import time
from typing import Any

import httpx
import openai
import pytest
from tenacity import stop_after_attempt
from tests.guard.serve.conftest import (
    CHAT,
    FALSE,
    MORE,
    ONCE,
    SOURCE,
    TRUE,
    Handler,
    asking,
    calling,
    chunks,
    completion,
    endless,
    for_client,
    writing,
)

from groundrail import Policy

ABSTAINING = Policy(stop=stop_after_attempt(1), fallback="abstain")


def test_details_in_full_have_what_was_refused_and_only_there(serve, http) -> None:
    told = http.post(serve(policy=ONCE) + CHAT, json=asking(stream=True), headers={"x-groundrail-details": "full"})
    chunks = [json.loads(line[6:]) for line in told.text.splitlines() if line.startswith("data: {")]
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks) == TRUE
    sentences = [c["groundrail"]["sentence"] for c in chunks if "sentence" in c.get("groundrail", {})]
    assert [(s["text"], s["verdict"]) for s in sentences] == [(TRUE, "supported"), (FALSE, "unsupported")]
    assert sentences[0]["citations"][0]["text"] == "The rent is 950 euros a month."


def test_a_level_of_details_that_does_not_exist_is_refused(serve, http) -> None:
    refused = http.post(serve() + CHAT, json=asking(), headers={"x-groundrail-details": "some"})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "x-groundrail-details")


@pytest.mark.parametrize(
    ("sentence", "part"),
    [
        ("The rent is due at http://unsaid.example/pay.", "unsaid"),
        ("The rent is due [44].", "[44]"),
        ("👎 The rent is 950 euros.", "👎"),
        ("The r3nt is due at Gr33nwich.", "r33nwich"),
        ("The rent is due at Grеenwich.", "enwich"),
        ("The rent <unsaid>is</unsaid> due.", "unsaid"),
        ("The rent is &unsaid; due.", "unsaid"),
        ("The rent is due ⟨unsaid⟩.", "unsaid"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_no_reason_quotes_what_is_withheld(serve, upstream, http, stream, sentence, part) -> None:
    upstream.usual = writing(TRUE, sentence)
    address, unsaid = serve(policy=ONCE) + CHAT, json.dumps(part)[1:-1]
    received = http.post(address, json=asking(stream=stream)).text
    assert '"verdict": "unsupported"' in received
    assert unsaid not in received
    full = http.post(address, json=asking(stream=stream), headers={"x-groundrail-details": "full"})
    assert unsaid in full.text


def test_the_official_client_streams(serve, client) -> None:
    asked = for_client(stream=True, stream_options={"include_usage": True})
    chunks = list(client(serve(policy=ONCE)).chat.completions.create(**asked))
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TRUE
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 11
    assert chunks[0].model == "scripted"


def test_the_official_client_gets_a_whole_answer(serve, client) -> None:
    answer = completion(client(serve(policy=ONCE)), stream=False)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (TRUE, "stop")
    assert answer.usage.total_tokens == 16
    told = answer.model_dump()["groundrail"]
    assert [s["verdict"] for s in told["sentences"]] == ["supported", "unsupported"]
    assert (told["source"], told["supported"]) == ("documents", False)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fallback", ["drop", "flag"])
def test_what_documents_with_an_address_support_is_annotated(serve, client, stream, fallback) -> None:
    metadata = {"url": "https://example.com/lease", "title": "The lease"}
    documents = [{"id": "a", "text": SOURCE, "metadata": metadata}]
    policy = ONCE.replacing(fallback=fallback)
    asked = for_client(stream=stream, documents=documents)
    answer = client(serve(policy=policy)).chat.completions.create(**asked)
    parts = [chunk.choices[0].delta for chunk in answer] if stream else [answer.choices[0].message]
    text = "".join(part.content or "" for part in parts)
    told = [each for part in parts for each in part.model_dump().get("annotations") or []]
    assert text == TRUE + (FALSE if fallback == "flag" else "")
    (annotation,) = told
    place = annotation["url_citation"]
    assert (annotation["type"], place["url"], place["title"]) == ("url_citation", metadata["url"], "The lease")
    assert text[place["start_index"] : place["end_index"]] == TRUE.rstrip()


def test_sentences_leave_as_they_are_judged(serve, client, upstream) -> None:
    go_on = threading.Event()

    def slow(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"content": TRUE + "The le"})
        go_on.wait(20)
        handler.chunk({"content": "ase ends on 28 February 2026. "}, "stop")
        handler.end()

    upstream.usual = slow
    seen = []
    for chunk in client(serve()).chat.completions.create(**for_client(stream=True)):
        if chunk.choices[0].delta.content:
            seen.append(chunk.choices[0].delta.content)
            go_on.set()
    assert seen == [TRUE, MORE]


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_is_left_upstream_too(serve, upstream, http, stream) -> None:
    upstream.usual = endless(TRUE)
    address = serve()
    if stream:
        with http.stream("POST", address + CHAT, json=asking(stream=True)) as response:
            assert b"950" in b"".join(piece for _, piece in zip(range(8), response.iter_bytes(), strict=False))
    else:
        with pytest.raises(httpx.ReadTimeout):
            http.post(address + CHAT, json=asking(), timeout=0.5)
    assert upstream.left.wait(10)
    for _ in range(100):
        if "groundrail_requests_open 0.0" in http.get(f"{address}/metrics").text:
            return
        time.sleep(0.05)
    pytest.fail("the answer is still counted as open")


def test_an_abstention_hangs_up_upstream(serve, client, upstream) -> None:
    upstream.usual = endless(FALSE)
    (choice,) = completion(client(serve(policy=ABSTAINING)), stream=False).choices
    assert (choice.message.content, choice.finish_reason) == (Policy().abstention, "content_filter")
    assert upstream.left.wait(10)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("policy", "reply", "released"),
    [
        (ABSTAINING, writing(FALSE), Policy().abstention),
        (ONCE.replacing(keep_refused=False), writing(FALSE), ""),
        (ABSTAINING, calling({"index": 0, "function": {"name": "f"}}, text=FALSE.strip()), Policy().abstention),
    ],
    ids=["abstention", "nothing", "call"],
)
def test_an_answer_that_the_guard_ended_or_emptied_does_not_end_as_the_upstreams(
    serve, client, upstream, policy, reply, released, stream
) -> None:
    """Even where the upstream was at its end by then, or called a tool."""
    upstream.usual = reply
    if stream:
        told = list(client(serve(policy=policy)).chat.completions.create(**for_client(stream=True)))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in told) == released
        assert not any(chunk.choices[0].delta.tool_calls for chunk in told)
        assert told[-1].choices[0].finish_reason == "content_filter"
    else:
        (choice,) = completion(client(serve(policy=policy)), stream).choices
        assert (choice.message.content, choice.message.tool_calls) == (released, None)
        assert choice.finish_reason == "content_filter"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(writing(TRUE, "The rent is 9", finish="length"), "length"), (chunks({"content": TRUE}, finish=None), "stop")],
    ids=["cut off", "unsaid"],
)
def test_why_an_answer_ended(serve, client, upstream, reply, reason) -> None:
    upstream.usual = reply
    (choice,) = completion(client(serve()), stream=False).choices
    assert (choice.message.content, choice.finish_reason) == (TRUE, reason)


def test_counts_of_calls_that_do_not_look_alike_are_added_where_they_do(serve, client, upstream) -> None:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        counts = {"total_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}, "a": 1}
        handler.begin()
        handler.chunk({"content": TRUE}, usage=counts)
        more = {"total_tokens": 3, "prompt_tokens_details": {"cached_tokens": None, "b": "c"}, "a": "d"}
        handler.chunk({}, "stop", usage=more)
        handler.end()

    upstream.usual = reply
    usage = completion(client(serve()), stream=False).model_dump(exclude_unset=True)["usage"]
    assert usage == {"total_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}}


@pytest.mark.parametrize("stream", [True, False])
def test_tool_calls_pass_as_they_are(serve, client, upstream, stream) -> None:
    upstream.usual = calling(
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"city": '}},
        {"index": 0, "function": {"arguments": '"Oslo"}'}},
        {"index": 1, "id": "call_2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
    )
    tools: Any = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("look_up", "now")
    ]
    (choice,) = completion(client(serve()), stream, tools=tools).choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == ("" if stream else None)
    made = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls]
    assert made == [("call_1", "look_up", '{"city": "Oslo"}'), ("call_2", "now", "{}")]
    assert upstream.bodies[0]["tools"] == tools


def test_custom_tool_calls_are_whole(serve, client, upstream) -> None:
    upstream.usual = calling(
        {"index": 0, "id": "call_1", "type": "custom", "custom": {"name": "run", "input": ""}},
        {"index": 0, "custom": {"input": "print("}},
        {"index": 0, "custom": {"input": "1)"}},
    )
    tools = [{"type": "custom", "custom": {"name": "run"}}]
    made = completion(client(serve()), stream=False, tools=tools).choices[0].message.tool_calls
    assert [(c.id, c.type, c.custom.name, c.custom.input) for c in made] == [("call_1", "custom", "run", "print(1)")]


@pytest.mark.parametrize("stream", [True, False])
def test_a_tool_call_beside_refused_text_is_passed_on_once(serve, client, upstream, stream) -> None:
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    upstream.replies = [calling(call, text=FALSE.strip())]
    upstream.usual = writing(TRUE)
    tools = [{"type": "function", "function": {"name": "f"}}]
    (choice,) = completion(client(serve()), stream, tools=tools).choices
    assert [(call.id, call.function.name) for call in choice.message.tool_calls] == [("a", "f")]
    assert (choice.message.content or "", choice.finish_reason) == ("", "tool_calls")
    assert len(upstream.bodies) == 1


@pytest.mark.parametrize("documents", [[], None])
def test_without_a_source_nothing_is_released(serve, client, documents) -> None:
    answer = completion(client(serve()), stream=False, documents=documents)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("", "content_filter")
    assert {s["verdict"] for s in answer.model_dump()["groundrail"]["sentences"]} == {"no_source"}


def test_choices_that_nobody_asked_for_do_not_pass(serve, client, upstream) -> None:
    def two(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        for index, text in ((1, "Pets are not allowed. "), (0, TRUE)):
            choice = {"index": index, "delta": {"content": text}, "finish_reason": "length" if index else "stop"}
            handler.raw(f"data: {json.dumps({'model': 'scripted', 'choices': [choice]})}\n\n")
        handler.end()

    upstream.usual = two
    (choice,) = completion(client(serve(policy=ONCE)), stream=False).choices
    assert (choice.message.content, choice.finish_reason) == (TRUE, "stop")


def test_reasoning_and_logprobs_of_the_upstream_do_not_pass(serve, upstream, http) -> None:
    thought = {"reasoning_content": "secret thought", "reasoning": "secret thought"}
    upstream.usual = chunks(thought, thought | {"content": TRUE}, logprobs={"content": "secret"})
    received = http.post(serve() + CHAT, json=asking(stream=True)).text
    assert "950" in received
    assert "secret" not in received


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"modalities": ["text", "audio"]}, "modalities.1"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
    ],
)
def test_what_cannot_be_guarded_is_refused(serve, client, upstream, fields, param) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        completion(client(serve()), stream=False, **fields)
    assert (refused.value.param, refused.value.type) == (param, "invalid_request_error")
    assert upstream.bodies == []


def test_fields_that_are_not_ours_reach_the_upstream_unchanged(serve, http, upstream) -> None:
    theirs = {"temperature": 0.25, "seed": 3, "top_k": 4, "nested": {"a": [1, None]}}
    assert http.post(serve() + CHAT, json=asking(**theirs, n=1)).status_code == 200
    sent = upstream.bodies[0]
    assert {name: sent[name] for name in theirs} == theirs
    assert sent["stream"] is True
    assert "documents" not in sent
    assert SOURCE in sent["messages"][0]["content"]


@pytest.mark.parametrize("way", ["forward", "drop"])
def test_documents_are_forwarded_or_dropped_if_asked(serve, client, upstream, way) -> None:
    completion(client(serve(documents=way)), stream=False)
    assert upstream.bodies[0].get("documents") == ([SOURCE] if way == "forward" else None)
    assert len(upstream.bodies[0]["messages"]) == 1


@pytest.mark.parametrize(
    "content",
    [
        "Are pets allowed?",
        f"<source>{SOURCE}</source> Are pets allowed?",
        f"Are pets allowed? <source>{SOURCE} Is smoking allowed?</source>",
        [{"type": "text", "text": "Are pets allowed?"}, {"type": "text", "text": "Is smoking allowed?", "source": True}],
    ],
)
def test_a_bare_answer_is_judged_with_what_the_last_user_message_asks(serve, http, upstream, judge, content) -> None:
    judge.judge = lambda premise, claim: float(claim == "Pets are not allowed.")
    upstream.usual = writing("No.")
    address = serve(policy=ONCE) + CHAT
    earlier = [{"role": "user", "content": "Is smoking allowed?"}, {"role": "assistant", "content": "No."}]
    for asked, reply in ((content, "No."), ("Tell me about pets.", "")):
        body = asking(messages=[*earlier, {"role": "user", "content": asked}])
        assert (http.post(address, json=body).json()["choices"][0]["message"]["content"] or "") == reply
