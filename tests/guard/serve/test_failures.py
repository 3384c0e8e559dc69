"""Bad requests and bad upstreams: the protocol's error object, a status that clients retry on rightly, nothing unchecked."""

import json
import re
import threading
import time
from typing import Any, Protocol

import httpx
import openai
import pytest
from tests.guard.serve.conftest import (
    CHAT,
    ENDING_EARLY,
    FALSE,
    HALF,
    KEY,
    SOURCE,
    TRUE,
    Broken,
    Handler,
    asking,
    chunks,
    completion,
    endless,
    for_client,
    going_wrong,
    sending,
    sent_by_hand,
    writing,
)

from groundrail import Policy
from groundrail.scoring.base import Prepared, Score, Scorer
from groundrail.types import Source


class Answer(Protocol):
    """A response of whichever HTTP client."""

    def json(self) -> Any: ...


def error_of(response: Answer) -> dict[str, Any]:
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return dict(error)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b"\xff{}", "not JSON"),
        (b'{"model": "m", "messages": NaN}', "not JSON"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 1e999}', "not JSON"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stop": "\\ud800"}', "not JSON"),
        (b'{"model": "m", "messages": [{"role": "user", "content": [{"text": "\\ud800"}]}]}', "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"messages": [{"role": "user", "content": "Hi"}]}', "model"),
        (b'{"model": "m"}', "messages"),
        (b'{"model": "m", "messages": []}', "messages"),
        (b'{"model": "m", "messages": [{"content": "Hi"}]}', "messages.0.role"),
        (b'{"model": "m", "messages": [{"role": "user", "content": 3}]}', "messages.0.content"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "documents": [{"id": "a"}]}', "document 1"),
        (
            b'{"model": "m", "messages": [{"role": "user"}], "documents": [{"id": 1, "text": ""}, {"id": 1, "text": ""}]}',
            "share the id",
        ),
    ],
)
def test_a_malformed_request_is_a_400(serve, upstream, http, content, said) -> None:
    response = http.post(serve() + CHAT, content=content, headers={"content-type": "application/json"})
    assert response.status_code == 400
    error = error_of(response)
    assert said in error["message"]
    assert error["type"] == "invalid_request_error"
    assert upstream.bodies == []


def test_bodies_of_another_kind_and_over_the_limit_are_refused(serve, upstream, http) -> None:
    address = serve(max_body=2000) + CHAT
    assert http.post(address, json=asking()).status_code == 200
    other = http.post(address, content=json.dumps(asking()), headers={"content-type": "text/plain"})
    large = http.post(address, json=asking(user="x" * 2000))
    assert (other.status_code, large.status_code) == (415, 413)
    assert (error_of(other)["code"], error_of(large)["code"]) == (None, "request_too_large")
    assert "xxx" not in str(upstream.bodies)


def test_unknown_addresses_and_methods_are_errors_of_the_protocol(serve, http) -> None:
    address = serve()
    assert error_of(http.post(address + "/v1/embeddings", json={}))["type"] == "not_found_error"
    assert http.get(address + CHAT).status_code == 405
    error_of(http.get(address + CHAT))


def breaking_off(handler: Handler, body: dict[str, Any]) -> None:
    handler.begin()
    handler.chunk({"content": TRUE + FALSE[:15]})
    time.sleep(0.1)
    handler.connection.close()
    handler.close_connection = True


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (breaking_off, TRUE),
        (ENDING_EARLY, TRUE),
        (going_wrong(HALF), TRUE),
        (going_wrong(HALF, "{nonsense"), TRUE),
        (going_wrong(HALF, '{"choices": ["The rent is 990 euros."]}'), TRUE),
        (going_wrong(HALF, '{"error": {"message": "out of memory"}}'), TRUE),
        (chunks({"content": HALF, "tool_calls": "The rent is 990 euros."}), ""),
    ],
    ids=["breaks off", "ends early", "stops", "nonsense", "list", "error", "no call"],
)
def test_an_upstream_that_fails_while_writing(serve, upstream, client, reply, kept) -> None:
    upstream.usual = reply
    asked, released = client(serve(timeout=0.5)), list[str]()
    with pytest.raises(openai.APIError, match="upstream"):
        released.extend(c.choices[0].delta.content or "" for c in asked.chat.completions.create(**for_client(stream=True)))
    assert "".join(released) == kept
    with pytest.raises(openai.InternalServerError) as failed:
        completion(asked, stream=False)
    assert failed.value.status_code in (502, 504)
    assert "The rent" not in str(failed.value)


def silent(handler: Handler, body: dict[str, Any]) -> None:
    time.sleep(1.5)
    handler.close_connection = True


@pytest.mark.parametrize(
    ("reply", "status", "tries"),
    [
        (sending(500, '{"error": {"message": "The rent is 990 euros."}}'), 502, 3),
        (sending(503, '{"error": {"message": "The rent is 990 euros."}}', Retry_After="0"), 503, 3),
        (sending(429, '{"error": {"message": "The rent is 990 euros."}}', Retry_After="0"), 429, 3),
        (sending(503, Retry_After="990 euros"), 503, 3),
        (sending(503, Retry_After="\u0663".encode().decode("latin-1")), 503, 3),
        (sending(200, "data: ", kind="text/the rent is 990 euros"), 502, 1),
        (sending(401, '{"error": {"message": "wrong key"}}'), 401, 1),
        (sending(404, '{"error": {"message": "no such model"}}'), 404, 1),
        (sending(400, "<html>"), 400, 1),
        (sending(302, "", Location="http://127.0.0.1:9/elsewhere"), 502, 1),
        (sending(200, "<html>hello</html>", kind="text/html"), 502, 1),
        (sending(200, '{"choices": [{"message": {"content": "The rent is 990 euros."}}]}'), 502, 1),
        (silent, 504, 3),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_an_upstream_that_does_not_begin(serve, upstream, client, monkeypatch, reply, status, tries, stream) -> None:
    """The official client repeats the request where that makes sense, and not where it does not."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    upstream.usual = reply
    trying = client(serve(timeout=0.3), max_retries=2)
    with pytest.raises(openai.APIStatusError) as failed:
        trying.chat.completions.create(**for_client(stream=stream))
    assert failed.value.status_code == status
    assert len(upstream.bodies) == tries
    assert "990 euros" not in failed.value.response.text + str(failed.value.response.headers)
    error_of(failed.value.response)


def test_an_upstream_that_is_down_is_a_502(serve, http) -> None:
    response = http.post(serve(upstream="http://127.0.0.1:9/v1") + CHAT, json=asking(stream=True))
    assert response.status_code == 502
    assert error_of(response)["code"] == "upstream_unreachable"


LONG = {"tool_calls": [{"index": 0, "function": {"arguments": "word " * 10}}]}


@pytest.mark.parametrize("reply", [writing("word " * 1000), chunks(*[LONG] * 100, finish="tool_calls")])
def test_an_answer_or_a_call_without_end_is_ended(serve, upstream, http, reply) -> None:
    upstream.usual = reply
    response = http.post(serve(max_answer=500) + CHAT, json=asking())
    assert (response.status_code, error_of(response)["code"]) == (502, "answer_too_long")


def test_an_answer_over_its_time_is_ended(serve, upstream, http) -> None:
    upstream.usual = endless(TRUE)
    address = serve(request_timeout=0.5)
    assert http.post(address + CHAT, json=asking()).status_code == 504
    streamed = http.post(address + CHAT, json=asking(stream=True)).text
    assert "request_timeout" in streamed
    assert "[DONE]" not in streamed
    assert upstream.left.wait(10)


def test_a_late_beginning_leaves_less_time_for_the_rest(serve, upstream, http) -> None:
    def late(handler: Handler, body: dict[str, Any]) -> None:
        time.sleep(1.5)
        handler.begin()
        begun.append(time.monotonic())
        while True:
            handler.chunk({"content": TRUE})
            time.sleep(0.02)

    begun: list[float] = []
    upstream.usual = late
    streamed = http.post(serve(request_timeout=2.5) + CHAT, json=asking(stream=True)).text
    assert "request_timeout" in streamed
    assert time.monotonic() - begun[0] < 2.4  # without what the beginning took it would be 2.5 more


class Slow(Scorer):
    """A scorer that takes its time."""

    def read(self, source: Source) -> Prepared[Source]:
        time.sleep(1)
        return Prepared(lambda claims, source: [Score(1.0) for _ in claims], source)


WRITTEN = {"texts": [TRUE], "input_type": "response", "additional_provider_specific_params": {"documents": [SOURCE]}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/check", {"answer": TRUE, "source": SOURCE}),
        ("/beta/litellm_basic_guardrail_api", WRITTEN),
        (CHAT, asking()),
        (CHAT, asking(stream=True)),
    ],
)
def test_an_address_over_its_time_says_so(serve, upstream, http, path, body) -> None:
    upstream.usual = silent
    response = http.post(serve(scorer=Slow(), request_timeout=0.2) + path, json=body)
    assert response.status_code == 504
    assert error_of(response)["code"] == "request_timeout"


def test_a_client_that_does_not_read_is_left(serve, upstream, http) -> None:
    upstream.usual = writing("Ce mot est été. " * 50_000, piece=10_000)  # more than sockets hold
    address = serve(policy=Policy(on_no_source="open"), max_concurrency=1, request_timeout=2, heartbeat=0.5)
    with sent_by_hand(address, asking(stream=True, documents=[]), buffer=2048) as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"
        upstream.usual = writing(TRUE)
        for _ in range(100):
            time.sleep(0.1)
            if http.post(address + CHAT, json=asking()).status_code == 200:
                break
        else:
            pytest.fail("its place is never free again")
        assert "groundrail_requests_open 0.0" in http.get(f"{address}/metrics").text


def test_too_many_at_once_get_429_and_come_in_later(serve, upstream, client, http) -> None:
    go_on = threading.Event()

    def slow(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        go_on.wait(20)
        handler.chunk({"content": TRUE}, "stop")
        handler.end()

    upstream.usual = slow
    address = serve(max_concurrency=1)
    with http.stream("POST", address + CHAT, json=asking(stream=True)) as first:
        assert first.status_code == 200
        with httpx.Client() as other:
            refused = other.post(address + CHAT, json=asking())
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1"
            assert error_of(refused)["type"] == "rate_limit_error"
            assert other.get(address + "/healthz").status_code == 200
        go_on.set()
        answer = completion(client(address, max_retries=5), stream=False)
        assert b"[DONE]" in first.read()
    assert answer.choices[0].message.content == TRUE


def test_a_judge_that_fails_releases_nothing(serve, upstream, http) -> None:
    response = http.post(serve(scorer=Broken()) + CHAT, json=asking())
    assert response.status_code == 200
    assert response.json()["choices"][0]["message"]["content"] == ""
    assert {s["verdict"] for s in response.json()["groundrail"]["sentences"]} == {"error"}
    assert "950 euros" not in response.text


def test_keys_go_where_they_belong(serve, upstream, http) -> None:
    address = serve(api_key="door", upstream_api_key="house")
    given: list[Any] = [{}, {"authorization": "Bearer wrong"}, {"x-api-key": "wrong"}, {b"x-api-key": b"d\xf6r"}]
    for headers in given:
        refused = http.post(address + CHAT, json=asking(), headers=headers)
        assert refused.status_code == 401
        assert error_of(refused)["type"] == "authentication_error"
        assert "door" not in refused.text
    assert http.get(address + "/metrics").status_code == 401
    assert http.get(address + "/healthz").status_code == 200
    assert upstream.headers == []

    def sent(headers: Any) -> str | None:
        assert http.post(address + CHAT, json=asking(), headers=headers).status_code == 200
        received = {name.lower(): value for name, value in upstream.headers[-1].items()}
        assert "door" not in " ".join(received.values())
        assert "x-api-key" not in received
        return received.get("authorization")

    assert sent({"authorization": "Bearer door"}) == "Bearer house"
    assert sent({"x-api-key": "door"}) == "Bearer house"
    assert sent({"x-api-key": "door", "authorization": f"Bearer {KEY}"}) == f"Bearer {KEY}"
    odd = {b"x-api-key": b"door", b"authorization": "Bearer clé".encode()}  # which goes byte for byte
    assert sent(odd) == odd[b"authorization"].decode("latin-1")


LONG_ONE = {"code": "context_length_exceeded", "param": "messages.0"}


@pytest.mark.parametrize(
    ("status", "error", "code", "said"),
    [
        (401, {"code": KEY}, "upstream_refused", "it does not accept the key"),
        (404, {"code": "model_not_found", "param": "model"}, "model_not_found", "it has no such model; look at model"),
        (400, LONG_ONE, LONG_ONE["code"], "the conversation is too long for the model; look at messages"),
        (400, {"code": 400, "param": None}, "upstream_refused", "it cannot use the request"),
        (400, {"code": ["990 euros"], "param": "990 euros"}, "upstream_refused", "it cannot use the request"),
        (422, "The rent is 990 euros.", "upstream_refused", "it cannot use the request"),
    ],
)
def test_a_refusal_of_the_upstream_is_told_in_words_of_ours(serve, upstream, http, status, error, code, said) -> None:
    told = {"message": f"The rent is 990 euros, says {KEY}.", **error} if isinstance(error, dict) else error
    upstream.usual = sending(status, json.dumps({"error": told}))
    refused = http.post(serve(upstream_api_key=KEY) + CHAT, json=asking())
    found = error_of(refused)
    assert found["message"] == f"the upstream refused the request ({status}): {said}"
    assert (refused.status_code, found["code"]) == (status, code)
    assert found["param"] == (said.partition("; look at ")[2] or None)
    assert not re.search(f"990|{KEY}", refused.text)


def test_the_upstreams_cookies_do_not_travel_to_other_clients(serve, upstream, http) -> None:
    upstream.replies = [sending(500, "{}", Set_Cookie="session=first")]
    address = serve()
    http.post(address + CHAT, json=asking())
    http.post(address + CHAT, json=asking())
    assert len(upstream.headers) > 1
    assert not any("cookie" in map(str.lower, headers) for headers in upstream.headers)
