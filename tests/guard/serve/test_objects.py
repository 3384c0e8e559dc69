"""Answers in JSON: an object goes out whole and without its refused fields, and bad ones are errors."""

import json
import re
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel
from tests.guard.serve.conftest import CHAT, KEY, SOURCE, completion, for_client, writing

from groundrail import Policy

ANY = {"type": "json_object"}
RIGHT, WRONG = '{"rent": "950 euros", "pets": "allowed"}', '{"rent": "990 euros", "pets": "allowed"}'


def json_schema(*kinds: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"rent": {"type": list(kinds)}}, "required": ["rent"]}
    return {"type": "json_schema", "json_schema": {"name": "lease", "schema": schema}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("response_format", [ANY, json_schema("string", "null")])
@pytest.mark.parametrize(("written", "rent"), [(RIGHT, "950 euros"), (WRONG, None)])
def test_an_object_goes_out_whole(serve, client, upstream, stream, response_format, written, rent) -> None:
    upstream.usual = writing(written)
    asked = client(serve()).chat.completions
    answer: Any = asked.create(**for_client(response_format=response_format, stream=stream))
    said = [chunk.choices[0].delta for chunk in answer] if stream else [answer.choices[0].message]
    texts = [each.content for each in said if each.content]
    assert [json.loads(text) for text in texts] == [{"rent": rent, "pets": "allowed"}]
    assert upstream.bodies[0]["response_format"] == response_format
    assert len(upstream.bodies) == 1


def test_the_verdict_is_told_without_the_refused_value(serve, client, upstream) -> None:
    upstream.usual = writing(WRONG)
    answer = completion(client(serve()), stream=False, response_format=ANY)
    (sentence,) = answer.groundrail["sentences"]
    assert sentence["verdict"] == "unsupported"
    assert "/rent" in sentence["reason"]
    assert sentence["citations"]
    assert all(citation["text"] in SOURCE for citation in sentence["citations"])
    assert "990 euros" not in answer.to_json()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (writing("The rent is 990 euros."), "cannot be used"),
        (writing('{"rent": "990'), "cannot be used"),
        (writing("[990, NaN]"), "cannot be used"),
        (writing("[" * 99 + "]" * 99), "cannot be used"),
        (writing('{"rent": ', finish="length"), "not whole"),
    ],
)
def test_a_text_that_is_no_object_is_an_error_without_the_text(serve, client, upstream, reply, said) -> None:
    upstream.usual = reply
    with pytest.raises(openai.InternalServerError, match=said) as failed:
        completion(client(serve()), stream=False, response_format=ANY)
    assert failed.value.status_code == 502
    assert "990" not in str(failed.value)


def test_raise_and_flag_are_the_policys(serve, client, upstream) -> None:
    upstream.usual = writing(WRONG)
    with pytest.raises(openai.UnprocessableEntityError, match="/rent"):
        completion(client(serve(policy=Policy(fallback="raise"))), stream=False, response_format=ANY)
    answer = completion(client(serve(policy=Policy(fallback="flag"))), stream=False, response_format=ANY)
    assert json.loads(answer.choices[0].message.content) == json.loads(WRONG)
    assert answer.groundrail["supported"] is False


class Lease(BaseModel):
    """The object that a client of the other two protocols asks for."""

    rent: str | None
    pets: str | None


LEASE = {"type": "object", "properties": {"rent": {"type": ["string", "null"]}, "pets": {"type": "string"}}}
ASKED = [{"role": "user", "content": "How much is the rent?"}]
FIELDS = {"/v1/responses": "text.format", "/v1/messages": "output_config.format", CHAT: "response_format"}
"""The field that asks for JSON, by the address of its protocol."""


def with_format(path: str, wanted: dict[str, Any], **fields: Any) -> dict[str, Any]:
    asked = {"model": "scripted", "documents": [SOURCE], "max_tokens": 100, "messages": ASKED, **fields}
    if path == CHAT:
        return asked | {"response_format": wanted}
    if path == "/v1/messages":
        return asked | {"output_config": {"format": wanted}}
    del asked["max_tokens"]
    asked["input"] = asked.pop("messages")
    return asked | {"text": {"format": wanted}}


def schema_format(path: str, schema: Any) -> dict[str, Any]:
    if path == CHAT:
        return {"type": "json_schema", "json_schema": {"name": "lease", "schema": schema}}
    return {"type": "json_schema", "schema": schema} | ({"name": "lease"} if path == "/v1/responses" else {})


@pytest.mark.parametrize(("written", "rent"), [(RIGHT, "950 euros"), (WRONG, None)])
def test_the_responses_client_parses_an_object_without_its_refused_fields(serve, client, upstream, written, rent) -> None:
    upstream.usual = writing(written)
    asked: dict[str, Any] = {"model": "scripted", "input": "How much is the rent?"}
    asked["extra_body"] = {"documents": [SOURCE]}
    responses = client(serve()).responses
    answer = responses.parse(text_format=Lease, **asked)
    assert answer.output_parsed == Lease(rent=rent, pets="allowed")
    with responses.stream(text_format=Lease, **asked) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        assert stream.get_final_response().output_parsed == answer.output_parsed
    assert len(deltas) == 1
    assert "990 euros" not in answer.to_json() + deltas[0]
    sent = upstream.bodies[0]["response_format"]
    assert (sent["type"], sent["json_schema"]["name"], sent["json_schema"]["strict"]) == ("json_schema", "Lease", True)
    assert set(sent["json_schema"]["schema"]["properties"]) == {"rent", "pets"}


@pytest.mark.parametrize(("written", "rent"), [(RIGHT, "950 euros"), (WRONG, None)])
def test_anthropics_client_parses_an_object_without_its_refused_fields(serve, upstream, written, rent) -> None:
    upstream.usual = writing(written)
    asked: dict[str, Any] = {"model": "scripted", "max_tokens": 100, "extra_body": {"documents": [SOURCE]}}
    asked["messages"] = ASKED
    with anthropic.Anthropic(base_url=serve(), api_key=KEY, max_retries=0, timeout=20) as client:
        answer = client.messages.parse(output_format=Lease, **asked)
        with client.messages.stream(output_format=Lease, **asked) as stream:
            streamed = stream.get_final_message()
    assert answer.parsed_output == streamed.parsed_output == Lease(rent=rent, pets="allowed")
    assert "990 euros" not in answer.to_json() + streamed.to_json()
    sent = upstream.bodies[0]["response_format"]
    assert sent["type"] == "json_schema"
    assert set(sent["json_schema"]["schema"]["properties"]) == {"rent", "pets"}


def test_any_object_is_asked_for_in_responses(serve, http, upstream) -> None:
    upstream.usual = writing(WRONG)
    body = http.post(serve() + "/v1/responses", json=with_format("/v1/responses", {"type": "json_object"})).json()
    assert json.loads(body["output"][0]["content"][0]["text"]) == {"rent": None, "pets": "allowed"}
    assert upstream.bodies[0]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("path", FIELDS)
def test_a_format_that_cannot_be_guarded_is_refused_before_the_upstream_is_asked(serve, http, upstream, path) -> None:
    field, function = FIELDS[path], {"type": "function", "function": {"name": "a"}}
    tool = {"/v1/responses": {"type": "function", "name": "a"}, CHAT: function}.get(path, {"name": "a"})
    patterned = {"type": "object", "properties": {"rent": {"type": "string", "pattern": "(a+)+$"}}}
    cases: list[tuple[dict[str, Any], str]] = [
        (with_format(path, schema_format(path, {"type": "lease"})), f"{field}: "),
        (with_format(path, schema_format(path, patterned)), f"{field}: the server runs no regular expressions"),
        (with_format(path, {"type": "xml"}), field),
        (with_format(path, {"type": "json_schema"}), field),
        (with_format(path, schema_format(path, LEASE), tools=[tool]), "tools: "),
    ]
    address = serve()
    for body, said in cases:
        refused = http.post(address + path, json=body)
        assert refused.status_code == 400
        error = refused.json()["error"]
        assert error["type"] == "invalid_request_error"
        assert error["message"].startswith(said)
    assert upstream.bodies == []


@pytest.mark.parametrize("path", FIELDS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_field_that_cannot_be_null_is_an_error_of_the_protocol(serve, http, upstream, path, stream) -> None:
    upstream.usual = writing(WRONG)
    schema = {"type": "object", "properties": {"rent": {"type": "string"}}, "required": ["rent"]}
    answer = http.post(serve() + path, json=with_format(path, schema_format(path, schema), stream=stream))
    assert "/rent" in answer.text
    assert "990 euros" not in answer.text
    assert stream or answer.status_code == 422
    if stream:
        assert '"error"' in answer.text
        assert not re.search("completed|message_stop|DONE", answer.text)
