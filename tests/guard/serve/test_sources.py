"""Where a request's source is found: the order, the forms, and what the upstream gets of it."""

from typing import Any

import pytest
from tests.guard.serve.conftest import CHAT, SOURCE, TRUE, writing

from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.requests import ChatRequest
from groundrail.serve.sources import Found, find_source, question_in

MARKERS = ("<source>", "</source>")
TOOL: dict[str, Any] = {"role": "tool", "tool_call_id": "call_7", "content": "From the tool."}
PART: dict[str, Any] = {
    "role": "user",
    "content": [{"type": "text", "text": "From a part.", "source": {"id": "p", "metadata": {"a": 1}}}],
}
MARKED: dict[str, Any] = {"role": "system", "content": "Read <source> From markers. </source> and <source>Twice.</source>"}
ASKED: dict[str, Any] = {"role": "user", "content": "How much?"}


def source_in(messages: list[dict[str, Any]], documents: Any = None, **options: Any) -> Found:
    asked = ChatRequest.model_validate({"model": "m", "messages": messages, "documents": documents})
    return find_source(asked.messages, asked.documents, MARKERS, **options)


def found(messages: list[dict[str, Any]], documents: Any = None) -> tuple[str, list[tuple[str, str]]]:
    source = source_in(messages, documents)
    return source.place, [(document.id, document.text) for document in source.documents]


def test_the_first_place_that_holds_a_source_counts() -> None:
    everything: list[dict[str, Any]] = [MARKED, PART, TOOL, ASKED]
    assert found(everything, documents=["Given."]) == ("documents", [("source", "Given.")])
    assert found(everything, documents=[]) == ("documents", [])  # retrieved, and none
    assert found(everything) == ("tool", [("call_7", "From the tool.")])
    assert found([MARKED, PART, ASKED]) == ("parts", [("p", "From a part.")])
    assert found([MARKED, ASKED]) == ("markers", [("source-1", "From markers."), ("source-2", "Twice.")])
    assert found([ASKED]) == ("none", [])


def test_documents_come_in_the_forms_of_vllm_and_cohere() -> None:
    documents = [
        "plain",
        {"title": "a title", "text": "of vLLM"},
        {"content": "content", "id": 7},
        {"id": "c", "data": {"text": "of Cohere"}, "metadata": {"page": 2}},
    ]
    place, texts = found([ASKED], documents=documents)
    assert place == "documents"
    assert texts == [("source-1", "plain"), ("source-2", "of vLLM"), ("7", "content"), ("c", "of Cohere")]


def test_metadata_stays_with_its_document() -> None:
    (document,) = source_in([PART, ASKED]).documents
    assert document.metadata == {"a": 1}


@pytest.mark.parametrize(
    "message",
    [
        {**MARKED, "role": "assistant"},  # the model's own
        {**MARKED, "role": "tool-like"},
        {"role": "user", "content": "<source>" * 50_000},  # without an end
    ],
)
def test_markers_that_hold_no_source(message) -> None:
    assert found([message, ASKED]) == ("none", [])


def test_results_of_one_tool_called_twice_are_two_documents() -> None:
    place, texts = found([ASKED, TOOL, {**TOOL, "content": [{"type": "text", "text": "Again."}]}])
    assert place == "tool"
    assert [text for _, text in texts] == ["From the tool.", "Again."]
    assert len({name for name, _ in texts}) == 2


def called(name: str, arguments: str, call: str = "call_7") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call, "type": "function", "function": function}]}


ECHO = "The rent is 990 euros a month."
CALLS: list[dict[str, Any]] = [
    called("note", f'{{"text": "{ECHO}"}}'),
    called("note", ECHO),  # which is no JSON
    {"role": "assistant", "tool_calls": [{"id": "call_7", "custom": {"name": "note", "input": ECHO}}]},
    {"role": "assistant", "function_call": {"name": "note", "arguments": f'{{"text": "{ECHO}"}}'}},
]


@pytest.mark.parametrize("call", CALLS)
def test_what_a_tool_repeats_of_a_call_is_no_source(call) -> None:
    echo, more = {**TOOL, "content": f"Saved: {ECHO}"}, {**TOOL, "content": f"Notes of 3 March: {ECHO} Pets: none."}
    assert found([ASKED, call, echo]) == ("none", [])
    (place, [(_, text)]) = found([ASKED, call, echo, called("read_notes", "{}", "call_8"), more])
    assert (place, "990" in text, "Pets: none." in text) == ("tool", False, True)
    assert found([ASKED, TOOL, call, echo]) == ("tool", [("call_7", "From the tool.")])
    assert found([ASKED, echo, call]) == ("tool", [("call_7", f"Saved: {ECHO}")])  # written after it was said


@pytest.mark.parametrize("calls", [3, [3], [{}], [{"function": 3}], [{"id": [], "function": {"name": {}, "arguments": 3}}]])
def test_calls_that_are_none_count_for_nothing(calls) -> None:
    assert found([ASKED, {"role": "assistant", "tool_calls": calls}, {**TOOL, "name": {}}]) == (
        "tool",
        [("call_7", "From the tool.")],
    )


@pytest.mark.parametrize(("names", "place"), [({"search"}, "tool"), ({"note", "other"}, "none"), (set(), "none")])
def test_tools_whose_results_count_can_be_named(names, place) -> None:
    by_call = [ASKED, called("search", '{"query": "rent"}'), TOOL]
    by_name = [ASKED, {"role": "function", "name": "search", "content": "From the tool."}]
    for messages in (by_call, by_name):
        assert source_in(messages, tools=names).place == place


def test_the_server_takes_named_tools_alone(serve, upstream, http) -> None:
    upstream.usual = writing(TRUE)
    messages = [ASKED, called("search", '{"query": "rent"}'), {**TOOL, "content": SOURCE}]
    for names, shown in (({"search"}, TRUE), ({"other"}, "")):
        address = serve(source_tools=names)
        answer = http.post(address + CHAT, json={"model": "m", "messages": messages}).json()
        assert (answer["choices"][0]["message"]["content"] or "") == shown
        body = {"texts": [TRUE], "input_type": "response", "structured_messages": messages}
        told = http.post(address + "/beta/litellm_basic_guardrail_api", json=body).json()
        assert told["action"] == ("NONE" if shown else "BLOCKED")


def test_two_documents_with_one_id_are_refused() -> None:
    with pytest.raises(ProtocolError, match="share the id"):
        found([ASKED], documents=[{"id": "a", "text": "x"}, {"id": "a", "text": "y"}])


@pytest.mark.parametrize(
    ("messages", "place"),
    [
        ([{"role": "user", "content": f"<source>{SOURCE}</source> How much?"}], "markers"),
        ([{"role": "user", "content": [{"type": "text", "text": SOURCE, "source": True}]}], "parts"),
        ([ASKED, {"role": "assistant", "content": None, "tool_calls": []}, {**TOOL, "content": SOURCE}], "tool"),
    ],
)
def test_the_server_checks_against_what_it_found_and_sends_the_upstream_what_it_knows(
    serve, upstream, http, messages, place
) -> None:
    upstream.usual = writing(TRUE)
    answer = http.post(serve() + CHAT, json={"model": "m", "messages": messages}).json()
    assert answer["choices"][0]["message"]["content"] == TRUE
    assert answer["groundrail"]["source"] == place
    sent = upstream.bodies[0]["messages"]
    assert len(sent) == len(messages)
    assert '"source": true' not in str(sent).lower().replace("'", '"')
    assert SOURCE in str(sent)


GROUNDED: list[dict[str, Any]] = [
    {"role": "system", "content": [{"type": "grounding_source", "text": SOURCE}]},
    {"role": "user", "content": [{"type": "text", "text": "Be brief."}, {"type": "query", "text": "Are pets allowed?"}]},
]
"""LiteLLM's blocks for a source and a question."""


def test_blocks_of_litellm_are_source_and_question(serve, upstream, http) -> None:
    assert found(GROUNDED) == ("parts", [("source-1", SOURCE)])
    asked = ChatRequest.model_validate({"model": "m", "messages": GROUNDED})
    assert question_in(asked.messages, MARKERS) == "Are pets allowed?"
    body = {"texts": [TRUE], "input_type": "response", "structured_messages": GROUNDED}
    assert http.post(serve() + "/beta/litellm_basic_guardrail_api", json=body).json()["action"] == "NONE"


def test_parts_and_results_count_together_where_the_protocol_has_blocks_for_both() -> None:
    marked = {**TOOL, "content": [{"type": "text", "text": "Plain."}, {"type": "text", "text": "Own.", "source": "o"}]}
    source = source_in([MARKED, PART, marked, ASKED], together=True)
    assert source.place == "blocks"
    assert [(d.id, d.text) for d in source.documents] == [("p", "From a part."), ("call_7", "Plain."), ("o", "Own.")]


def test_markers_can_be_chosen(serve, upstream, http) -> None:
    upstream.usual = writing(TRUE)
    message = {"role": "system", "content": f"[[{SOURCE}]]"}
    address = serve(markers=("[[", "]]")) + CHAT
    assert http.post(address, json={"model": "m", "messages": [message]}).json()["groundrail"]["source"] == "markers"
