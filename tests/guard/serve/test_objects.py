"""Chat completions in JSON: an object goes out whole and without its refused fields, and bad ones are errors."""

import json
from typing import Any

import openai
import pytest
from tests.guard.serve.conftest import SOURCE, Client, Serve, Upstream, asking, writing

from groundrail import Policy

RIGHT, WRONG = '{"rent": "950 euros", "pets": "allowed"}', '{"rent": "990 euros", "pets": "allowed"}'


def json_schema(*kinds: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"rent": {"type": list(kinds)}}, "required": ["rent"]}
    return {"type": "json_schema", "json_schema": {"name": "lease", "schema": schema}}


def with_pattern() -> dict[str, Any]:
    wanted = json_schema("string")
    wanted["json_schema"]["schema"]["properties"]["rent"]["pattern"] = "(a+)+$"
    return wanted


def request(response_format: Any, **fields: Any) -> dict[str, Any]:
    asked = asking(response_format=response_format, **fields)
    documents = asked.pop("documents")
    return {**asked, "extra_body": {"documents": documents}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("response_format", [{"type": "json_object"}, json_schema("string", "null")])
@pytest.mark.parametrize(("written", "rent"), [(RIGHT, "950 euros"), (WRONG, None)])
def test_an_object_goes_out_whole(
    serve: Serve, client: Client, upstream: Upstream, stream: bool, response_format: Any, written: str, rent: Any
) -> None:
    upstream.usual = writing(written)
    answer: Any = client(serve()).chat.completions.create(**request(response_format), stream=stream)
    if stream:
        texts = [chunk.choices[0].delta.content for chunk in answer if chunk.choices and chunk.choices[0].delta.content]
    else:
        texts = [answer.choices[0].message.content]
    assert [json.loads(text) for text in texts] == [{"rent": rent, "pets": "allowed"}]
    assert upstream.bodies[0]["response_format"] == response_format
    assert len(upstream.bodies) == 1


def test_the_verdict_is_told_without_the_refused_value(serve: Serve, client: Client, upstream: Upstream) -> None:
    upstream.usual = writing(WRONG)
    answer: Any = client(serve()).chat.completions.create(**request({"type": "json_object"}))
    (sentence,) = answer.groundrail["sentences"]
    assert sentence["verdict"] == "unsupported"
    assert "/rent" in sentence["reason"]
    assert sentence["citations"]
    assert all(citation["text"] in SOURCE for citation in sentence["citations"])
    assert "990 euros" not in answer.to_json()


@pytest.mark.parametrize("stream", [False, True])
def test_a_field_that_cannot_be_null_is_an_error_that_names_it(
    serve: Serve, client: Client, upstream: Upstream, stream: bool
) -> None:
    upstream.usual = writing(WRONG)
    with pytest.raises(openai.APIError, match="/rent") as failed:
        list(client(serve()).chat.completions.create(**request(json_schema("string")), stream=stream))
    assert "990" not in str(failed.value)


@pytest.mark.parametrize("written", ["The rent is 990 euros.", '{"rent": "990', "[990, NaN]", "[" * 99 + "]" * 99])
def test_a_text_that_is_no_object_is_an_error_without_the_text(
    serve: Serve, client: Client, upstream: Upstream, written: str
) -> None:
    upstream.usual = writing(written)
    with pytest.raises(openai.InternalServerError, match="cannot be used") as failed:
        client(serve()).chat.completions.create(**request({"type": "json_object"}))
    assert failed.value.status_code == 502
    assert "990" not in str(failed.value)


def test_half_an_object_is_an_error(serve: Serve, client: Client, upstream: Upstream) -> None:
    upstream.usual = writing('{"rent": ', finish="length")
    with pytest.raises(openai.InternalServerError, match="not whole"):
        client(serve()).chat.completions.create(**request({"type": "json_object"}))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"response_format": json_schema("lease")}, "schema cannot be read"),
        ({"response_format": {"type": "json_schema"}}, "response_format is"),
        ({"response_format": with_pattern()}, "regular expressions"),
        (
            {"response_format": {"type": "json_object"}, "tools": [{"type": "function", "function": {"name": "a"}}]},
            "without tools",
        ),
    ],
)
def test_a_format_that_cannot_be_guarded_is_refused_before_the_upstream_is_asked(
    serve: Serve, client: Client, upstream: Upstream, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=said):
        client(serve()).chat.completions.create(**request(**fields))
    assert upstream.bodies == []


def test_raise_and_flag_are_the_policys(serve: Serve, client: Client, upstream: Upstream) -> None:
    upstream.usual = writing(WRONG)
    asked = request({"type": "json_object"})
    with pytest.raises(openai.UnprocessableEntityError, match="/rent"):
        client(serve(policy=Policy(fallback="raise"))).chat.completions.create(**asked)
    answer: Any = client(serve(policy=Policy(fallback="flag"))).chat.completions.create(**asked)
    assert json.loads(answer.choices[0].message.content) == json.loads(WRONG)
    assert answer.groundrail["supported"] is False
