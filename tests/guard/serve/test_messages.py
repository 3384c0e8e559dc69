"""`/v1/messages` with Anthropic's client, and bare bytes where they are what counts."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import anthropic
import httpx
import pytest
from tenacity import stop_after_attempt
from tests.guard.serve.conftest import FALSE, KEY, SOURCE, TRUE, Handler, Reply, Serve, Upstream, writing

from groundrail import Policy

ONCE = Policy(stop=stop_after_attempt(1))
PATH = "/v1/messages"
MORE = "The lease ends on 28 February 2026. "
GREETING = "Hello! "
CITED: dict[str, Any] = {"citations": {"enabled": True}}

Connect = Callable[..., anthropic.Anthropic]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Official clients of an address, which do not repeat requests unless told to."""
    with ExitStack() as stack:

        def client(address: str, **options: Any) -> anthropic.Anthropic:
            chosen = {"api_key": KEY, "max_retries": 0, "timeout": 20, **options}
            return stack.enter_context(anthropic.Anthropic(base_url=address, **chosen))

        yield client


def document(text: str = SOURCE, **fields: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **fields}


def asking(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A request about the source, in a document unless `blocks` are given."""
    content = [*(blocks or (document(),)), {"type": "text", "text": "How much is the rent?"}]
    return {"model": "scripted", "max_tokens": 100, "messages": [{"role": "user", "content": content}], **fields}


def test_anthropics_client_gets_a_whole_answer(serve: Serve, connect: Connect, upstream: Upstream) -> None:
    answer = connect(serve(policy=ONCE)).messages.create(
        **asking(),
        system="Be brief.",
        stop_sequences=["END"],
        metadata={"user_id": "u"},
        extra_body={"temperature": 0.5},
    )
    assert [block.model_dump() for block in answer.content] == [{"type": "text", "text": TRUE, "citations": None}]
    assert (answer.stop_reason, answer.model, answer.role) == ("end_turn", "scripted", "assistant")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (5, 11)
    told = answer.model_dump()["groundrail"]
    assert [s["verdict"] for s in told["sentences"]] == ["supported", "unsupported"]
    sent = upstream.bodies[0]
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["messages"][1]["content"][0] == {"type": "text", "text": SOURCE}
    assert (sent["stop"], sent["user"], sent["temperature"], sent["max_tokens"]) == (["END"], "u", 0.5, 100)
    assert upstream.headers[0]["authorization"] == f"Bearer {KEY}"


def test_anthropics_client_streams(serve: Serve, connect: Connect) -> None:
    events = list(connect(serve(policy=ONCE)).messages.create(**asking(), stream=True))
    assert [event.type for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    with connect(serve(policy=ONCE)).messages.stream(**asking()) as stream:
        assert "".join(stream.text_stream) == TRUE
        final = stream.get_final_message()
    assert (final.stop_reason, final.usage.output_tokens) == ("end_turn", 11)


@pytest.mark.parametrize("stream", [True, False])
def test_citations_have_blocks_of_their_own_where_they_are_asked_for(
    serve: Serve, connect: Connect, upstream: Upstream, stream: bool
) -> None:
    upstream.usual = writing(GREETING, TRUE, MORE, GREETING, GREETING)
    asked = asking(document("Pets are welcome."), document(title="Lease", **CITED))
    messages = connect(serve(policy=ONCE)).messages
    if stream:
        with messages.stream(**asked) as events:
            answer: Any = events.get_final_message()
    else:
        answer = messages.create(**asked)
    assert [block.text for block in answer.content] == [GREETING, TRUE, MORE, GREETING * 2]
    assert [block.citations is not None for block in answer.content] == [False, True, True, False]
    (citation,) = answer.content[1].citations
    assert citation.type == "char_location"
    assert (citation.document_index, citation.document_title) == (1, "Lease")
    assert SOURCE[citation.start_char_index : citation.end_char_index] == citation.cited_text
    assert citation.cited_text == "The rent is 950 euros a month."


@pytest.mark.parametrize("in_tool", [True, False])
def test_search_results_are_cited_by_their_blocks(
    serve: Serve, connect: Connect, upstream: Upstream, in_tool: bool
) -> None:
    upstream.usual = writing(TRUE)
    texts = ["Pets are not allowed.", "The rent is 950 euros a month."]
    blocks = [{"type": "text", "text": text} for text in texts]
    found = {"type": "search_result", "source": "https://example.com", "title": "Lease", "content": blocks, **CITED}
    other = found | {"content": [{"type": "text", "text": "Smoking is allowed."}]}
    asked = asking(other, found)
    if in_tool:
        result = {"type": "tool_result", "tool_use_id": "t1", "content": [other, found]}
        call = {"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "rent"}}
        turns = [
            asking()["messages"][0] | {"content": "How much is the rent?"},
            {"role": "assistant", "content": [call]},
        ]
        asked["messages"] = [*turns, {"role": "user", "content": [result]}]
    (block,) = connect(serve(policy=ONCE)).messages.create(**asked).content
    assert block.type == "text"
    (citation,) = block.citations or []
    assert citation.model_dump() == {
        "type": "search_result_location",
        "cited_text": texts[1],
        "search_result_index": 1,
        "source": "https://example.com",
        "title": "Lease",
        "start_block_index": 1,
        "end_block_index": 2,
    }


def test_documents_of_blocks_are_cited_by_them(serve: Serve, connect: Connect, upstream: Upstream) -> None:
    blocks = [{"type": "text", "text": text} for text in ("Pets are not allowed.", SOURCE)]
    given = {"type": "document", "source": {"type": "content", "content": blocks}, **CITED}
    (block,) = connect(serve(policy=ONCE)).messages.create(**asking(given)).content
    assert block.type == "text"
    (citation,) = block.citations or []
    assert citation.type == "content_block_location"
    assert (citation.cited_text, citation.start_block_index, citation.end_block_index) == (SOURCE, 1, 2)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("level", ["on", "off"])
@pytest.mark.parametrize("cited", [{}, CITED])
def test_a_false_sentence_never_crosses_the_socket(
    serve: Serve, http: httpx.Client, stream: bool, level: str, cited: dict[str, Any]
) -> None:
    address, body = serve(policy=ONCE), asking(document(**cited), stream=stream)
    received = http.post(address + PATH, json=body, headers={"x-groundrail-details": level}).content
    assert b"The rent is 950 euros." in received
    assert b"990 euros" not in received
    assert (b"groundrail" in received) == (level == "on")
    assert b"990 euros" in http.post(address + PATH, json=body, headers={"x-groundrail-details": "full"}).content


@pytest.mark.parametrize("stream", [True, False])
def test_a_refused_sentence_is_asked_for_again(
    serve: Serve, connect: Connect, upstream: Upstream, stream: bool
) -> None:
    upstream.replies = [writing(TRUE, FALSE), writing(MORE)]
    messages = connect(serve()).messages
    if stream:
        with messages.stream(**asking()) as events:
            text = events.get_final_text()
    else:
        text = "".join(block.text for block in messages.create(**asking()).content if block.type == "text")
    assert text == TRUE + MORE
    assert FALSE.strip() in upstream.bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("reply", "reason", "text"),
    [
        (writing(FALSE), "refusal", ""),
        (writing(TRUE, "The rent is 9", finish="length"), "max_tokens", TRUE),
        (writing(TRUE), "end_turn", TRUE),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_why_a_message_ended(
    serve: Serve, connect: Connect, upstream: Upstream, reply: Reply, reason: str, text: str, stream: bool
) -> None:
    upstream.usual = reply
    messages = connect(serve(policy=ONCE)).messages
    if stream:
        with messages.stream(**asking()) as events:
            answer = events.get_final_message()
    else:
        answer = messages.create(**asking())
    assert (answer.stop_reason, "".join(b.text for b in answer.content if b.type == "text")) == (reason, text)


TOOL: Any = {"name": "look_up", "description": "Looks up.", "input_schema": {"type": "object"}}


def calling(arguments: str) -> Reply:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"content": TRUE})
        for part in (arguments[:3], arguments[3:]):
            function = {"arguments": part} | ({"name": "look_up"} if part == arguments[:3] else {})
            handler.chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
        handler.chunk({}, "tool_calls")
        handler.end()

    return reply


@pytest.mark.parametrize("stream", [True, False])
def test_tool_calls_pass_as_they_are(serve: Serve, connect: Connect, upstream: Upstream, stream: bool) -> None:
    upstream.usual = calling('{"city": "Oslo"}')
    messages, fields = connect(serve()).messages, asking(tools=[TOOL], tool_choice={"type": "tool", "name": "look_up"})
    if stream:
        with messages.stream(**fields) as events:
            answer = events.get_final_message()
    else:
        answer = messages.create(**fields)
    text, call = answer.content
    assert text.type == "text"
    assert call.type == "tool_use"
    assert (text.text, call.id, call.name, call.input) == (TRUE, "call_1", "look_up", {"city": "Oslo"})
    assert answer.stop_reason == "tool_use"
    sent = upstream.bodies[0]
    described = {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object"}}
    assert sent["tools"] == [{"type": "function", "function": described}]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "look_up"}}


def test_calls_that_the_protocol_cannot_hold_are_an_error(serve: Serve, connect: Connect, upstream: Upstream) -> None:
    upstream.usual = calling("[no JSON")
    for stream in (True, False):
        with pytest.raises(anthropic.APIStatusError, match="no JSON object"):
            for _ in connect(serve()).messages.create(**asking(tools=[TOOL]), stream=stream):
                pass


def test_results_of_tools_and_documents_are_sources(serve: Serve, connect: Connect, upstream: Upstream) -> None:
    garden = "Smoking is allowed in the garden."
    upstream.usual = writing(TRUE, garden)
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": SOURCE}]}
    turns: Any = [
        asking(document(garden))["messages"][0],
        {"role": "assistant", "content": [{"type": "text", "text": "I read it."}, call]},
        {"role": "user", "content": [result, {"type": "text", "text": "Go on: how much is the rent?"}]},
    ]
    answer = connect(serve()).messages.create(model="m", max_tokens=9, messages=turns)
    assert "".join(block.text for block in answer.content if block.type == "text") == TRUE + garden
    sent = upstream.bodies[0]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "read", "arguments": "{}"}
    assert sent[2]["tool_call_id"] == "t1"


def test_grounding_sources_and_queries_of_litellm_count(serve: Serve, http: httpx.Client, upstream: Upstream) -> None:
    content = [{"type": "grounding_source", "text": SOURCE}, {"type": "query", "text": "Rent?"}]
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}
    assert http.post(serve(policy=ONCE) + PATH, json=body).json()["content"] == [{"type": "text", "text": TRUE}]
    assert [part["type"] for part in upstream.bodies[0]["messages"][0]["content"]] == ["text", "text"]


PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking.type"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools.0.type"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"tool_choice": {"type": ["auto"]}}, "tool_choice.type"),
        ({"tools": [{"name": ["look_up"]}]}, "tools.0.name"),
        ({"container": "c"}, "container"),
        ({"mcp_servers": []}, "mcp_servers"),
        ({"output_config": {"effort": "low"}}, "output_config.effort"),
        (asking(PDF), "messages.0.content.0.source"),
        (asking({"type": "container_upload", "file_id": "f"}), "messages.0.content.0"),
        (asking({"type": "document", "source": {"type": "url", "url": "https://x"}}), "messages.0.content.0.source"),
        ({"messages": [{"role": "user", "content": "Rent?"}, {"role": "assistant", "content": "It is"}]}, "messages"),
        ({"messages": []}, "messages"),
        ({"max_tokens": "many"}, "max_tokens"),
    ],
)
def test_what_cannot_be_guarded_is_refused_before_anything_is_asked(
    serve: Serve, http: httpx.Client, upstream: Upstream, fields: dict[str, Any], named: str
) -> None:
    refused = http.post(serve() + PATH, json={**asking(), **fields})
    assert refused.status_code == 400
    body = refused.json()
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
    assert body["error"]["message"].startswith(f"{named}: ")
    assert upstream.bodies == []


def test_errors_are_those_of_the_protocol(serve: Serve, connect: Connect, upstream: Upstream) -> None:
    upstream.usual = lambda handler, body: handler.send(429, json.dumps({"error": {"message": "slow down"}}))
    address = serve(api_key="door")
    with pytest.raises(anthropic.RateLimitError, match="is busy"):
        connect(address, api_key="door").messages.create(**asking())
    with pytest.raises(anthropic.AuthenticationError, match="needs its key"):
        connect(address, api_key="wrong").messages.create(**asking())
    with pytest.raises(anthropic.PermissionDeniedError):
        connect(address, api_key="door", default_headers={"origin": "https://evil.example"}).messages.create(**asking())
    with pytest.raises(anthropic.RequestTooLargeError):
        connect(serve(max_body=50)).messages.create(**asking())


@pytest.mark.parametrize("stream", [True, False])
def test_an_upstream_that_fails_while_writing(serve: Serve, connect: Connect, upstream: Upstream, stream: bool) -> None:
    def ending_early(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"content": TRUE + "The rent"})
        handler.end(done=False)

    upstream.usual = ending_early
    seen: list[Any] = []
    with pytest.raises(anthropic.APIStatusError, match="upstream"):
        seen.extend(connect(serve()).messages.create(**asking(), stream=stream))
    assert "990 euros" not in str(seen)
