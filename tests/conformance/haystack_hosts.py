"""The host of Haystack, in a pipeline around a chat generator that writes the script."""

import asyncio
import os
from typing import Any

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from haystack import Document, Pipeline, component
from haystack.dataclasses import ChatMessage, ReasoningContent, StreamingChunk, ToolCall
from tests.conformance.hosts import TEXT, Host, in_a_loop
from tests.conformance.recorder import Seen, recorded
from tests.conformance.scripts import FALSE, QUESTION, SOURCE, Script

from groundrail.integrations.haystack import GuardedChatGenerator


@component
class Written:
    """A chat generator that writes the script into its callback, and as its reply."""

    def __init__(self, script: Script) -> None:
        self._script = script

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], streaming_callback: Any = None, **options: Any) -> dict[str, Any]:
        for chunk in self._chunks():
            streaming_callback(chunk)
        return self._replies()

    @component.output_types(replies=list[ChatMessage])
    async def run_async(self, messages: list[ChatMessage], streaming_callback: Any = None, **options: Any) -> dict[str, Any]:
        for chunk in self._chunks():
            await streaming_callback(chunk)
        return self._replies()

    def _chunks(self) -> Any:
        if self._script.way == "reasoning":
            yield StreamingChunk("", index=0, reasoning=ReasoningContent("".join(FALSE)))
        for piece in self._script.reply(0):
            yield StreamingChunk(piece)
        yield StreamingChunk("", finish_reason=self._finish_reason)

    def _replies(self) -> dict[str, Any]:
        thought = "".join(FALSE) if self._script.way == "reasoning" else None
        meta = {"finish_reason": self._finish_reason}
        calls = [ToolCall("look_up", {"what": "rent"})] if self._script.way == "tools" else None
        replies = [ChatMessage.from_assistant(self._script.text, meta, tool_calls=calls, reasoning=thought)]
        if self._script.way == "choices":
            replies.append(ChatMessage.from_assistant("".join(FALSE)))
        return {"replies": replies}

    @property
    def _finish_reason(self) -> Any:
        return "length" if self._script.way == "half" else "stop"


def _given() -> dict[str, Any]:
    return {"llm": {"messages": [ChatMessage.from_user(QUESTION)], "documents": [Document(content=SOURCE)]}}


def _note_replies(seen: Seen, outcome: Any) -> None:
    replies = outcome["llm"]["replies"]
    seen.note(replies)
    seen.note([reply.to_dict() for reply in replies])
    seen.result = replies[0].text


def streamed(script: Script) -> Seen:
    with recorded() as seen:

        def show(chunk: StreamingChunk) -> None:
            seen.note(chunk)
            seen.pieces.append(chunk.content)

        pipeline = Pipeline()
        pipeline.add_component("llm", GuardedChatGenerator(Written(script), script.guard(), show))
        _note_replies(seen, pipeline.run(_given()))
    return seen


def astreamed(script: Script) -> Seen:
    async def run(seen: Seen) -> None:
        async def show(chunk: StreamingChunk) -> None:
            await asyncio.sleep(0)
            seen.note(chunk)
            seen.pieces.append(chunk.content)

        subject = GuardedChatGenerator(Written(script), script.guard(), show)
        _note_replies(seen, {"llm": await subject.run_async(**_given()["llm"])})

    return in_a_loop(run)


HOSTS = {
    "Haystack `GuardedChatGenerator`, run": Host(streamed, (*TEXT, "reasoning", "choices"), knows_half=True),
    "Haystack `GuardedChatGenerator`, run_async": Host(astreamed, (*TEXT, "reasoning", "choices"), knows_half=True),
}
