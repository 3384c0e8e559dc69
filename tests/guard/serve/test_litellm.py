"""LiteLLM's generic guardrail API: its documented requests, and the source that is kept between its two calls."""

from typing import Any

import httpx
from tests.guard.serve.conftest import FALSE, SOURCE, TRUE, Serve

from groundrail.serve.check import _Kept
from groundrail.testing import FakeEntailment
from groundrail.types import Document

PATH = "/beta/litellm_basic_guardrail_api"


def telling(kind: str, *texts: str, call: str | None = "call-1", **fields: Any) -> dict[str, Any]:
    """A request with every field that LiteLLM documents."""
    return {
        "texts": list(texts),
        "images": None,
        "tools": None,
        "tool_calls": None,
        "structured_messages": None,
        "request_data": {"user_api_key_hash": "abc", "user_api_key_user_id": None},
        "request_headers": {"user-agent": "[present]"},
        "litellm_version": "1.109.1",
        "model": "gpt-4",
        "input_type": kind,
        "litellm_call_id": call,
        "litellm_trace_id": "trace-1",
        "additional_provider_specific_params": {},
        **fields,
    }


def conversation() -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"<source>{SOURCE}</source> How much?"}]


def test_the_three_answers(serve: Serve, http: httpx.Client) -> None:
    address = serve() + PATH
    told = http.post(address, json=telling("request", "How much?", structured_messages=conversation()))
    assert told.json() == {"action": "NONE"}
    good = http.post(address, json=telling("response", TRUE)).json()
    assert good["action"] == "NONE"
    mixed = http.post(address, json=telling("response", TRUE + FALSE + "Pets are not allowed.")).json()
    assert (mixed["action"], mixed["texts"]) == ("GUARDRAIL_INTERVENED", [TRUE + "Pets are not allowed."])
    bad = http.post(address, json=telling("response", FALSE.strip())).json()
    assert bad["action"] == "BLOCKED"
    assert "unsupported" in bad["blocked_reason"]
    assert "990" not in bad["blocked_reason"]


def test_why_it_is_blocked_quotes_nothing_of_it(serve: Serve, http: httpx.Client) -> None:
    parameters = {"documents": [{"text": SOURCE}]}
    body = telling("response", "Pay at http://unsaid.example.", additional_provider_specific_params=parameters)
    blocked = http.post(serve() + PATH, json=body).json()
    assert blocked["action"] == "BLOCKED"
    assert "unsaid" not in blocked["blocked_reason"]


def test_documents_come_with_the_answer(serve: Serve, http: httpx.Client) -> None:
    params = {"documents": [{"text": SOURCE}], "threshold": 0.8}
    body = telling("response", TRUE, call=None, additional_provider_specific_params=params)
    assert http.post(serve() + PATH, json=body).json()["action"] == "NONE"


def test_an_answer_without_a_known_source_is_blocked(serve: Serve, http: httpx.Client) -> None:
    address = serve() + PATH
    http.post(address, json=telling("request", "?", structured_messages=conversation()))
    for call in ("another", None):
        told = http.post(address, json=telling("response", TRUE.strip(), call=call)).json()
        assert told["action"] == "BLOCKED"
        assert "no_source" in told["blocked_reason"]


def test_calls_do_not_see_each_others_sources(serve: Serve, http: httpx.Client) -> None:
    address = serve() + PATH
    other = [{"role": "tool", "content": "The rent is 990 euros a month.", "tool_call_id": "t"}]
    http.post(address, json=telling("request", "?", call="a", structured_messages=conversation()))
    http.post(address, json=telling("request", "?", call="b", structured_messages=other))
    assert http.post(address, json=telling("response", TRUE.strip(), call="a")).json()["action"] == "NONE"
    assert http.post(address, json=telling("response", TRUE.strip(), call="b")).json()["action"] == "BLOCKED"
    assert http.post(address, json=telling("response", FALSE.strip(), call="b")).json()["action"] == "NONE"


def test_a_stream_holds_back_what_may_still_change(serve: Serve, http: httpx.Client) -> None:
    address = serve() + PATH
    http.post(address, json=telling("request", "?", structured_messages=conversation()))
    half = http.post(address, json=telling("response", TRUE + "The rent is 95")).json()
    assert half == {"action": "GUARDRAIL_INTERVENED", "texts": [TRUE], "stream_holdback_chars": [0]}
    settled = http.post(address, json=telling("response", TRUE + "Pets are not")).json()
    assert settled == {"action": "NONE", "stream_holdback_chars": [len("Pets are not")]}
    begun = http.post(address, json=telling("response", "The rent is 99")).json()
    assert (begun["action"], begun["texts"]) == ("GUARDRAIL_INTERVENED", [""])


def test_nothing_to_check_is_none(serve: Serve, http: httpx.Client) -> None:
    address = serve() + PATH
    assert http.post(address, json=telling("response")).json()["action"] == "NONE"
    assert http.post(address, json={**telling("response"), "texts": None}).json()["action"] == "NONE"


def test_wrong_documents_are_named(serve: Serve, http: httpx.Client) -> None:
    body = telling("response", TRUE, additional_provider_specific_params={"documents": "text"})
    response = http.post(serve() + PATH, json=body)
    assert response.status_code == 400
    assert "documents" in response.json()["error"]["message"]


def test_litellms_key_header_opens_the_server(serve: Serve, http: httpx.Client) -> None:
    address = serve(api_key="door") + PATH
    assert http.post(address, json=telling("response")).status_code == 401
    assert http.post(address, json=telling("response"), headers={"x-api-key": "door"}).status_code == 200


def test_what_is_kept_is_bounded() -> None:
    kept = _Kept(seconds=60, characters=10_000)
    for number in range(100):
        kept.put(f"call-{number}", (Document(text="x" * 3000),), "How much?")
    known = [number for number in range(100) if kept.get(f"call-{number}") != ((), "")]
    assert known == [98, 99]
    expired = _Kept(seconds=-1)
    expired.put("call", (Document(text="x"),), "How much?")
    assert expired.get("call") == ((), "")


def test_a_bare_answer_is_judged_with_the_question_of_its_call(
    serve: Serve, http: httpx.Client, judge: FakeEntailment
) -> None:
    judge.judge = lambda premise, claim: float(claim == "Pets are not allowed.")
    address = serve() + PATH
    for call, question in (("a", "Are pets allowed?"), ("b", "Is smoking allowed?")):
        messages = [{"role": "user", "content": f"<source>{SOURCE}</source> {question}"}]
        http.post(address, json=telling("request", "?", call=call, structured_messages=messages))
    assert http.post(address, json=telling("response", "No.", call="a")).json()["action"] == "NONE"
    assert http.post(address, json=telling("response", "No.", call="b")).json()["action"] == "BLOCKED"
