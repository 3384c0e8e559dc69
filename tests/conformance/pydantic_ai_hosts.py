"""The hosts of pydantic-ai, around its own `FunctionModel`."""

from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from tests.conformance.hosts import ABSTENTION, AGAIN, Host, in_a_loop
from tests.conformance.recorder import Seen
from tests.conformance.scripts import FALSE, QUESTION, SOURCE, Script

from groundrail.integrations.pydantic_ai import GuardedModel


def written(script: Script) -> FunctionModel:
    """A model that writes the script, one reply each time that it is asked."""
    asked = iter(range(100))

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        number = next(asked)
        if script.way == "reasoning":
            yield {0: DeltaThinkingPart(content="".join(FALSE))}
        yield ""
        for piece in script.reply(number):
            yield piece
        if script.way == "tools" and number == 0:
            yield {1: DeltaToolCall(name="look_up", json_args='{"what": "rent"}', tool_call_id="1")}

    def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        number = next(asked)
        thinking = [ThinkingPart("".join(FALSE))] if script.way == "reasoning" else []
        calls = [ToolCallPart("look_up", {"what": "rent"}, "1")] if script.way == "tools" and number == 0 else []
        return ModelResponse(parts=[*thinking, TextPart("".join(script.reply(number))), *calls])

    return FunctionModel(whole, stream_function=stream)


def agent(script: Script) -> Agent[None, str]:
    subject = Agent(GuardedModel(written(script), script.guard(), SOURCE))

    @subject.tool_plain
    def look_up(what: str) -> str:
        return SOURCE

    return subject


def streamed(script: Script) -> Seen:
    async def run(seen: Seen) -> None:
        async with agent(script).run_stream_events(QUESTION) as events:
            async for event in events:
                seen.note(event)
                part, delta = getattr(event, "part", None), getattr(event, "delta", None)
                if event.event_kind == "part_start" and isinstance(part, TextPart):
                    seen.pieces.append(part.content)
                elif event.event_kind == "part_delta":
                    seen.pieces.append(getattr(delta, "content_delta", ""))
                elif event.event_kind == "agent_run_result":
                    seen.note(event.result.all_messages_json().decode())

    return in_a_loop(run)


def whole(script: Script) -> Seen:
    async def run(seen: Seen) -> None:
        result = await agent(script).run(QUESTION)
        seen.note(result.all_messages_json().decode())
        for message in result.new_messages():
            seen.pieces += [part.content for part in message.parts if isinstance(part, TextPart)]

    return in_a_loop(run)


HOSTS = {
    "pydantic-ai `GuardedModel`, run_stream_events": Host(streamed, (*AGAIN, "reasoning", "tools"), blank=ABSTENTION),
    "pydantic-ai `GuardedModel`, run": Host(
        whole, ("whole", "half", "raise", "again", "reasoning", "tools"), whole=True, blank=ABSTENTION
    ),
}
