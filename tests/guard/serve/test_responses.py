"""`/v1/responses` with the official client."""

import base64
from typing import Any

import openai
import pytest
from tests.guard.serve.conftest import ENDING_EARLY, FALSE, MORE, ONCE, SOURCE, TRUE, calling, writing


def file(text: str = SOURCE, name: str = "lease.txt") -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    return {"type": "input_file", "filename": name, "file_data": f"data:text/plain;base64,{data}"}


def asking(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A request about the source, in a file unless `parts` are given."""
    content = [*(parts or (file(),)), {"type": "input_text", "text": "How much is the rent?"}]
    return {"model": "scripted", "input": [{"role": "user", "content": content}], **fields}


def final(client: openai.OpenAI, stream: bool, **fields: Any) -> Any:
    """The response that the official client has in the end, streamed or not."""
    if not stream:
        return client.responses.create(**asking(**fields))
    with client.responses.stream(**asking(**fields)) as streamed:
        return streamed.get_final_response()


def test_the_official_client_gets_a_whole_answer_with_its_citations(serve, client, upstream) -> None:
    answer = client(serve(policy=ONCE)).responses.create(**asking(instructions="Be brief.", max_output_tokens=50))
    assert (answer.output_text, answer.status, answer.model) == (TRUE, "completed", "scripted")
    (message,) = answer.output
    assert message.type == "message"
    (part,) = message.content
    assert part.type == "output_text"
    (citation,) = part.annotations
    assert citation.type == "file_citation"
    assert (citation.file_id, citation.filename, citation.index) == ("lease.txt", "lease.txt", len(TRUE.rstrip()))
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (5, 11, 16)
    told = answer.model_dump()["groundrail"]
    assert [s["verdict"] for s in told["sentences"]] == ["supported", "unsupported"]
    sent = upstream.bodies[0]
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["messages"][1]["content"][0] == {"type": "text", "text": SOURCE}
    assert (sent["max_tokens"], sent["stream"]) == (50, True)
    assert "input" not in sent


def test_the_official_client_streams(serve, client) -> None:
    events = list(client(serve(policy=ONCE)).responses.create(**asking(), stream=True))
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.annotation.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == "".join(deltas) == TRUE
    assert last.response.usage is not None


def test_a_stream_ends_with_the_whole_answer(serve, client, upstream) -> None:
    upstream.usual = writing(TRUE, MORE)
    streamed, whole = (final(client(serve()), stream).model_dump()["output"] for stream in (True, False))
    assert whole[0].pop("id") != streamed[0].pop("id")
    for part in streamed[0]["content"]:
        part.pop("parsed")  # the client's own
    assert streamed == whole


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("reply", "text", "reason"),
    [(writing(FALSE), "", "content_filter"), (writing(TRUE, "The rent is 9", finish="length"), TRUE, "max_output_tokens")],
)
def test_an_answer_that_is_emptied_or_cut_off_is_incomplete(serve, client, upstream, stream, reply, text, reason) -> None:
    upstream.usual = reply
    asked = client(serve(policy=ONCE)).responses
    if stream:
        last: Any = list(asked.create(**asking(), stream=True))[-1]
        assert last.type == "response.incomplete"
        answer = last.response
    else:
        answer = asked.create(**asking())
    assert (answer.status, answer.output_text, answer.incomplete_details.reason) == ("incomplete", text, reason)


@pytest.mark.parametrize("stream", [True, False])
def test_tool_calls_pass_as_they_are(serve, client, upstream, stream) -> None:
    upstream.usual = calling(
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"city": '}},
        {"index": 0, "function": {"arguments": '"Oslo"}'}},
        {"index": 1, "id": "call_2", "type": "custom", "custom": {"name": "run", "input": "print"}},
        {"index": 1, "custom": {"input": "(1)"}},
        text=TRUE,
    )
    look_up = {"name": "look_up", "parameters": {"type": "object"}, "strict": True}
    tools = [{"type": "function", **look_up}, {"type": "custom", "name": "run"}]
    message, function, custom = final(client(serve()), stream, tools=tools, tool_choice="auto").output
    assert (message.type, function.type, custom.type) == ("message", "function_call", "custom_tool_call")
    assert (function.call_id, function.name, function.arguments) == ("call_1", "look_up", '{"city": "Oslo"}')
    assert (custom.call_id, custom.name, custom.input) == ("call_2", "run", "print(1)")
    assert upstream.bodies[0]["tools"] == [
        {"type": "function", "function": look_up},
        {"type": "custom", "custom": {"name": "run"}},
    ]


def test_results_of_tools_and_files_are_sources(serve, client, upstream) -> None:
    upstream.usual = writing(TRUE, "Smoking is allowed in the garden.")
    turns: Any = [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "How much is the rent?"}, file("Smoking is allowed in the garden.")],
        },
        {"role": "assistant", "content": [{"type": "output_text", "text": "I look it up.", "annotations": []}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": SOURCE},
    ]
    answer = client(serve()).responses.create(model="m", input=turns)
    assert answer.output_text == TRUE + "Smoking is allowed in the garden."
    sent = upstream.bodies[0]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "read", "arguments": "{}"}
    message: Any = answer.output[0]
    assert [a.file_id for a in message.content[0].annotations] == ["c1", "lease.txt"]


def test_documents_with_an_address_are_cited_by_it(serve, client) -> None:
    metadata = {"url": "https://example.com/lease", "title": "The lease"}
    documents = [{"id": "a", "text": SOURCE, "metadata": metadata}]
    answer = client(serve(policy=ONCE)).responses.create(
        model="m", input="How much is the rent?", extra_body={"documents": documents}
    )
    message: Any = answer.output[0]
    (citation,) = message.content[0].annotations
    assert (citation.type, citation.url, citation.title) == ("url_citation", metadata["url"], "The lease")
    assert TRUE[citation.start_index : citation.end_index] == TRUE.rstrip()


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"background": True}, "background"),
        ({"store": True}, "store"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"truncation": "auto"}, "truncation"),
        ({"reasoning": {"summary": "auto"}}, "reasoning.summary"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format"),
        ({"tools": [{"type": "web_search"}]}, "tools.0.type"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input.0.type"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}, "input.0.content.0.file_data"),
        ({"input": [{"role": "user", "content": [file("%PDF-1.7 x")]}]}, "input.0.content.0.file_data"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input.0.content.0.type"),
        ({"input": [{"role": "user", "content": [3]}]}, "input.0.content"),
        ({"prompt": {"id": "pmpt"}}, "prompt"),
    ],
)
def test_what_cannot_be_guarded_is_refused_before_anything_is_asked(serve, client, upstream, fields, param) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client(serve()).responses.create(**{**asking(), **fields})
    assert refused.value.param == param
    assert param in str(refused.value)
    assert upstream.bodies == []


def test_an_upstream_that_fails_while_writing(serve, client, upstream) -> None:
    upstream.usual = ENDING_EARLY
    address = serve()
    events = list(client(address).responses.create(**asking(), stream=True))
    error, failed = events[-2:]
    assert error.type == "error"
    assert (error.code, "upstream" in error.message) == ("upstream_broke_off", True)
    assert failed.type == "response.failed"
    assert (failed.response.status, failed.response.output_text) == ("failed", TRUE)
    with pytest.raises(openai.InternalServerError):
        client(address).responses.create(**asking())
