"""groundrail for pydantic-ai: a guarded model, which holds text back, and an output validator, which asks again.

Tested with pydantic-ai 2.68. Holding back and asking again is the guard's; this module turns pydantic-ai's messages and
streams into text and back. Structured output is not guarded: the model refuses it, and the validator takes text alone.
Parts that are neither text, reasoning nor calls of the request's tools are refused.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias, get_args

from groundrail.errors import GenerationError, InputError, MissingExtraError
from groundrail.generators.asked import AVOID, AskedGenerator, Refusal, request_to_continue
from groundrail.guard import Guard
from groundrail.integrations.doors import closed, metadata, unknown
from groundrail.sources.echoes import Echoes
from groundrail.types import Source

try:
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.messages import (
        FinishReason,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        ModelResponsePart,
        ModelResponseStreamEvent,
        PartDeltaEvent,
        PartStartEvent,
        TextPart,
        TextPartDelta,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.settings import ModelSettings
except ImportError as error:
    raise MissingExtraError("groundrail.integrations.pydantic_ai", "pydantic-ai") from error

SourceOf: TypeAlias = Callable[[Sequence[ModelMessage]], Source]
"""Finds the source of an answer in the messages before it."""
_PACKAGE = "pydantic-ai-slim"
_SETTINGS = """
accepts_server_state accepts_stateless_artifacts base_url canonical_system compatible_systems context_window count_tokens
customize_request_parameters label model_id model_name prepare_messages prepare_request profile provider
resolve_cache_retention resolve_prompt_cache_retention settings supported_native_tools supported_tool_addition_modes
supported_tool_deferral_modes system tool_addition_mode tool_deferral_mode unsupported_native_tool_settings
""".split()
"""Methods of a model that give no text: they describe the model or prepare a request."""
_REASONS = (None, *get_args(FinishReason))
Ask: TypeAlias = Callable[[list[ModelMessage], "_GuardedResponse"], AsyncGenerator[str]]
"""Asks the wrapped model: the pieces of its text; the whole response is noted in the guarded one."""


def tool_results(messages: Sequence[ModelMessage]) -> list[str]:
    """The texts that tools returned, without text that the model itself wrote into its calls."""
    echoes, found = Echoes(), []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, ToolCallPart):
            echoes.call(part.args)
        elif isinstance(part, ToolReturnPart) and part.outcome == "success":
            found.append(echoes.evidence(part.model_response_str()))
    return [text for text in found if text.strip()]


def grounded(guard: Guard, source: Source | SourceOf = tool_results) -> Callable[..., Awaitable[str]]:
    """An output validator: an answer that the source does not support goes back to the model with the reason.

    A validator sees an answer when it is whole and holds no stream back; `GuardedModel` does.

    Example: `agent.output_validator(grounded(guard, lease))`.
    """

    async def validate(ctx: RunContext[Any], output: str) -> str:
        if ctx.partial_output:
            return output
        found = source(ctx.messages) if callable(source) else source
        result = await guard.acheck(output, found, _question(ctx.messages))
        if result.supported:
            return output
        refused = [f'"{s.text.strip()}" ({s.reason or s.verdict})' for s in result.sentences if not s.released]
        raise ModelRetry(f"{AVOID}{', '.join(refused)}. Write the answer again without it.")

    return validate


@closed(_PACKAGE, *_SETTINGS)
class GuardedModel(WrapperModel):
    """A model for any agent, whose text goes out sentence by sentence once the source supports it.

    source: the source of every answer, or a function that finds it in the messages; the results of tools by default.

    Calls of the request's tools are passed on unchecked, after the text; the model's reasoning is not passed on.
    Another part of an answer, such as a file or the result of the provider's own tool, raises a GenerationError;
    another method of a model, such as `batch_results`, raises an InputError, as does structured output. An answer
    without a released sentence becomes the policy's `abstention`, since pydantic-ai takes an empty one for a failure.
    The response's `metadata["groundrail"]` is the `GuardResult` as a dict.

    Example: `Agent(GuardedModel("openai:gpt-5", guard, lease)).run_stream("How much is the rent?")`.
    """

    def __init__(self, wrapped: Model | str, guard: Guard, source: Source | SourceOf = tool_results) -> None:
        super().__init__(wrapped)
        self.guard, self.source = guard, source

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"GuardedModel has no {name!r}, and passes on none of the wrapped model")

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The released text and the tool calls of a whole answer."""

        async def ask(messages: list[ModelMessage], guarded: _GuardedResponse) -> AsyncGenerator[str]:
            guarded.note(response := await self.wrapped.request(messages, model_settings, model_request_parameters))
            yield "".join(part.content for part in response.parts if isinstance(part, TextPart))

        response = _GuardedResponse(model_request_parameters, self, messages, ask)
        async for _ in response:
            pass
        return response.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """`request`, streamed."""

        async def ask(messages: list[ModelMessage], guarded: _GuardedResponse) -> AsyncGenerator[str]:
            stream = self.wrapped.request_stream(messages, model_settings, model_request_parameters, run_context)
            async with stream as response:
                try:
                    async for event in response:
                        match event:
                            case PartStartEvent(part=TextPart(content=text)):
                                yield text
                            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                                yield text
                finally:
                    guarded.note(response.get())

        yield _GuardedResponse(model_request_parameters, self, messages, ask)


@dataclass
class _GuardedResponse(StreamedResponse):
    """One answer as pydantic-ai's events: the released text, then the tool calls of the last message."""

    _model: GuardedModel
    _messages: list[ModelMessage]
    _ask: Ask
    _last: ModelResponse = field(default_factory=lambda: ModelResponse(parts=[]))

    def note(self, response: ModelResponse) -> None:
        """Keep what the model says beside its text, its reason to end and its counts as far as they are known."""
        reason = response.finish_reason
        self._last = response if reason in _REASONS else replace(response, finish_reason="error")
        counts = metadata({"usage": response.usage.details}).get("usage", {})
        self._usage = self._usage + replace(response.usage, details=counts)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        if self.model_request_parameters.output_mode != "text":
            raise InputError(
                "structured output is not checked against any source: give the agent output_type=str, or check the "
                "object's texts with guard.check(text, source)"
            )
        guard, source, shown = self._model.guard, self._model.source, False
        found = source(self._messages) if callable(source) else source
        writing = guard.with_generator(AskedGenerator(self._write))
        async with await writing.astream(_question(self._messages), found) as released:
            async for text in released:
                shown = shown or bool(text.strip())
                for event in self._parts_manager.handle_text_delta(vendor_part_id="text", content=text):
                    yield event
        calls = [] if self._cut_off else _calls(self._last.parts, self.model_request_parameters.tool_defs)
        if not shown and not calls:
            for event in self._parts_manager.handle_text_delta(vendor_part_id="text", content=guard.policy.abstention):
                yield event
        for part in calls:
            yield self._parts_manager.handle_part(vendor_part_id=None, part=part)
        self.finish_reason = self._last.finish_reason
        self.metadata = {"groundrail": released.result.model_dump(mode="json")}

    async def _write(self, accepted: str, refused: Sequence[Refusal]) -> AsyncIterator[str]:
        messages = list(self._messages)
        if accepted:
            messages.append(ModelResponse(parts=[TextPart(accepted)]))
        if accepted or refused:
            messages.append(ModelRequest(parts=[UserPromptPart(request_to_continue(accepted, refused))]))
        async with aclosing(self._ask(messages, self)) as pieces:
            async for text in pieces:
                yield text
        if self._cut_off:  # half a sentence is not released
            raise GenerationError(f"the model stopped before the answer's end ({self._cut_off})")

    @property
    def _cut_off(self) -> str | None:
        """Why the model's last message is no whole one, None where it is."""
        ends = (self._last.finish_reason, self._last.state)
        return next((end for end in ends if end not in (None, "stop", "tool_call", "complete")), None)

    @property
    def model_name(self) -> str:
        return self._model.model_name

    @property
    def provider_name(self) -> str:
        return self._model.system

    @property
    def provider_url(self) -> str | None:
        return self._model.base_url

    @property
    def timestamp(self) -> datetime:
        return self._last.timestamp


def _calls(parts: Sequence[ModelResponsePart], offered: Collection[str]) -> list[ToolCallPart]:
    """The calls of offered tools, with no details of the provider but for the signature that Gemini wants back.

    Raises: GenerationError for a call of another tool, and for a part that is neither a call, text nor reasoning.
    """
    calls = []
    for part in parts:
        if isinstance(part, ToolCallPart) and part.tool_name in offered:
            details = {k: v for k, v in (part.provider_details or {}).items() if k == "thought_signature"}
            calls.append(replace(part, provider_details=details or None))
        elif isinstance(part, ToolCallPart):
            raise unknown("a call of a tool that the request does not offer,", _PACKAGE)
        elif not isinstance(part, TextPart | ThinkingPart):
            raise unknown(part, _PACKAGE)
    return calls


def _question(messages: Sequence[ModelMessage]) -> str:
    """The user's last words."""
    asked = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content = asked[-1].content if asked else ""
    return content if isinstance(content, str) else "".join(item for item in content if isinstance(item, str))
