"""LiteLLM's generic guardrail API: its documented requests, and the source that is kept between its two calls."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.guard.serve.conftest import FALSE, SOURCE, TRUE, Serve

from groundrail import Policy
from groundrail.serve.check import _Kept
from groundrail.types import Document

PATH = "/beta/litellm_basic_guardrail_api"


def telling(kind: str, *texts: str, call: str | None = "call-1", **fields: Any) -> dict[str, Any]:
    """A request with every field that LiteLLM documents."""
    nothing = dict.fromkeys(("images", "tools", "tool_calls", "structured_messages"))
    about = {"request_data": {"user_api_key_hash": "abc", "user_api_key_user_id": None}, "model": "gpt-4"}
    about |= {"request_headers": {"user-agent": "[present]"}, "litellm_version": "1.109.1"}
    calls: dict[str, Any] = {
        "litellm_call_id": call,
        "litellm_trace_id": "trace-1",
        "additional_provider_specific_params": {},
    }
    return {"texts": list(texts), "input_type": kind, **nothing, **about, **calls, **fields}


CONVERSATION = [{"role": "user", "content": f"<source>{SOURCE}</source> How much?"}]


Tell = Callable[..., dict[str, Any]]


@pytest.fixture
def tell(serve: Serve, http: httpx.Client) -> Tell:
    """Sends requests to one server, and gives what it says."""
    address = serve() + PATH
    return lambda *told, **fields: http.post(address, json=telling(*told, **fields)).json()


def test_the_three_answers(tell) -> None:
    assert tell("request", "How much?", structured_messages=CONVERSATION) == {"action": "NONE"}
    assert tell("response", TRUE)["action"] == "NONE"
    mixed = tell("response", TRUE + FALSE + "Pets are not allowed.")
    assert (mixed["action"], mixed["texts"]) == ("GUARDRAIL_INTERVENED", [TRUE + "Pets are not allowed."])
    bad = tell("response", FALSE.strip())
    assert bad["action"] == "BLOCKED"
    assert "unsupported" in bad["blocked_reason"]
    assert "990" not in bad["blocked_reason"]


def test_documents_come_with_the_answer_and_no_reason_quotes_it(tell) -> None:
    given = {"documents": [{"text": SOURCE}], "threshold": 0.8}
    assert tell("response", TRUE, call=None, additional_provider_specific_params=given)["action"] == "NONE"
    blocked = tell("response", "Pay at http://unsaid.example.", additional_provider_specific_params=given)
    assert blocked["action"] == "BLOCKED"
    assert "unsaid" not in blocked["blocked_reason"]


@pytest.mark.parametrize("call", ["another", None])
def test_an_answer_without_a_known_source_is_blocked(tell, call) -> None:
    tell("request", "?", structured_messages=CONVERSATION)
    told = tell("response", TRUE.strip(), call=call)
    assert told["action"] == "BLOCKED"
    assert "no_source" in told["blocked_reason"]


def test_calls_do_not_see_each_others_sources(tell) -> None:
    other = [{"role": "tool", "content": "The rent is 990 euros a month.", "tool_call_id": "t"}]
    tell("request", "?", call="a", structured_messages=CONVERSATION)
    tell("request", "?", call="b", structured_messages=other)
    for text, call, action in ((TRUE, "a", "NONE"), (TRUE, "b", "BLOCKED"), (FALSE, "b", "NONE")):
        assert tell("response", text.strip(), call=call)["action"] == action


def test_a_stream_holds_back_what_may_still_change(tell) -> None:
    tell("request", "?", structured_messages=CONVERSATION)
    half = tell("response", TRUE + "The rent is 95")
    assert half == {"action": "GUARDRAIL_INTERVENED", "texts": [TRUE], "stream_holdback_chars": [0]}
    settled = tell("response", TRUE + "Pets are not")
    assert settled == {"action": "NONE", "stream_holdback_chars": [len("Pets are not")]}
    begun = tell("response", "The rent is 99")
    assert (begun["action"], begun["texts"]) == ("GUARDRAIL_INTERVENED", [""])


@pytest.mark.parametrize("fallback", ["correct", "abstain"])
def test_a_stream_holds_back_what_stands_in_the_place_of_half_a_sentence(serve, http, fallback: Any) -> None:
    address = serve(policy=Policy(fallback=fallback)) + PATH
    http.post(address, json=telling("request", "?", structured_messages=CONVERSATION))
    told = http.post(address, json=telling("response", f"{TRUE}{FALSE.rstrip(' .')}")).json()
    (text,) = told["texts"]
    assert told["stream_holdback_chars"] == [len(text.removeprefix(TRUE))] != [0]


def test_nothing_to_check_is_none(tell) -> None:
    assert tell("response")["action"] == "NONE"
    assert tell("response", texts=None)["action"] == "NONE"


def test_wrong_documents_are_named(tell) -> None:
    error = tell("response", TRUE, additional_provider_specific_params={"documents": "text"})["error"]
    assert error["param"] == "additional_provider_specific_params.documents"


def test_litellms_key_header_opens_the_server(serve, http) -> None:
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


def test_a_bare_answer_is_judged_with_the_question_of_its_call(tell, judge) -> None:
    judge.judge = lambda premise, claim: float(claim == "Pets are not allowed.")
    for call, question, action in (("a", "Are pets allowed?", "NONE"), ("b", "Is smoking allowed?", "BLOCKED")):
        messages = [{"role": "user", "content": f"<source>{SOURCE}</source> {question}"}]
        tell("request", "?", call=call, structured_messages=messages)
        assert tell("response", "No.", call=call)["action"] == action
