"""Answers out of bytes: whatever way they are cut, and whatever it is that comes instead."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from groundrail.openai.events import LONGEST, Call, Completion, StreamError, texts_of


def chunk(text: str, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, **fields}]}


END = chunk("", finish_reason="stop")


def sent(*events: Any) -> bytes:
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def read(*pieces: bytes, completion: Completion | None = None) -> list[str]:
    async def given() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def read_all() -> list[str]:
        return [text async for text in texts_of(given(), completion or Completion())]

    return asyncio.run(read_all())


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_it_does_not_matter_how_the_bytes_are_cut(line_break: str) -> None:
    """Within a character, a line or its end; characters that end lines elsewhere do not here."""
    text = "Größe: 😀 a\u2028b\x85c\u000b"
    events = (f"data: {json.dumps(each, ensure_ascii=False)}" for each in (chunk(text), END))
    data = (line_break + line_break.join([": still there", "event: x", *events, ""]) + line_break).encode()
    for at in range(len(data)):
        assert read(data[:at], data[at:]) == [text, ""]
    assert read(*(bytes([byte]) for byte in data)) == [text, ""]


def test_nothing_follows_the_end() -> None:
    assert read(sent(chunk("a")) + b"data: [DONE]\n\n" + sent(chunk("more")), sent(chunk("more"))) == ["a"]
    assert read(b"data: [DONE]\n", b"x" * 2 * LONGEST) == []


def test_a_last_line_needs_no_end() -> None:
    assert read(sent(chunk("a", finish_reason="stop")).strip()) == ["a"]


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"choices": None, "usage": None},
        {"choices": [], "usage": {"total_tokens": 3, "details": {"cached": None}}},
        {"choices": [{"index": 0, "delta": None, "finish_reason": None, "logprobs": 3}], "x_other": [1]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}, "more": 1}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"custom": {"name": "f", "input": ""}}]}}]},
    ],
)
def test_chunks_as_servers_write_them(known: dict[str, Any]) -> None:
    assert read(sent(known, END)) == ["", ""]


WRONG: list[Any] = [
    [],
    "text",
    {"choices": 5},
    {"choices": {"a": 1}},
    {"choices": ["text"]},
    {"choices": [{"delta": "text"}]},
    {"choices": [{"delta": {"content": ["text"]}}]},
    {"choices": [{"delta": {"tool_calls": 5}}]},
    {"choices": [{"delta": {"tool_calls": ["text"]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": "0"}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": 3}}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"function": {"name": 3}}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"id": 3}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"custom": "text"}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"custom": {"input": 3}}]}}]},
    {"choices": [{"delta": {"function_call": "text"}}]},
    {"choices": [{"finish_reason": 5}]},
]


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (b"data: {nonsense\n", "garbage", "malformed JSON: {nonsense"),
        (b"data: \xff\n", "garbage", "malformed JSON"),
        (b"data: " + b"[" * 100_000 + b"\n", "garbage", "malformed JSON"),
        *((sent(wrong), "garbage", "something else than chunks") for wrong in WRONG),
        (b"x" * (LONGEST + 1), "garbage", "an event of over"),
        (sent({"error": {"message": "out of memory"}}), "failed", "out of memory"),
        (sent({"choices": []}), "incomplete", "before the answer was complete"),
        (b"", "incomplete", "before the answer was complete"),
    ],
)
def test_a_stream_that_is_no_whole_answer_is_an_error_of_its_kind(data: bytes, kind: str, said: str) -> None:
    with pytest.raises(StreamError, match=said) as broken:
        read(data)
    assert broken.value.kind == kind


def test_a_completion_keeps_what_is_no_text() -> None:
    completion = Completion()
    call = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]}
    more = {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}
    told: list[dict[str, Any]] = [
        {"model": "m", "choices": [{"delta": {"content": "a \ud83d"}}, {"delta": {"content": "another choice"}}]},
        {"choices": [{"delta": {"content": "\ude00", "refusal": " no"}}], "usage": {"n": 1, "of": {"x": 1, "y": None}}},
        {"choices": [{"delta": call}]},
        {"choices": [{"delta": more, "finish_reason": "length"}]},
        {"choices": [], "usage": {"n": 2, "of": {"x": 2}, "more": "many"}},
    ]
    assert [completion.read(chunk) for chunk in told] == ["a ", "😀 no", "", "", ""]
    assert (completion.finish_reason, completion.calls) == ("length", {0: Call("function", "a", "f", "{}")})
    assert completion.cut_off == "the server cut the answer off (length)"
    assert completion.usage == {"n": 3, "of": {"x": 3, "y": 0}, "more": 0}
    assert (completion.read({"choices": [{"delta": {"content": "b\ud83d"}}]}), completion.rest()) == ("b", "\ud83d")
    assert completion.rest() == ""


def test_the_first_choice_is_known_by_its_index_wherever_it_stands() -> None:
    """Servers send each choice in chunks of its own, and in no order."""
    call = {"tool_calls": [{"index": 0, "id": "a"}]}
    told: list[dict[str, Any]] = [
        {"choices": [{"index": 1, "delta": {"content": "Another choice."}}]},
        {"choices": [{"index": 0, "delta": {"content": "The rent"}}]},
        {"choices": [{"index": 1, "delta": call, "finish_reason": "length"}]},
        {"choices": [{"index": 1, "delta": {"content": "No. "}}, {"index": 0, "delta": {"content": " is 950."}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    completion = Completion()
    assert read(sent(*told), completion=completion) == ["", "The rent", "", " is 950.", ""]
    assert (completion.finish_reason, completion.calls) == ("stop", {})
    with pytest.raises(StreamError, match="before the answer was complete"):
        read(sent(*told[:-1]))


@pytest.mark.parametrize(
    "reason", ["length", "max_tokens", "MAX_TOKENS", "SAFETY", "model_length", "ERROR_TOXIC", "content-filter", "abort"]
)
def test_the_reasons_of_other_servers_to_stop_early_count_as_cut(reason: str) -> None:
    completion = Completion()
    completion.read({"choices": [{"delta": {"content": "The rent is not"}, "finish_reason": reason}]})
    assert reason in completion.cut_off


@pytest.mark.parametrize("reason", [None, "stop", "STOP", "end_turn", "eos", "tool_calls"])
def test_a_whole_answer_is_not_cut(reason: str | None) -> None:
    completion = Completion()
    completion.read({"choices": [{"delta": {"content": "The rent is due."}, "finish_reason": reason}]})
    assert completion.cut_off == ""
