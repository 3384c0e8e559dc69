"""Who may come in, from where, and what a half-sent request can hold up."""

import json
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.growth import grows_with
from tests.guard.parts import doubling
from tests.guard.serve.conftest import CHAT, SOURCE, TRUE, asking, sent_by_hand, writing

from groundrail.serve.requests import Message
from groundrail.serve.sources import find_source


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "[::1", "127.0.0.1.evil.example:8080"])
def test_other_host_names_are_refused(serve, upstream, http, host) -> None:
    address, named = serve(), {"host": host}
    posted = [http.post(address + path, json=asking(), headers=named) for path in (CHAT, "/v1/check", "/")]
    for response in (*posted, http.get(address, headers=named), http.get(address + "/metrics", headers=named)):
        assert (response.status_code, response.json()["error"]["code"]) == (403, "unknown_host")
    assert http.get(address + "/healthz", headers=named).status_code == 200  # probes may use any name
    assert upstream.bodies == []


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        *((host, []) for host in ("localhost", "LOCALHOST:1", "127.0.0.1:8080", "[::1]:8080")),
        ("gate.example:8080", ["other.example", "gate.example"]),
        ("any.example", ["*"]),
    ],
)
def test_loopback_and_named_hosts_are_answered(serve, http, host, allowed) -> None:
    address = serve(allowed_hosts=allowed)
    assert http.post(address + CHAT, json=asking(), headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "", "http://[::1"])
def test_pages_of_other_sites_are_refused(serve, upstream, http, origin) -> None:
    address = serve()
    response = http.post(address + CHAT, json=asking(), headers={"origin": origin})
    assert (response.status_code, response.json()["error"]["code"]) == (403, "foreign_origin")
    assert upstream.bodies == []
    assert http.post(address + CHAT, json=asking(), headers={"origin": address}).status_code == 200


@pytest.mark.parametrize("key", ["clé", "ключ"])
def test_keys_are_compared_byte_for_byte(serve, upstream, http, key) -> None:
    address = serve(api_key=key, upstream_api_key=key)
    given: list[Any] = [{b"x-api-key": key.encode()}, {b"authorization": b"Bearer " + key.encode()}]
    for headers in given:
        assert http.post(address + CHAT, json=asking(), headers=headers).status_code == 200
        assert upstream.headers[-1]["authorization"].encode("latin-1") == b"Bearer " + key.encode()
    wrong: list[Any] = [{b"x-api-key": b"cl\xe9"}, {b"authorization": b"Bearer cl\xe9"}]
    for headers in wrong:
        assert http.post(address + CHAT, json=asking(), headers=headers).status_code == 401


def test_half_sent_requests_take_no_answers_place(serve, http) -> None:
    address = serve(max_concurrency=1, max_bodies=20)
    waiting = [sent_by_hand(address, None) for _ in range(16)]
    try:
        assert http.post(address + CHAT, json=asking()).status_code == 200
    finally:
        for connection in waiting:
            connection.close()


def test_requests_that_are_being_received_have_a_number_and_a_time(serve, http) -> None:
    address = serve(max_bodies=2, body_timeout=2)
    with sent_by_hand(address, None), sent_by_hand(address, None) as last:
        while (refused := http.post(address + CHAT, json=asking())).status_code == 200:
            time.sleep(0.01)  # until both have come
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
        assert last.recv(65536).startswith(b"HTTP/1.1 408")
    assert http.post(address + CHAT, json=asking()).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
        pytest.param("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /", marks=pytest.mark.slow),
    ],
)
def test_a_head_that_is_half_sent_has_a_time(serve, sent) -> None:
    where = urlsplit(serve(body_timeout=0.5))
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=20) as connection:
        connection.sendall(sent.encode())
        while connection.recv(65536):
            pass  # until it is closed


def test_a_place_is_free_once_the_answer_is_told(serve, upstream, http) -> None:
    upstream.usual = writing(TRUE)
    address = serve(max_concurrency=1)
    for stream in (True, False) * 20:
        with http.stream("POST", address + CHAT, json=asking(stream=stream)) as answer:
            assert answer.status_code == 200
            for line in answer.iter_lines():
                if "[DONE]" in line:
                    break


def test_a_client_that_hangs_up_frees_its_place_and_its_questions_to_the_judge(serve, upstream, http, judge) -> None:
    go_on = threading.Event()
    upstream.usual = writing(json.dumps({f"rent {n}": "950 euros" for n in range(200)}), piece=1_000)
    address = serve(max_concurrency=2)
    answer = judge.judge

    def slow(premise: str, claim: str) -> float:
        go_on.wait(20)
        return answer(premise, claim)

    judge.judge = slow
    left = [sent_by_hand(address, asking(response_format={"type": "json_object"})) for _ in range(2)]
    while "groundrail_requests_open 2.0" not in http.get(f"{address}/metrics").text:
        time.sleep(0.01)
    for connection in left:
        connection.close()
    while "groundrail_requests_open 0.0" not in http.get(f"{address}/metrics").text:
        time.sleep(0.01)
    go_on.set()
    upstream.usual = writing(TRUE)
    for _ in range(3):
        assert http.post(address + CHAT, json=asking()).json()["choices"][0]["message"]["content"] == TRUE


def test_schemas_that_take_too_long_take_no_place(serve, upstream, http) -> None:
    upstream.usual = writing(TRUE)
    address = serve(max_concurrency=1)
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": doubling(40, {"type": "object"})}}
    left = [sent_by_hand(address, asking(response_format=wanted)) for _ in range(8)]
    for connection in left:
        connection.close()
    assert http.post(address + CHAT, json=asking()).status_code == 200
    refused = http.post(address + CHAT, json=asking(response_format=wanted))
    assert refused.status_code == 400
    assert "takes over 1,000,000 steps" in refused.json()["error"]["message"]
    assert len(upstream.bodies) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, asking()),
        ("/v1/check", {"answer": TRUE, "source": SOURCE}),
        ("/beta/litellm_basic_guardrail_api", {"input_type": "request", "texts": []}),
    ],
)
def test_finding_the_source_is_inside_the_answers_time_and_beside_the_event_loop(
    serve, http, monkeypatch, path, body
) -> None:
    go_on, threads = threading.Event(), set()

    def slow(*arguments: Any, **named: Any) -> None:
        threads.add(threading.current_thread())
        go_on.wait(20)

    for module in ("check.named", "endpoint.find_source", "check.find_source"):
        monkeypatch.setattr(f"groundrail.serve.{module}", slow)
    address = serve(request_timeout=0.3)
    try:
        response = http.post(address + path, json=body)
        assert response.status_code == 504
        assert response.json()["error"]["code"] == "request_timeout"
        assert http.get(address + "/healthz").status_code == 200
        assert len(threads) == 1
    finally:
        go_on.set()


def test_markers_are_found_in_one_pass() -> None:
    def find(times: int) -> None:
        asked = [Message(role="user", content="<source>a</source>" * times)]
        assert len(find_source(asked, None, ("<source>", "</source>")).documents) == times

    assert grows_with(500, find)
