"""`/v1/chat/completions` with the official client, and with bare sockets where bytes are what counts."""

import json
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from tenacity import stop_after_attempt
from tests.guard.serve.conftest import (
    FALSE,
    KEY,
    SOURCE,
    TRUE,
    Client,
    Handler,
    Serve,
    Upstream,
    asking,
    endless,
    writing,
)

from groundrail import Policy
from groundrail.testing import FakeEntailment

ONCE = Policy(stop=stop_after_attempt(1))


def raw_bytes(address: str, body: dict[str, Any], headers: str = "") -> bytes:
    """Everything that the server sends back, as it crosses the socket."""
    where = urlsplit(address)
    data = json.dumps(body).encode()
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=20) as connection:
        connection.sendall(
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
            f"{headers}Content-Length: {len(data)}\r\n\r\n".encode()
            + data
        )
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return received


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("headers", ["", "x-groundrail-details: off\r\n"])
def test_a_false_sentence_never_crosses_the_socket(
    serve: Serve, upstream: Upstream, stream: bool, headers: str
) -> None:
    received = raw_bytes(serve(policy=ONCE), asking(stream=stream), headers)
    assert b"The rent is 950 euros." in received
    assert b"990 euros" not in received
    assert (b"groundrail" in received) == (not headers)


def test_details_in_full_have_what_was_refused_and_only_there(serve: Serve) -> None:
    received = raw_bytes(serve(policy=ONCE), asking(stream=True), "x-groundrail-details: full\r\n")
    body = received.split(b"\r\n\r\n", 1)[1].decode()
    chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks) == TRUE
    told = [c["groundrail"]["sentence"] for c in chunks if "sentence" in c.get("groundrail", {})]
    assert [(s["text"], s["verdict"]) for s in told] == [(TRUE, "supported"), (FALSE, "unsupported")]
    assert told[0]["citations"][0]["text"] == "The rent is 950 euros a month."


@pytest.mark.parametrize(
    ("sentence", "part"),
    [
        ("The rent is due at http://unsaid.example/pay.", "unsaid"),
        ("The rent is due [44].", "[44]"),
        ("🦜 The rent is 950 euros.", "🦜"),
        ("The r3nt is due at Gr33nwich.", "r33nwich"),
        ("The rent is due at Grеenwich.", "enwich"),
        ("The rent <unsaid>is</unsaid> due.", "unsaid"),
        ("The rent is &unsaid; due.", "unsaid"),
        ("The rent is due ⟨unsaid⟩.", "unsaid"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_no_reason_quotes_what_is_withheld(
    serve: Serve, upstream: Upstream, stream: bool, sentence: str, part: str
) -> None:
    upstream.usual = writing(TRUE, sentence)
    address, unsaid = serve(policy=ONCE), json.dumps(part)[1:-1].encode()
    received = raw_bytes(address, asking(stream=stream))
    assert b'"verdict": "unsupported"' in received
    assert unsaid not in received
    assert unsaid in raw_bytes(address, asking(stream=stream), "x-groundrail-details: full\r\n")


def test_the_official_client_streams(serve: Serve, client: Client) -> None:
    chunks = list(
        client(serve(policy=ONCE)).chat.completions.create(
            **asking_with_client(), stream=True, stream_options={"include_usage": True}
        )
    )
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TRUE
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 11
    assert chunks[0].model == "scripted"


def test_the_official_client_gets_a_whole_answer(serve: Serve, client: Client) -> None:
    answer = client(serve(policy=ONCE)).chat.completions.create(**asking_with_client())
    assert answer.choices[0].message.content == TRUE
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == 16
    told = answer.model_dump()["groundrail"]
    assert [s["verdict"] for s in told["sentences"]] == ["supported", "unsupported"]
    assert told["source"] == "documents"
    assert told["supported"] is False


def test_the_clients_stream_helper_reads_it_too(serve: Serve, client: Client) -> None:
    with client(serve(policy=ONCE)).chat.completions.stream(**asking_with_client()) as stream:
        assert stream.get_final_completion().choices[0].message.content == TRUE


async def _async_answer(address: str) -> str:
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key=KEY, max_retries=0) as asking_async:
        stream = await asking_async.chat.completions.create(**asking_with_client(), stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])


def test_the_async_client_streams(serve: Serve) -> None:
    import asyncio

    assert asyncio.run(_async_answer(serve(policy=ONCE))) == TRUE


def asking_with_client(**more: Any) -> dict[str, Any]:
    fields = asking(**more)
    documents = fields.pop("documents")
    return {**fields, "extra_body": {"documents": documents}}


def test_a_refused_sentence_is_asked_for_again(serve: Serve, client: Client, upstream: Upstream) -> None:
    upstream.replies = [writing(TRUE, FALSE), writing("The lease ends on 28 February 2026.", usage=7)]
    answer = client(serve()).chat.completions.create(**asking_with_client())
    assert answer.choices[0].message.content == TRUE + "The lease ends on 28 February 2026."
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 18
    again = upstream.bodies[1]["messages"]
    assert again[-2] == {"role": "assistant", "content": TRUE.strip()}
    assert FALSE.strip() in again[-1]["content"]
    assert "990 euros" not in json.dumps(answer.model_dump())


def test_sentences_leave_as_they_are_judged(serve: Serve, client: Client, upstream: Upstream) -> None:
    go_on = threading.Event()

    def slow(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"content": TRUE + "The le"})
        go_on.wait(20)
        handler.chunk({"content": "ase ends on 28 February 2026."})
        handler.chunk({}, "stop")
        handler.end()

    upstream.usual = slow
    seen = []
    for chunk in client(serve()).chat.completions.create(**asking_with_client(), stream=True):
        if chunk.choices[0].delta.content:
            seen.append(chunk.choices[0].delta.content)
            go_on.set()
    assert seen == [TRUE, "The lease ends on 28 February 2026."]


def test_heartbeats_while_a_sentence_waits(serve: Serve, client: Client, upstream: Upstream) -> None:
    def slow(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        time.sleep(0.5)
        handler.chunk({"content": TRUE}, "stop")
        handler.end()

    upstream.usual = slow
    address = serve(heartbeat=0.1)
    assert raw_bytes(address, asking(stream=True)).count(b": waiting") >= 2
    text = "".join(
        chunk.choices[0].delta.content or ""
        for chunk in client(address).chat.completions.create(**asking_with_client(), stream=True)
    )
    assert text == TRUE


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_is_left_upstream_too(serve: Serve, upstream: Upstream, stream: bool) -> None:
    upstream.usual = endless(TRUE)
    address = serve()
    with httpx.Client(timeout=20) as http:
        if stream:
            with http.stream("POST", f"{address}/v1/chat/completions", json=asking(stream=True)) as response:
                assert b"950" in b"".join(piece for _, piece in zip(range(8), response.iter_bytes(), strict=False))
        else:
            with pytest.raises(httpx.ReadTimeout):
                http.post(f"{address}/v1/chat/completions", json=asking(), timeout=0.5)
        assert upstream.left.wait(10)
        for _ in range(100):
            if "groundrail_requests_open 0.0" in http.get(f"{address}/metrics").text:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the answer is still counted as open")


def test_an_abstention_hangs_up_upstream_and_says_so(serve: Serve, client: Client, upstream: Upstream) -> None:
    upstream.usual = endless(FALSE)
    answer = client(serve(policy=Policy(stop=stop_after_attempt(1), fallback="abstain"))).chat.completions.create(
        **asking_with_client()
    )
    assert answer.choices[0].message.content == Policy().abstention
    assert answer.choices[0].finish_reason == "content_filter"
    assert upstream.left.wait(10)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("policy", "released"),
    [
        (Policy(stop=stop_after_attempt(1), fallback="abstain"), Policy().abstention),
        (Policy(stop=stop_after_attempt(1), keep_refused=False), ""),
    ],
)
def test_an_answer_that_the_guard_ended_or_emptied_does_not_end_as_the_upstreams(
    serve: Serve, client: Client, upstream: Upstream, policy: Policy, released: str, stream: bool
) -> None:
    """Even where the upstream was at its end by then."""
    upstream.usual = writing(FALSE)
    asked = client(serve(policy=policy)).chat.completions
    if stream:
        chunks = list(asked.create(**asking_with_client(), stream=True))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == released
        assert chunks[-1].choices[0].finish_reason == "content_filter"
    else:
        choice = asked.create(**asking_with_client()).choices[0]
        assert (choice.message.content, choice.finish_reason) == (released, "content_filter")


def test_no_tool_is_called_once_the_guard_has_ended_the_answer(
    serve: Serve, client: Client, upstream: Upstream
) -> None:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"content": FALSE.strip()})
        handler.chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]})
        handler.chunk({}, "tool_calls")
        handler.end()

    upstream.usual = reply
    policy = Policy(stop=stop_after_attempt(1), fallback="abstain")
    choice = client(serve(policy=policy)).chat.completions.create(**asking_with_client()).choices[0]
    assert choice.message.content == policy.abstention
    assert choice.message.tool_calls is None
    assert choice.finish_reason == "content_filter"


def test_an_upstream_that_does_not_say_why_it_ended_has_stopped(
    serve: Serve, client: Client, upstream: Upstream
) -> None:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"content": TRUE})
        handler.end()

    upstream.usual = reply
    choice = client(serve()).chat.completions.create(**asking_with_client()).choices[0]
    assert (choice.message.content, choice.finish_reason) == (TRUE, "stop")


def test_counts_of_calls_that_do_not_look_alike_are_added_where_they_do(
    serve: Serve, client: Client, upstream: Upstream
) -> None:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk(
            {"content": TRUE}, usage={"total_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}, "a": 1}
        )
        handler.chunk(
            {}, "stop", usage={"total_tokens": 3, "prompt_tokens_details": {"cached_tokens": None, "b": "c"}, "a": "d"}
        )
        handler.end()

    upstream.usual = reply
    usage = client(serve()).chat.completions.create(**asking_with_client()).model_dump(exclude_unset=True)["usage"]
    assert usage == {"total_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}}


def test_tool_calls_pass_as_they_are(serve: Serve, client: Client, upstream: Upstream) -> None:
    calls = [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"city": '}},
        {"index": 0, "function": {"arguments": '"Oslo"}'}},
        {"index": 1, "id": "call_2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
    ]

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        for call in calls:
            handler.chunk({"tool_calls": [call]})
        handler.chunk({}, "tool_calls")
        handler.end()

    upstream.usual = reply
    address = serve()
    tools: Any = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in ("look_up", "now")
    ]
    whole = client(address).chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": "Weather?"}], tools=tools
    )
    assert whole.choices[0].finish_reason == "tool_calls"
    assert whole.choices[0].message.content is None
    made: Any = whole.choices[0].message.tool_calls or []
    assert [(c.id, c.function.name, c.function.arguments) for c in made] == [
        ("call_1", "look_up", '{"city": "Oslo"}'),
        ("call_2", "now", "{}"),
    ]
    assert upstream.bodies[0]["tools"] == tools
    with client(address).chat.completions.stream(
        model="scripted", messages=[{"role": "user", "content": "Weather?"}], tools=tools
    ) as stream:
        final = stream.get_final_completion().choices[0]
    assert final.finish_reason == "tool_calls"
    assert [c.function.arguments for c in final.message.tool_calls or []] == ['{"city": "Oslo"}', "{}"]


def test_custom_tool_calls_are_whole(serve: Serve, client: Client, upstream: Upstream) -> None:
    calls = [
        {"index": 0, "id": "call_1", "type": "custom", "custom": {"name": "run", "input": ""}},
        {"index": 0, "custom": {"input": "print("}},
        {"index": 0, "custom": {"input": "1)"}},
    ]

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        for call in calls:
            handler.chunk({"tool_calls": [call]})
        handler.chunk({}, "tool_calls")
        handler.end()

    upstream.usual = reply
    asked = asking_with_client(tools=[{"type": "custom", "custom": {"name": "run"}}])
    made: Any = client(serve()).chat.completions.create(**asked).choices[0].message.tool_calls
    assert [(c.id, c.type, c.custom.name, c.custom.input) for c in made] == [("call_1", "custom", "run", "print(1)")]


@pytest.mark.parametrize("stream", [True, False])
def test_a_tool_call_beside_refused_text_is_passed_on_once(
    serve: Serve, client: Client, upstream: Upstream, stream: bool
) -> None:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"content": FALSE.strip()})
        call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        handler.chunk({"tool_calls": [call]})
        handler.chunk({}, "tool_calls")
        handler.end()

    upstream.replies = [reply]
    upstream.usual = writing(TRUE)
    asked, offering = (
        client(serve()).chat.completions,
        asking_with_client(tools=[{"type": "function", "function": {"name": "f"}}]),
    )
    if stream:
        chunks = list(asked.create(**offering, stream=True))
        made: Any = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
        text, reason = "".join(c.choices[0].delta.content or "" for c in chunks), chunks[-1].choices[0].finish_reason
    else:
        choice = asked.create(**offering).choices[0]
        made, text, reason = choice.message.tool_calls, choice.message.content or "", choice.finish_reason
    assert [(call.id, call.function.name) for call in made] == [("a", "f")]
    assert (text, reason) == ("", "tool_calls")
    assert len(upstream.bodies) == 1


def test_without_a_source_nothing_is_released(serve: Serve, client: Client, upstream: Upstream) -> None:
    address = serve()
    without: list[dict[str, Any]] = [{}, {"documents": []}, {"documents": None}]
    for fields in without:
        answer = client(address).chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "How much?"}], extra_body=fields
        )
        assert answer.choices[0].message.content == ""
        assert answer.choices[0].finish_reason == "content_filter"
        assert {s["verdict"] for s in answer.model_dump()["groundrail"]["sentences"]} == {"no_source"}


def test_an_answer_cut_off_by_the_upstream_keeps_its_whole_sentences(
    serve: Serve, client: Client, upstream: Upstream
) -> None:
    upstream.usual = writing(TRUE, "The rent is 9", finish="length")
    answer = client(serve()).chat.completions.create(**asking_with_client())
    assert answer.choices[0].message.content == TRUE
    assert answer.choices[0].finish_reason == "length"


def test_choices_that_nobody_asked_for_do_not_pass(serve: Serve, client: Client, upstream: Upstream) -> None:
    def two(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        for index, text in ((1, "Pets are not allowed. "), (0, TRUE)):
            choice = {"index": index, "delta": {"content": text}, "finish_reason": "length" if index else "stop"}
            handler.raw(f"data: {json.dumps({'model': 'scripted', 'choices': [choice]})}\n\n")
        handler.end()

    upstream.usual = two
    answer = client(serve(policy=ONCE)).chat.completions.create(**asking_with_client())
    (choice,) = answer.choices
    assert (choice.message.content, choice.finish_reason) == (TRUE, "stop")


def test_reasoning_and_logprobs_of_the_upstream_do_not_pass(serve: Serve, upstream: Upstream) -> None:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"reasoning_content": "secret thought"})
        handler.chunk({"reasoning": "secret thought", "content": TRUE}, "stop", logprobs={"content": "secret"})
        handler.end()

    upstream.usual = reply
    received = raw_bytes(serve(), asking(stream=True))
    assert b"950" in received
    assert b"secret" not in received


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"modalities": ["text", "audio"]}, "modalities.1"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
    ],
)
def test_what_cannot_be_guarded_is_refused(
    serve: Serve, client: Client, upstream: Upstream, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client(serve()).chat.completions.create(**asking_with_client(), **fields)
    assert refused.value.param == param
    assert refused.value.type == "invalid_request_error"
    assert upstream.bodies == []


def test_fields_that_are_not_ours_reach_the_upstream_unchanged(
    serve: Serve, client: Client, upstream: Upstream
) -> None:
    client(serve()).chat.completions.create(
        **{**asking_with_client(), "extra_body": {"documents": [SOURCE], "top_k": 4, "nested": {"a": [1, None]}}},
        temperature=0.25,
        seed=3,
        n=1,
    )
    sent = upstream.bodies[0]
    assert (sent["temperature"], sent["seed"], sent["top_k"], sent["nested"]) == (0.25, 3, 4, {"a": [1, None]})
    assert sent["stream"] is True
    assert "documents" not in sent
    assert SOURCE in sent["messages"][0]["content"]


@pytest.mark.parametrize("way", ["forward", "drop"])
def test_documents_are_forwarded_or_dropped_if_asked(
    serve: Serve, client: Client, upstream: Upstream, way: str
) -> None:
    client(serve(documents=way)).chat.completions.create(**asking_with_client())
    assert upstream.bodies[0].get("documents") == ([SOURCE] if way == "forward" else None)
    assert len(upstream.bodies[0]["messages"]) == 1


def test_models_are_the_upstreams(serve: Serve, client: Client) -> None:
    assert [model.id for model in client(serve()).models.list()] == ["scripted"]


@pytest.mark.parametrize(
    "content",
    [
        "Are pets allowed?",
        f"<source>{SOURCE}</source> Are pets allowed?",
        f"Are pets allowed? <source>{SOURCE} Is smoking allowed?</source>",
        [
            {"type": "text", "text": "Are pets allowed?"},
            {"type": "text", "text": "Is smoking allowed?", "source": True},
        ],
    ],
)
def test_a_bare_answer_is_judged_with_what_the_last_user_message_asks(
    serve: Serve, http: httpx.Client, upstream: Upstream, judge: FakeEntailment, content: Any
) -> None:
    judge.judge = lambda premise, claim: float(claim == "Pets are not allowed.")
    upstream.usual = writing("No.")
    address = serve(policy=ONCE) + "/v1/chat/completions"
    earlier = [{"role": "user", "content": "Is smoking allowed?"}, {"role": "assistant", "content": "No."}]
    for asked, reply in ((content, "No."), ("Tell me about pets.", "")):
        body = asking(messages=[*earlier, {"role": "user", "content": asked}])
        assert (http.post(address, json=body).json()["choices"][0]["message"]["content"] or "") == reply
