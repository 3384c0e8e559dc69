"""The hosts of the OpenAI Agents SDK, around a model that speaks the Responses protocol's events."""

import itertools
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.tracing import TracingProcessor, set_trace_processors
from openai.types import responses
from tests.conformance.hosts import AGAIN, Host, in_a_loop
from tests.conformance.recorder import Seen
from tests.conformance.scripts import FALSE, QUESTION, SOURCE, Script

from groundrail.integrations.openai_agents import GuardedModel

set_trace_processors([])  # without the one that sends traces to OpenAI


class Written(Model):
    """A model that writes the script, one reply each time that it is asked."""

    def __init__(self, script: Script) -> None:
        self._script, self._asked = script, itertools.count()

    async def get_response(self, *call: Any, **named: Any) -> ModelResponse:
        number = next(self._asked)
        output = self._output(number, "".join(self._script.reply(number)))
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    async def stream_response(self, *call: Any, **named: Any) -> AsyncIterator[Any]:
        number, text = next(self._asked), ""
        for piece in self._script.reply(number):
            text += piece
            yield responses.ResponseTextDeltaEvent(
                type="response.output_text.delta",
                delta=piece,
                logprobs=[],
                sequence_number=0,
                item_id="message",
                output_index=0,
                content_index=0,
            )
        yield responses.ResponseCompletedEvent(
            type="response.completed",
            sequence_number=0,
            response=responses.Response(
                id="response",
                created_at=0,
                model="scripted",
                object="response",
                output=self._output(number, text),
                parallel_tool_calls=False,
                tool_choice="auto",
                tools=[],
            ),
        )

    def _output(self, number: int, text: str) -> list[Any]:
        output: list[Any] = []
        if self._script.way == "reasoning":
            thought: Any = [{"type": "summary_text", "text": "".join(FALSE)}]
            output.append(responses.ResponseReasoningItem(id="reasoning", type="reasoning", summary=thought))
        content: Any = [{"type": "output_text", "text": text, "annotations": []}]
        message: Any = {"id": "message", "type": "message", "role": "assistant", "status": "completed"}
        output.append(responses.ResponseOutputMessage(content=content, **message))
        if self._script.way == "tools" and number == 0:
            call: Any = {"type": "function_call", "call_id": "1", "name": "look_up", "arguments": '{"what": "rent"}'}
            output.append(responses.ResponseFunctionToolCall(**call))
        return output


@function_tool
def look_up(what: str) -> str:
    """Look something up in the lease."""
    return SOURCE


class _Traces(TracingProcessor):
    """A processor of the consumer, which notes every trace and span."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def on_trace_start(self, trace: Any) -> None:
        self._seen.note(trace.export())

    on_trace_end = on_trace_start

    def on_span_start(self, span: Any) -> None:
        self._seen.note(span.export())
        self._seen.note(span.span_data)

    on_span_end = on_span_start

    def shutdown(self) -> None:
        """Nothing is kept."""

    def force_flush(self) -> None:
        """Nothing is kept."""


def agent(script: Script, seen: Seen) -> Agent[None]:
    """An agent whose model is guarded, and whose traces are seen."""
    set_trace_processors([_Traces(seen)])
    model = GuardedModel(Written(script), script.guard(), SOURCE, on_result=seen.note)
    return Agent("clerk", model=model, tools=[look_up])


def streamed(script: Script) -> Seen:
    async def run(seen: Seen) -> None:
        result = Runner.run_streamed(agent(script, seen), QUESTION)
        async for event in result.stream_events():
            seen.note(event)
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                seen.pieces.append(event.data.delta)
        seen.note(result.to_input_list())

    return in_a_loop(run)


def whole(script: Script) -> Seen:
    async def run(seen: Seen) -> None:
        result = await Runner.run(agent(script, seen), QUESTION, run_config=RunConfig())
        seen.note(result.to_input_list())
        for item in result.new_items:
            seen.note(item)
            if item.type == "message_output_item":
                seen.pieces += [part.text for part in item.raw_item.content if part.type == "output_text"]

    return in_a_loop(run)


HOSTS = {
    "OpenAI Agents `GuardedModel`, run_streamed": Host(streamed, (*AGAIN, "reasoning", "tools")),
    "OpenAI Agents `GuardedModel`, run": Host(whole, ("whole", "half", "raise", "again", "reasoning", "tools"), whole=True),
}
