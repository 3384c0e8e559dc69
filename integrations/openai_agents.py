"""groundrail for the OpenAI Agents SDK: a guarded model, which holds text back, and an output guardrail, which trips.

Tested with openai-agents 0.24. Holding back and asking again is the guard's; this module turns the events of the
Responses protocol into text and back. Structured output and conversations that a server keeps are refused, and so are
items that are neither messages, reasoning nor calls of the agent's functions.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from itertools import count
from typing import Any, TypeAlias

from groundrail.errors import GenerationError, InputError, MissingExtraError
from groundrail.generators.asked import AskedSession
from groundrail.guard import Guard
from groundrail.integrations.doors import closed, metadata, unknown
from groundrail.openai.generator import continued
from groundrail.sources.echoes import Echoes
from groundrail.types import GuardResult, Source

try:
    from agents import (
        GuardrailFunctionOutput,
        ItemHelpers,
        Model,
        ModelResponse,
        OutputGuardrail,
        RunContextWrapper,
        Usage,
    )
    from agents.models.fake_id import FAKE_RESPONSES_ID
    from openai.types import responses
except ImportError as error:
    raise MissingExtraError("groundrail.integrations.openai_agents", "openai-agents") from error

_PACKAGE = "openai-agents"
_PARAMETERS = ("model_settings", "tools", "output_schema", "handoffs", "tracing")
"""Parameters of a model's two methods, after its instructions and its input."""
SourceOf: TypeAlias = Callable[[Sequence[Any]], Source]
"""Finds the source of an answer in the input items before it."""


def tool_results(items: Sequence[Any]) -> list[str]:
    """The texts that function tools returned, without text that the model itself wrote into its calls."""
    echoes, found = Echoes(), []
    for item in items:
        if item.get("type") == "function_call":
            echoes.call(item["arguments"])
        elif item.get("type") == "function_call_output":
            found.append(echoes.evidence(_text(item["output"])))
    return [text for text in found if text.strip()]


def grounded(guard: Guard, source: Source | Callable[[RunContextWrapper[Any]], Source]) -> OutputGuardrail[Any]:
    """An output guardrail: it trips where the source does not support the final output; `output_info` is the result.

    A guardrail sees an answer when it is whole and holds no stream back; `GuardedModel` does.

    Example: `Agent("clerk", output_guardrails=[grounded(guard, lease)])`.
    """

    async def check(context: RunContextWrapper[Any], agent: Any, output: Any) -> GuardrailFunctionOutput:
        result = await guard.acheck(output, source(context) if callable(source) else source)
        return GuardrailFunctionOutput(output_info=result, tripwire_triggered=not result.supported)

    return OutputGuardrail(guardrail_function=check, name="grounded")


@closed(_PACKAGE)
class GuardedModel(Model):
    """A model for any agent, whose text goes out sentence by sentence once the source supports it.

    source: the source of every answer, or a function that finds it in the input items; the results of tools by default.
    on_result: called with the `GuardResult` of every answer.

    Calls of the agent's functions and handoffs are passed on unchecked, after the text. Reasoning keeps its id and loses
    its text. Another item, such as the result of a hosted tool, raises a GenerationError.

    Example: `Agent("clerk", model=GuardedModel(OpenAIResponsesModel("gpt-5", client), guard, lease))`.
    """

    def __init__(
        self,
        wrapped: Model,
        guard: Guard,
        source: Source | SourceOf = tool_results,
        on_result: Callable[[GuardResult], None] | None = None,
    ) -> None:
        self.wrapped, self.guard, self.source, self.on_result = wrapped, guard, source, on_result

    async def close(self) -> None:
        """Close the wrapped model."""
        await self.wrapped.close()

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self.wrapped._cleanup_on_run_end(owner)

    def get_retry_advice(self, request: Any) -> Any:
        """The wrapped model's advice on a failed request."""
        return self.wrapped.get_retry_advice(request)

    async def get_response(self, system_instructions: str | None, input: Any, *call: Any, **named: Any) -> ModelResponse:
        """The released text as one message, then the other items. Raises: InputError, GenerationError."""
        named = dict(zip(_PARAMETERS, call, strict=False)) | named
        last = ModelResponse(output=[], usage=Usage(), response_id=None)

        async def ask(items: list[Any]) -> AsyncGenerator[str]:
            response = await self.wrapped.get_response(system_instructions, items, **named)
            response.usage.add(last.usage)
            last.output, last.usage = response.output, response.usage
            last.response_id = metadata({"id": response.response_id}).get("id")
            yield "".join(ItemHelpers.extract_text(item) or "" for item in response.output)

        async with aclosing(self._released(input, ask, named)) as pieces:
            text = "".join([piece async for piece in pieces])
        last.output = [*([_message(text)] if text else []), *_beside_text(last.output, named)]
        return last

    async def stream_response(
        self, system_instructions: str | None, input: Any, *call: Any, **named: Any
    ) -> AsyncIterator[Any]:
        """The events of `get_response`."""
        named = dict(zip(_PARAMETERS, call, strict=False)) | named
        done: list[responses.Response] = []

        async def ask(items: list[Any]) -> AsyncGenerator[str]:
            done.clear()
            stream: Any = self.wrapped.stream_response(system_instructions, items, **named)
            async with aclosing(stream) as events:
                async for event in events:
                    if event.type in ("response.output_text.delta", "response.refusal.delta"):
                        yield event.delta
                    elif event.type == "response.completed":
                        done.append(event.response)
                    elif event.type in ("response.incomplete", "response.failed", "error"):
                        raise GenerationError(f"the model stopped before the answer's end ({event.type})")

        text, number = "", count()
        place: dict[str, Any] = {"item_id": FAKE_RESPONSES_ID, "output_index": 0, "content_index": 0}
        async with aclosing(self._released(input, ask, named)) as pieces:
            async for piece in pieces:
                if not text:
                    item = _message("", "in_progress")
                    yield responses.ResponseOutputItemAddedEvent(
                        type="response.output_item.added", item=item, output_index=0, sequence_number=next(number)
                    )
                text += piece
                yield responses.ResponseTextDeltaEvent(
                    type="response.output_text.delta", delta=piece, logprobs=[], sequence_number=next(number), **place
                )
        items = [*([_message(text)] if text else []), *_beside_text(done[0].output if done else [], named)]
        for index, item in enumerate(items):
            yield responses.ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=index, sequence_number=next(number)
            )
        if not done:
            raise GenerationError("the model's answer ended without its last event; nothing more of it is known")
        yield responses.ResponseCompletedEvent(
            type="response.completed", response=_response(done[0], items), sequence_number=next(number)
        )

    async def _released(
        self, input: Any, ask: Callable[[list[Any]], AsyncGenerator[str]], named: Mapping[str, Any]
    ) -> AsyncGenerator[str]:
        _refuse_what_cannot_be_guarded(named)
        items: list[Any] = list(ItemHelpers.input_to_new_input_list(input))

        source = self.source(items) if callable(self.source) else self.source
        question = next((_text(item["content"]) for item in reversed(items) if item.get("role") == "user"), "")
        session = AskedSession(lambda accepted, refused: ask(continued(items, accepted, refused)))
        async with await self.guard.with_generator(session).astream(question, source) as released:
            async for piece in released:
                yield piece
        if self.on_result is not None:
            self.on_result(released.result)


def _refuse_what_cannot_be_guarded(named: Mapping[str, Any]) -> None:
    schema = named.get("output_schema")
    if schema is not None and not schema.is_plain_text():
        raise InputError("structured output is not checked against any source: leave the agent's output_type out")
    if named.get("previous_response_id") or named.get("conversation_id"):
        raise InputError(
            "a conversation that the server keeps holds refused text as well: send the messages with each run instead"
        )


def _message(text: str, status: Any = "completed") -> responses.ResponseOutputMessage:
    content: list[Any] = [responses.ResponseOutputText(type="output_text", text=text, annotations=[])] if text else []
    return responses.ResponseOutputMessage(
        id=FAKE_RESPONSES_ID, type="message", role="assistant", status=status, content=content
    )


def _response(said: responses.Response, items: list[Any]) -> responses.Response:
    """A response of these items, with the names and counts of the one that came."""
    known = metadata({"id": said.id, "model": said.model, "usage": said.usage and said.usage.model_dump()})
    return responses.Response(
        id=known.get("id", FAKE_RESPONSES_ID),
        created_at=said.created_at,
        model=known.get("model", ""),
        object="response",
        output=items,
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
        usage=responses.ResponseUsage.model_validate(known["usage"]) if "usage" in known else None,
    )


def _beside_text(items: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The calls of functions, with what reasoning they need, which loses its text.

    Raises: GenerationError for a call of a function that the agent does not have, and for another item.
    """
    tools = {getattr(tool, "name", None) for tool in named.get("tools") or ()}
    offered = tools | {handoff.tool_name for handoff in named.get("handoffs") or ()}
    found: list[Any] = []
    for item in items:
        if isinstance(item, responses.ResponseFunctionToolCall) and item.name in offered:
            fields = ("arguments", "call_id", "name", "type", "id", "status", "namespace")
            kept = {name: getattr(item, name, None) for name in fields}
            found.append(responses.ResponseFunctionToolCall.model_validate(kept))
        elif isinstance(item, responses.ResponseReasoningItem):
            key = item.encrypted_content
            found.append(responses.ResponseReasoningItem(id=item.id, type="reasoning", summary=[], encrypted_content=key))
        elif isinstance(item, responses.ResponseFunctionToolCall):
            raise unknown("a call of a function that the agent does not have,", _PACKAGE)
        elif not isinstance(item, responses.ResponseOutputMessage):
            raise unknown(item, _PACKAGE)
    return found if any(item.type == "function_call" for item in found) else []


def _text(content: Any) -> str:
    """The text of an item's content, which may be in parts."""
    return content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content)
