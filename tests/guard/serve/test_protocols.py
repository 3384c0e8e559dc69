"""All three protocols alike: the same text comes out, whatever the upstream writes, and nothing else does."""

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tenacity import stop_after_attempt
from tests.guard.serve.conftest import SOURCE, Handler, Serve, Upstream, writing

from groundrail import Policy

ONCE = Policy(stop=stop_after_attempt(1))
QUESTION = "How much is the rent?"
TOLD = (
    "The rent is 950 euros. ",
    "The lease ends on 28 February 2026. ",
    "Pets are not allowed.\n\n",
    "Hello! ",
    "The rent is 990 euros. ",
    "Pets are allowed in unit 990.\n",
    "The lease ends on 9 April 1990. ",
)
"""Sentences; those that hold "990" are not supported."""

PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


def asking(path: str, **fields: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": "m", "documents": [SOURCE], **fields}
    if path == "/v1/responses":
        return asked | {"input": QUESTION}
    return (
        asked
        | {"messages": [{"role": "user", "content": QUESTION}]}
        | ({"max_tokens": 99} if "/messages" in path else {})
    )


def events(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream of events."""
    for line in data.splitlines():
        if line.startswith(b"data: {"):
            yield json.loads(line[len(b"data: ") :])


def strings(content: Any) -> Iterator[str]:
    """All texts in what JSON holds, but for random ids."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for item in content:
            yield from strings(item)
    elif isinstance(content, dict):
        for name, value in content.items():
            if name not in ("id", "item_id"):
                yield from strings(value)


def text_of(data: bytes) -> str:
    """The text that a client puts together from a stream of events, in whichever protocol."""
    pieces = []
    for event in events(data):
        pieces += [choice["delta"].get("content") or "" for choice in event.get("choices", ())]
        if event.get("type") == "response.output_text.delta":
            pieces.append(event["delta"])
        if event.get("type") == "content_block_delta":
            pieces.append(event["delta"]["text"])
    return "".join(pieces)


def whole_text_of(answer: dict[str, Any]) -> str:
    """The text of a whole answer, in whichever protocol."""
    if "choices" in answer:
        return str(answer["choices"][0]["message"]["content"])
    if "output" in answer:
        return "".join(part["text"] for item in answer["output"] for part in item["content"])
    return "".join(block["text"] for block in answer["content"])


@pytest.mark.parametrize("path", PATHS)
def test_the_released_text_comes_out_once_and_nothing_else(
    serve: Serve, upstream: Upstream, http: httpx.Client, path: str
) -> None:
    address, chance = serve(policy=ONCE) + path, random.Random(path)
    for _ in range(12):
        said = chance.choices(TOLD, k=chance.randint(1, 6))
        released = "".join(sentence for sentence in said if "990" not in sentence)
        upstream.usual = writing(*said, piece=chance.choice((1, 2, 5, 1000)))
        streamed = http.post(address, json=asking(path, stream=True)).content
        assert text_of(streamed) == released
        whole = http.post(address, json=asking(path)).json()
        assert whole_text_of(whole) == released
        told = [*strings([*events(streamed), whole])]
        assert [text for text in told if "990" in text] == []
        assert any(said[0].strip() in text for text in told) == ("990" not in said[0])


@pytest.mark.parametrize("path", PATHS)
def test_an_abstention_takes_the_answers_place(serve: Serve, upstream: Upstream, http: httpx.Client, path: str) -> None:
    upstream.usual = writing(TOLD[0], TOLD[4], TOLD[1])
    policy = Policy(stop=stop_after_attempt(1), fallback="abstain")
    address = serve(policy=policy) + path
    assert text_of(http.post(address, json=asking(path, stream=True)).content) == TOLD[0] + policy.abstention
    assert whole_text_of(http.post(address, json=asking(path)).json()) == TOLD[0] + policy.abstention


@pytest.mark.parametrize("path", PATHS)
def test_signs_of_life_while_a_sentence_waits(serve: Serve, upstream: Upstream, http: httpx.Client, path: str) -> None:
    def slow(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        time.sleep(0.5)
        handler.chunk({"content": TOLD[0]}, "stop")
        handler.end()

    upstream.usual = slow
    streamed = http.post(serve(heartbeat=0.1) + path, json=asking(path, stream=True)).content
    assert streamed.count(b"\n: waiting") >= 2
    assert text_of(streamed) == TOLD[0]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
def test_the_policy_raise_is_an_error(
    serve: Serve, upstream: Upstream, http: httpx.Client, path: str, stream: bool
) -> None:
    upstream.usual = writing(TOLD[0], TOLD[4])
    response = http.post(serve(policy=Policy(fallback="raise")) + path, json=asking(path, stream=stream))
    assert "not supported by the source" in response.text
    assert "990 euros" not in response.text
    assert response.status_code == (200 if stream else 422)


@pytest.mark.parametrize("path", PATHS)
def test_a_server_that_only_checks_says_so(serve: Serve, http: httpx.Client, path: str) -> None:
    response = http.post(serve(upstream=None) + path, json=asking(path))
    assert response.status_code == 501
    assert "--upstream" in response.json()["error"]["message"]


@pytest.mark.parametrize("path", PATHS)
def test_metrics_count_each_protocol(serve: Serve, http: httpx.Client, path: str) -> None:
    address = serve()
    http.post(address + path, json=asking(path))
    name = {"/v1/chat/completions": "chat", "/v1/responses": "responses", "/v1/messages": "messages"}[path]
    assert f'groundrail_requests_total{{endpoint="{name}",status="200"}} 1.0' in http.get(address + "/metrics").text
