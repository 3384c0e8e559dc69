"""`/v1/messages` with Anthropic's client, and bare bytes where they are what counts."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import anthropic
import pytest
from tests.guard.serve.conftest import ENDING_EARLY, FALSE, KEY, MORE, ONCE, SOURCE, TRUE, Reply, calling, writing

PATH = "/v1/messages"
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


def final(client: anthropic.Anthropic, stream: bool, **fields: Any) -> Any:
    """The message that Anthropic's client has in the end, streamed or not."""
    if not stream:
        return client.messages.create(**asking() | fields)
    with client.messages.stream(**asking() | fields) as streamed:
        return streamed.get_final_message()


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def test_anthropics_client_gets_a_whole_answer(serve, connect, upstream) -> None:
    answer = connect(serve(policy=ONCE)).messages.create(
        **asking(), system="Be brief.", stop_sequences=["END"], metadata={"user_id": "u"}, extra_body={"temperature": 0.5}
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


def test_anthropics_client_streams(serve, connect) -> None:
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
def test_citations_have_blocks_of_their_own_where_they_are_asked_for(serve, connect, upstream, stream) -> None:
    upstream.usual = writing(GREETING, TRUE, MORE, GREETING, GREETING)
    asked = asking(document("Pets are welcome."), document(title="Lease", **CITED))
    answer = final(connect(serve(policy=ONCE)), stream, **asked)
    assert [block.text for block in answer.content] == [GREETING, TRUE, MORE, GREETING * 2]
    assert [block.citations is not None for block in answer.content] == [False, True, True, False]
    (citation,) = answer.content[1].citations
    assert citation.type == "char_location"
    assert (citation.document_index, citation.document_title) == (1, "Lease")
    assert SOURCE[citation.start_char_index : citation.end_char_index] == citation.cited_text
    assert citation.cited_text == "The rent is 950 euros a month."


@pytest.mark.parametrize("in_tool", [True, False])
def test_search_results_are_cited_by_their_blocks(serve, connect, upstream, in_tool) -> None:
    upstream.usual = writing(TRUE)
    texts = ["Pets are not allowed.", "The rent is 950 euros a month."]
    blocks = [{"type": "text", "text": text} for text in texts]
    found = {"type": "search_result", "source": "https://example.com", "title": "Lease", "content": blocks, **CITED}
    other = found | {"content": [{"type": "text", "text": "Smoking is allowed."}]}
    asked = asking(other, found)
    if in_tool:
        result = {"type": "tool_result", "tool_use_id": "t1", "content": [other, found]}
        call = {"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "rent"}}
        turns = [asking()["messages"][0] | {"content": "How much is the rent?"}, {"role": "assistant", "content": [call]}]
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


def test_documents_of_blocks_are_cited_by_them(serve, connect, upstream) -> None:
    blocks = [{"type": "text", "text": text} for text in ("Pets are not allowed.", SOURCE)]
    given = {"type": "document", "source": {"type": "content", "content": blocks}, **CITED}
    (block,) = connect(serve(policy=ONCE)).messages.create(**asking(given)).content
    assert block.type == "text"
    (citation,) = block.citations or []
    assert citation.type == "content_block_location"
    assert (citation.cited_text, citation.start_block_index, citation.end_block_index) == (SOURCE, 1, 2)


@pytest.mark.parametrize("stream", [True, False])
def test_no_citation_quotes_what_is_withheld(serve, http, stream) -> None:
    address, body = serve(policy=ONCE) + PATH, asking(document(**CITED), stream=stream)
    received = http.post(address, json=body).text
    assert "char_location" in received
    assert "990 euros" not in received
    assert "990 euros" in http.post(address, json=body, headers={"x-groundrail-details": "full"}).text


@pytest.mark.parametrize(
    ("reply", "reason", "text"),
    [
        (writing(FALSE), "refusal", ""),
        (writing(TRUE, "The rent is 9", finish="length"), "max_tokens", TRUE),
        (writing(TRUE), "end_turn", TRUE),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_why_a_message_ended(serve, connect, upstream, reply, reason, text, stream) -> None:
    upstream.usual = reply
    answer = final(connect(serve(policy=ONCE)), stream)
    assert (answer.stop_reason, text_of(answer)) == (reason, text)


TOOL: Any = {"name": "look_up", "description": "Looks up.", "input_schema": {"type": "object"}}


def calling_with(arguments: str) -> Reply:
    first = {"index": 0, "id": "call_1", "function": {"name": "look_up", "arguments": arguments[:3]}}
    return calling(first, {"index": 0, "function": {"arguments": arguments[3:]}}, text=TRUE)


@pytest.mark.parametrize("stream", [True, False])
def test_tool_calls_pass_as_they_are(serve, connect, upstream, stream) -> None:
    upstream.usual = calling_with('{"city": "Oslo"}')
    choice = {"type": "tool", "name": "look_up", "disable_parallel_tool_use": True}
    answer = final(connect(serve()), stream, tools=[TOOL], tool_choice=choice)
    text, call = answer.content
    assert (text.type, call.type, answer.stop_reason) == ("text", "tool_use", "tool_use")
    assert (text.text, call.id, call.name, call.input) == (TRUE, "call_1", "look_up", {"city": "Oslo"})
    sent = upstream.bodies[0]
    described = {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object"}}
    assert sent["tools"] == [{"type": "function", "function": described}]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "look_up"}}
    assert sent["parallel_tool_calls"] is False


def test_calls_that_the_protocol_cannot_hold_are_an_error(serve, connect, upstream) -> None:
    upstream.usual = calling_with("[no JSON")
    for stream in (True, False):
        with pytest.raises(anthropic.APIStatusError, match="no JSON object"):
            for _ in connect(serve()).messages.create(**asking(tools=[TOOL]), stream=stream):
                pass


def test_results_of_tools_and_documents_are_sources(serve, connect, upstream) -> None:
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
    assert text_of(answer) == TRUE + garden
    sent = upstream.bodies[0]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "read", "arguments": "{}"}
    assert sent[2]["tool_call_id"] == "t1"


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
def test_what_cannot_be_guarded_is_refused_before_anything_is_asked(serve, http, upstream, fields, named) -> None:
    refused = http.post(serve() + PATH, json={**asking(), **fields})
    assert refused.status_code == 400
    body = refused.json()
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
    assert body["error"]["message"].startswith(f"{named}: ")
    assert upstream.bodies == []


def test_errors_are_those_of_the_protocol(serve, connect, upstream) -> None:
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
def test_an_upstream_that_fails_while_writing(serve, connect, upstream, stream) -> None:
    upstream.usual = ENDING_EARLY
    seen: list[Any] = []
    with pytest.raises(anthropic.APIStatusError, match="upstream"):
        seen.extend(connect(serve()).messages.create(**asking(), stream=stream))
    assert "990 euros" not in str(seen)
