"""Chunks out of bytes: whatever way they are cut, and whatever it is that comes instead."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from groundrail.openai.events import LONGEST, Call, Chunks, Completion, StreamError, achunks_of


def chunk(text: str, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, **fields}]}


def read(chunks: Chunks, *pieces: bytes) -> list[dict[str, Any]]:
    return [found for piece in pieces for found in chunks.feed(piece)]


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_it_does_not_matter_how_the_bytes_are_cut(line_break: str) -> None:
    """Within a character, a line or its end; characters that end lines elsewhere do not here."""
    sent = [chunk("Größe: 😀 a\u2028b\x85c\u000b"), chunk("", finish_reason="stop")]
    lines = [": still there", "event: x", *(f"data: {json.dumps(each, ensure_ascii=False)}" for each in sent), ""]
    data = (line_break + line_break.join(lines) + line_break).encode()
    for at in range(len(data)):
        chunks = Chunks()
        assert read(chunks, data[:at], data[at:]) == sent
        assert chunks.ended
        assert not chunks.done
    chunks = Chunks()
    assert read(chunks, *(bytes([byte]) for byte in data)) == sent


def test_nothing_follows_the_end() -> None:
    chunks = Chunks()
    after = f"data: {json.dumps(chunk('more'))}\n\n".encode()
    assert read(chunks, b"data: [DONE]\n\n" + after, after) == []
    assert chunks.done
    assert chunks.ended


def test_a_last_line_needs_no_end() -> None:
    chunks = Chunks()
    assert read(chunks, b"data: " + json.dumps(chunk("a", finish_reason="stop")).encode()) == []
    assert list(chunks.close()) == [chunk("a", finish_reason="stop")]
    assert chunks.ended


def test_halves_of_a_character_pass() -> None:
    """One is in each of two chunks, and joining them is their reader's affair."""
    sent = [chunk("\ud83d"), chunk("\ude00")]
    assert read(Chunks(), *(f"data: {json.dumps(each)}\n\n".encode() for each in sent)) == sent


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
    assert read(Chunks(), f"data:{json.dumps(known)}\n".encode()) == [known]


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
    ("data", "said"),
    [
        (b"{nonsense", "malformed JSON: {nonsense"),
        (b"\xff", "malformed JSON"),
        (b"[" * 100_000, "malformed JSON"),
        *((json.dumps(wrong).encode(), "something else than chunks") for wrong in WRONG),
    ],
)
def test_what_is_no_chunk_is_an_error(data: bytes, said: str) -> None:
    with pytest.raises(StreamError, match=said):
        read(Chunks(), b"data: " + data + b"\n\n")


def test_a_line_without_end_is_not_read_for_ever() -> None:
    chunks = Chunks()
    assert read(chunks, b"x" * LONGEST) == []
    with pytest.raises(StreamError, match="an event of over"):
        read(chunks, b"x")


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ([b'data: {"choices": []}\n\n'], "incomplete"),
        ([b'data: {"error": {"message": "out of memory"}}\n\n'], "failed"),
        ([b"data: {\n\n"], "garbage"),
        ([], "incomplete"),
    ],
)
def test_a_stream_that_is_no_whole_answer_is_an_error_of_its_kind(pieces: list[bytes], kind: str) -> None:
    async def given() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def read_all() -> list[dict[str, Any]]:
        return [chunk async for chunk in achunks_of(given())]

    with pytest.raises(StreamError) as broken:
        asyncio.run(read_all())
    assert broken.value.kind == kind


def test_an_event_loop_leaves_a_stream_at_its_end() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"data: [DONE]\n\n"
        raise RuntimeError("the server goes on")

    async def read_all() -> list[dict[str, Any]]:
        return [chunk async for chunk in achunks_of(pieces())]

    assert asyncio.run(read_all()) == []


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
    completion, chunks, ended = Completion(), Chunks(), []
    for each in told:
        assert read(chunks, f"data: {json.dumps(each)}\n\n".encode()) == [each]
        ended.append(chunks.ended)
    assert [completion.read(each) for each in told] == ["", "The rent", "", " is 950.", ""]
    assert (completion.finish_reason, completion.calls) == ("stop", {})
    assert ended == [False, False, False, False, True]


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
