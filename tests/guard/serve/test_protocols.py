"""All three protocols alike: the same text comes out, whatever the upstream writes, and nothing else does."""

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tenacity import stop_after_attempt
from tests.guard.serve.conftest import FALSE, MORE, ONCE, SOURCE, TRUE, Handler, chunks, writing

from groundrail import Policy

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
    asked: dict[str, Any] = {"model": "m", "documents": [SOURCE], "messages": [{"role": "user", "content": QUESTION}]}
    if path == "/v1/responses":
        asked["input"] = asked.pop("messages")
    return asked | ({"max_tokens": 99} if path == "/v1/messages" else {}) | fields


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


def released_of(said: list[str]) -> str:
    """The true sentences; a line that a false one ends ends before the next one."""
    shown = gap = ""
    for sentence in said:
        if "990" not in sentence:
            shown, gap = f"{shown}{gap}{sentence}", ""
        elif shown.endswith(" ") and sentence.endswith("\n"):
            gap = "\n"
    return shown


@pytest.mark.parametrize("path", PATHS)
def test_the_released_text_comes_out_once_and_nothing_else(serve, upstream, http, path) -> None:
    address, chance = serve(policy=ONCE) + path, random.Random(path)
    for _ in range(12):
        said = chance.choices(TOLD, k=chance.randint(1, 6))
        released = released_of(said)
        upstream.usual = writing(*said, piece=chance.choice((1, 2, 5, 1000)))
        streamed = http.post(address, json=asking(path, stream=True)).content
        assert text_of(streamed) == released
        whole = http.post(address, json=asking(path)).json()
        assert whole_text_of(whole) == released
        told = [*strings([*events(streamed), whole])]
        assert [text for text in told if "990" in text] == []
        assert any(said[0].strip() in text for text in told) == ("990" not in said[0])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("level", ["on", "off", "full"])
def test_a_false_sentence_never_crosses_the_socket(serve, http, path, stream, level) -> None:
    address, asked = serve(policy=ONCE) + path, asking(path, stream=stream)
    received = http.post(address, json=asked, headers={"x-groundrail-details": level})
    assert "The rent is 950 euros." in received.text
    assert ("990 euros" in received.text + str(received.headers)) == (level == "full")
    assert ("groundrail" in received.text) == (level != "off")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
def test_a_refused_sentence_is_asked_for_again(serve, upstream, http, path, stream) -> None:
    upstream.replies = [writing(TRUE, FALSE), writing(MORE, usage=7)]
    answer = http.post(serve() + path, json=asking(path, stream=stream))
    assert (text_of(answer.content) if stream else whole_text_of(answer.json())) == TRUE + MORE
    *_, partial, again = upstream.bodies[1]["messages"]
    assert partial == {"role": "assistant", "content": TRUE.strip()}
    assert FALSE.strip() in again["content"]
    if not stream:
        usage = answer.json()["usage"]
        assert usage.get("completion_tokens", usage.get("output_tokens")) == 18


@pytest.mark.parametrize("path", PATHS)
def test_grounding_sources_and_queries_of_litellm_count(serve, upstream, http, path) -> None:
    content = [{"type": "grounding_source", "text": SOURCE}, {"type": "query", "text": "Rent?"}]
    turns = {"input" if path == "/v1/responses" else "messages": [{"role": "user", "content": content}]}
    body = {name: value for name, value in asking(path, **turns).items() if name != "documents"}
    assert whole_text_of(http.post(serve(policy=ONCE) + path, json=body).json()) == TRUE
    assert [part["type"] for part in upstream.bodies[0]["messages"][0]["content"]] == ["text", "text"]


@pytest.mark.parametrize("path", PATHS)
def test_an_abstention_takes_the_answers_place(serve, upstream, http, path) -> None:
    upstream.usual = writing(TOLD[0], TOLD[4], TOLD[1])
    policy = Policy(stop=stop_after_attempt(1), fallback="abstain")
    address = serve(policy=policy) + path
    assert text_of(http.post(address, json=asking(path, stream=True)).content) == TOLD[0] + policy.abstention
    assert whole_text_of(http.post(address, json=asking(path)).json()) == TOLD[0] + policy.abstention


@pytest.mark.parametrize("path", PATHS)
def test_signs_of_life_while_a_sentence_waits(serve, upstream, http, path) -> None:
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
def test_the_policy_raise_is_an_error(serve, upstream, http, path, stream) -> None:
    upstream.usual = writing(TOLD[0], TOLD[4])
    response = http.post(serve(policy=Policy(fallback="raise")) + path, json=asking(path, stream=stream))
    assert "not supported by the source" in response.text
    assert "990 euros" not in response.text
    assert response.status_code == (200 if stream else 422)


@pytest.mark.parametrize("path", PATHS)
def test_a_server_that_only_checks_says_so(serve, http, path) -> None:
    response = http.post(serve(upstream=None) + path, json=asking(path))
    assert response.status_code == 501
    assert "--upstream" in response.json()["error"]["message"]


@pytest.mark.parametrize("path", PATHS)
def test_metrics_count_each_protocol(serve, http, path) -> None:
    address = serve()
    http.post(address + path, json=asking(path))
    name = {"/v1/chat/completions": "chat", "/v1/responses": "responses", "/v1/messages": "messages"}[path]
    assert f'groundrail_requests_total{{endpoint="{name}",status="200"}} 1.0' in http.get(address + "/metrics").text


EVIL = "The rent is 990 euros."


def odd(finish: str = "stop", **chunk: Any) -> Any:
    said = {"role": EVIL, "content": TOLD[0], "name": EVIL, "audio": {"transcript": EVIL}}
    return chunks(said, finish=finish, **chunk)


COUNTS: dict[str, Any] = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("chunk", "counts"),
    [
        ({"model": EVIL, "system_fingerprint": EVIL, "id": EVIL, "object": EVIL, "service_tier": EVIL}, 0),
        ({"model": [EVIL]}, 0),
        ({"finish": EVIL}, 0),
        ({"usage": EVIL}, 0),
        ({"usage": [EVIL]}, 0),
        ({"usage": {**COUNTS, EVIL: 1, "cost": EVIL, "prompt_tokens_details": {EVIL: 3, "cached_tokens": EVIL}}}, 7),
        ({"usage": {**COUNTS, "prompt_tokens_details": [EVIL], "completion_tokens_details": EVIL}}, 7),
        ({"usage": {"prompt_tokens": EVIL, "completion_tokens": {EVIL: EVIL}, "total_tokens": -1}}, 0),
        ({"usage": {**COUNTS, "total_tokens": int("9" * 4300)}}, 7),
    ],
)
def test_what_an_upstream_says_beside_its_text_is_of_known_kinds(serve, upstream, http, path, stream, chunk, counts) -> None:
    upstream.usual = odd(**chunk)
    answer = http.post(serve() + path, json=asking(path, stream=stream))
    assert answer.status_code == 200
    assert "990 euros" not in answer.text
    told = list(events(answer.content)) if stream else [answer.json()]
    assert "".join(text for text in strings(told) if text == TOLD[0])
    assert not any("error" in event and event["error"] for event in told)
    if not stream:
        usage = told[0].get("usage") or {}
        assert (usage.get("completion_tokens") or usage.get("output_tokens") or 0) == counts


def tool(path: str) -> dict[str, Any]:
    if path == "/v1/messages":
        return {"name": "look_up", "input_schema": {"type": "object"}}
    said = {"name": "look_up", "parameters": {"type": "object"}}
    return {"type": "function", **said} if path == "/v1/responses" else {"type": "function", "function": said}


def json_format(path: str) -> dict[str, Any]:
    if path == "/v1/messages":
        return {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}
    asked = {"type": "json_object"}
    return {"text": {"format": asked}} if path == "/v1/responses" else {"response_format": asked}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", ["none", "other", "custom", "object", "old", "unwanted"])
def test_a_tool_that_is_not_offered_is_not_called(serve, upstream, http, path, stream, kind) -> None:
    said = {"name": "look_up" if kind != "other" else "send", "arguments": json.dumps({"text": EVIL}), "input": EVIL}
    call = {"index": 0, "id": "a", "custom" if kind == "custom" else "function": said}

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"content": '{"rent": "950 euros"}' if kind == "object" else TOLD[0]})
        handler.chunk({"function_call": said} if kind == "old" else {"tool_calls": [call]})
        handler.chunk({}, "tool_calls")
        handler.end()

    upstream.usual = reply
    fields: dict[str, Any] = {
        "other": {"tools": [tool(path)]},
        "custom": {"tools": [tool(path)]},
        "object": json_format(path),
        "unwanted": {"tools": [tool(path)], "tool_choice": {"type": "none"} if path == "/v1/messages" else "none"},
    }.get(kind, {})
    answer = http.post(serve() + path, json=asking(path, stream=stream, **fields))
    assert "990 euros" not in answer.text
    assert "bad_call" in answer.text or "does not offer" in answer.text
    assert stream or answer.status_code == 502


def test_the_list_of_models_has_their_names_alone(serve, upstream, http) -> None:
    (model,) = http.get(f"{serve()}/v1/models").json()["data"]
    assert model == {"id": "scripted", "object": "model", "created": 0, "owned_by": "upstream"}
