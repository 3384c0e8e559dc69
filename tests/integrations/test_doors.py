"""Every adapter passes on what it knows and guards: other methods, parts and fields of its framework are refused."""

import asyncio
import dataclasses
import inspect
import typing
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agents import Agent as OpenAIAgent
from agents import Model as OpenAIModel
from agents import ModelResponse as OpenAIResponse
from agents import Runner, Usage, function_tool
from haystack import Document
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage, FileContent, ImageContent, StreamingChunk, ToolCall, ToolCallResult
from haystack.dataclasses.chat_message import ChatMessageContentT
from haystack.tools.tool import Tool
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from llama_index.core.evaluation import BaseEvaluator
from llama_index.core.response_synthesizers import BaseSynthesizer, get_response_synthesizer
from openai.types import responses
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import (
    CompactionPart,
    FilePart,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    SpeechPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import CompletedStreamedResponse, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage
from tests.conformance.llama_index_hosts import Written as LlamaWritten
from tests.conformance.scripts import FALSE, QUESTION, SOURCE, TRUE, Script

from groundrail import Guard, InputError
from groundrail.errors import GenerationError
from groundrail.integrations import haystack, llama_index, openai_agents, pydantic_ai
from groundrail.integrations.doors import closed, metadata
from groundrail.integrations.langchain import GuardedChatModel, GuardedRunnable
from groundrail.testing import FakeEntailment

SECRET = FALSE[0]


def guard() -> Guard:
    return Guard(scorer="scale", judge=FakeEntailment())


def refuses(adapter: type, name: str) -> bool:
    """Whether a method of an adapter is the refusal that `closed` puts in its place."""
    member: Any = inspect.getattr_static(adapter, name)
    member = member.fget if isinstance(member, property) else member
    return getattr(member, "__qualname__", "").startswith("_refused")


KNOWN: dict[type, tuple[type, set[str], set[str]]] = {
    pydantic_ai.GuardedModel: (
        WrapperModel,
        {"request", "request_stream"},
        {
            *("accepts_server_state", "accepts_stateless_artifacts", "base_url", "canonical_system", "label"),
            *("compatible_systems", "context_window", "count_tokens", "customize_request_parameters", "model_id"),
            *("model_name", "prepare_messages", "prepare_request", "profile", "provider", "resolve_cache_retention"),
            *("resolve_prompt_cache_retention", "settings", "supported_native_tools", "system", "tool_addition_mode"),
            *("supported_tool_addition_modes", "supported_tool_deferral_modes", "tool_deferral_mode"),
            "unsupported_native_tool_settings",
        },
    ),
    openai_agents.GuardedModel: (OpenAIModel, {"get_response", "stream_response"}, {"close", "get_retry_advice"}),
    llama_index.GuardedSynthesizer: (
        BaseSynthesizer,
        {"get_response", "aget_response"},
        {"synthesize", "asynthesize", "callback_manager", "get_prompts", "update_prompts"},
    ),
    llama_index.GuardedEvaluator: (
        BaseEvaluator,
        {"aevaluate"},
        {"evaluate", "evaluate_response", "aevaluate_response", "get_prompts", "update_prompts"},
    ),
}
"""Each adapter's base class, the methods that it guards, and those that give no text or are built on the guarded ones."""


@pytest.mark.parametrize("adapter", KNOWN)
def test_every_public_method_of_the_base_class_is_guarded_known_or_refused(adapter: type) -> None:
    base, guarded, known = KNOWN[adapter]
    methods = {
        name
        for name in dir(base)
        if not name.startswith("_")
        and (callable(m := inspect.getattr_static(base, name)) or isinstance(m, property | classmethod | staticmethod))
    }
    assert guarded <= vars(adapter).keys()
    assert {name for name in methods if refuses(adapter, name)} == methods - guarded - known


def test_a_refusal_names_the_method_and_the_version() -> None:
    class Base:
        def write(self) -> str:
            return SECRET

        def close(self) -> str:
            return "closed"

    @closed("pytest", "close")
    class Adapter(Base):
        pass

    assert Adapter().close() == "closed"
    with pytest.raises(InputError, match=rf"'write' of pytest {pytest.__version__}"):
        Adapter().write()


@pytest.mark.parametrize("name", ["batch_decode", "batch_results", "batch_create", "compact_messages"])
def test_pydantic_ai_s_model_refuses_the_methods_that_it_does_not_guard(name: str) -> None:
    model = pydantic_ai.GuardedModel(FunctionModel(lambda messages, info: ModelResponse(parts=[])), guard(), SOURCE)
    with pytest.raises(InputError, match=f"'{name}' of pydantic-ai-slim [0-9]"):
        getattr(model, name)(None, None)
    with pytest.raises(AttributeError, match="passes on none"):
        _ = model.function  # of the wrapped model


PARTS: dict[type, Any] = {
    NativeToolCallPart: NativeToolCallPart("search", {"query": SECRET}),
    NativeToolReturnPart: NativeToolReturnPart("search", SECRET, "1"),
    CompactionPart: CompactionPart(SECRET),
    FilePart: FilePart(BinaryContent(SECRET.encode(), media_type="text/plain")),
    SpeechPart: SpeechPart(speaker="assistant", transcript=SECRET),
    ToolCallPart: ToolCallPart("not_offered", {"text": SECRET}),
}
"""A part of each kind that pydantic-ai's model refuses."""


@pytest.mark.parametrize("part", PARTS.values(), ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("stream", [True, False])
def test_pydantic_ai_s_model_refuses_parts_that_it_does_not_guard(part: Any, stream: bool) -> None:
    said = ModelResponse(parts=[TextPart(TRUE[0]), part], finish_reason="stop")

    class Said(WrapperModel):
        @asynccontextmanager
        async def request_stream(self, messages: Any, settings: Any, request: Any, context: Any = None) -> Any:
            yield CompletedStreamedResponse(said, model_request_parameters=request, replay_events=True)

    model = pydantic_ai.GuardedModel(Said(FunctionModel(lambda messages, info: said)), guard(), SOURCE)

    async def answer() -> Any:
        if not stream:
            return await model.request([], None, ModelRequestParameters())
        async with model.request_stream([], None, ModelRequestParameters()) as events:
            return [event async for event in events]

    with pytest.raises(GenerationError, match=r"not guarded \(pydantic-ai-slim [0-9]"):
        asyncio.run(answer())


def test_every_part_of_pydantic_ai_is_judged_dropped_passed_on_or_refused() -> None:
    union, *_ = typing.get_args(ModelResponsePart)
    kinds = {typing.get_args(kind)[0] for kind in typing.get_args(union)}
    other = {kind for kind in kinds if not issubclass(kind, (*PARTS, TextPart, ThinkingPart))}
    assert not other
    assert {field.name for field in dataclasses.fields(ToolCallPart)} == {
        *("tool_name", "args", "tool_call_id", "tool_kind", "id", "provider_name", "provider_details", "part_kind")
    }


def test_pydantic_ai_s_model_passes_on_calls_of_the_request_s_tools_without_the_provider_s_details() -> None:
    call = ToolCallPart("look_up", {}, provider_name="g", provider_details={"said": SECRET, "thought_signature": "x"})
    said = ModelResponse(parts=[call], provider_details={"said": SECRET}, provider_response_id=SECRET)
    model = pydantic_ai.GuardedModel(FunctionModel(lambda messages, info: said), guard(), SOURCE)
    offered = ModelRequestParameters(function_tools=[ToolDefinition(name="look_up")])
    response = asyncio.run(model.request([], None, offered))
    assert SECRET not in repr(response)
    (passed,) = response.parts
    assert isinstance(passed, ToolCallPart)
    assert passed.provider_details == {"thought_signature": "x"}


def test_pydantic_ai_s_model_tells_known_counts_and_reasons() -> None:
    reason: Any = SECRET
    usage = RequestUsage(input_tokens=3, details={SECRET: 1, "reasoning_tokens": 2})
    said = ModelResponse(parts=[TextPart(TRUE[0])], finish_reason=reason, usage=usage)
    model = pydantic_ai.GuardedModel(FunctionModel(lambda messages, info: said), guard(), SOURCE)
    response = asyncio.run(model.request([], None, ModelRequestParameters()))
    assert SECRET not in repr(response)
    assert response.finish_reason == "error"
    assert (response.usage.input_tokens, response.usage.details) == (3, {"reasoning_tokens": 2})


def test_every_public_field_of_pydantic_ai_s_streams_is_known() -> None:
    told = {"finish_reason", "metadata", "final_result_event", "model_request_parameters", "state"}
    never_set = {"canonical_system", "failed_attempts", "provider_details", "provider_response_id"}
    names = {field.name for field in dataclasses.fields(StreamedResponse) if not field.name.startswith("_")}
    assert names == told | never_set
    response = pydantic_ai._GuardedResponse(ModelRequestParameters(), *[Any] * 3)  # type: ignore[arg-type]
    assert not any(getattr(response, name) for name in never_set)


def test_pydantic_ai_s_model_waits_for_no_suspended_response() -> None:
    said = ModelResponse(parts=[TextPart(TRUE[0]), ToolCallPart("x", {})], state="suspended")
    model = pydantic_ai.GuardedModel(FunctionModel(lambda messages, info: said), guard(), SOURCE)
    response = asyncio.run(model.request([], None, ModelRequestParameters()))
    assert [type(part) for part in response.parts] == [TextPart]
    assert response.metadata is not None
    assert "suspended" in str(response.metadata["groundrail"]["sentences"][-1]["reason"])


class Saying(OpenAIModel):
    """A model of the Agents SDK that says these items, and something false in every other place."""

    def __init__(self, *items: Any) -> None:
        self.items = list(items)

    async def get_response(self, *call: Any, **named: Any) -> OpenAIResponse:
        return OpenAIResponse(self.items, Usage(), response_id=SECRET, request_id=SECRET, raw_usage={"said": SECRET})

    async def stream_response(self, *call: Any, **named: Any) -> Any:
        text = "".join(part.text for item in self.items if item.type == "message" for part in item.content)
        yield responses.ResponseTextDeltaEvent(
            type="response.output_text.delta",
            delta=text,
            logprobs=[],
            sequence_number=0,
            item_id="message",
            output_index=0,
            content_index=0,
        )
        said: Any = dict.fromkeys(("id", "model", "instructions", "user", "unknown", "prompt_cache_key"), SECRET)
        response = responses.Response.model_construct(
            **said, created_at=0, object="response", output=self.items, metadata={"said": SECRET}, usage=None
        )
        yield responses.ResponseCompletedEvent.model_construct(type="response.completed", response=response)


def message(text: str) -> Any:
    part: Any = {"type": "output_text", "text": text, "annotations": []}
    said: Any = {"id": "1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return responses.ResponseOutputMessage.model_validate(said | {"said": SECRET})


@function_tool
def look_up(what: str) -> str:
    """Look something up."""
    return SOURCE


async def answered(model: OpenAIModel, stream: bool, **options: Any) -> Any:
    """The response of a guarded model of the Agents SDK."""
    guarded = openai_agents.GuardedModel(model, guard(), SOURCE)
    call: Any = {"model_settings": None, "tools": [], "output_schema": None, "handoffs": [], "tracing": None} | options
    if not stream:
        return await guarded.get_response(None, QUESTION, **call)
    events = [event async for event in guarded.stream_response(None, QUESTION, **call)]
    assert SECRET not in repr(events)
    return events[-1].response


@pytest.mark.parametrize("stream", [True, False])
def test_the_agents_sdk_s_model_builds_its_response_from_what_was_judged(stream: bool) -> None:
    call: Any = {"type": "function_call", "call_id": "1", "name": "look_up", "arguments": "{}", "said": SECRET}
    thought: Any = {"id": "r", "type": "reasoning", "summary": [{"type": "summary_text", "text": SECRET}]}
    items = (
        responses.ResponseReasoningItem.model_validate(thought | {"said": SECRET}),
        message(TRUE[0] + FALSE[0]),
        responses.ResponseFunctionToolCall(**call),
    )
    response = asyncio.run(answered(Saying(*items), stream, tools=[look_up]))
    assert SECRET not in repr(response)
    text, reasoning, called = response.output
    assert (text.content[0].text, reasoning.id, called.name) == (TRUE[0], "r", "look_up")


def _items_of_the_agents_sdk() -> list[type]:
    return list(typing.get_args(typing.get_args(responses.ResponseOutputItem)[0]))


@pytest.mark.parametrize("kind", _items_of_the_agents_sdk(), ids=lambda kind: kind.__name__)
def test_every_item_of_the_agents_sdk_is_judged_or_refused(kind: Any) -> None:
    if kind in (responses.ResponseOutputMessage, responses.ResponseReasoningItem):
        return
    item = kind.model_construct(type=typing.get_args(kind.model_fields["type"].annotation)[0], name="not_offered")
    for stream in (True, False):
        with pytest.raises(GenerationError, match=r"not guarded \(openai-agents [0-9]"):
            asyncio.run(answered(Saying(message(TRUE[0]), item), stream, tools=[look_up]))


def test_the_agents_sdk_s_model_closes_the_wrapped_one() -> None:
    closed_models: list[Any] = []

    class Closing(Saying):
        async def close(self) -> None:
            closed_models.append(self)

    model = Closing()
    asyncio.run(openai_agents.GuardedModel(model, guard()).close())
    assert closed_models == [model]
    agent = OpenAIAgent("clerk", model=openai_agents.GuardedModel(Saying(message(TRUE[0])), guard(), SOURCE))
    assert asyncio.run(Runner.run(agent, QUESTION)).final_output == TRUE[0]


def replied(reply: ChatMessage, show: Callable[[StreamingChunk], None] | None = None) -> ChatMessage:
    """A reply behind Haystack's guarded generator, which offers `look_up`."""
    tools: Any = [Tool("look_up", "Look something up.", {"type": "object"}, str)]
    subject = haystack.GuardedChatGenerator(MockChatGenerator(reply), guard(), show)
    given = [ChatMessage.from_user(QUESTION)]
    (answer,) = subject.run(given, documents=[Document(content=SOURCE)], tools=tools)["replies"]
    return answer


def test_haystack_s_metadata_are_of_known_kinds() -> None:
    said = {"model": SECRET, "finish_reason": SECRET, "usage": {SECRET: 1, "said": SECRET}, "logprobs": [SECRET]}
    assert SECRET not in repr(replied(ChatMessage.from_assistant(TRUE[0], meta=said)).to_dict())
    good = {"model": "org/m-1.5:x", "index": 0, "finish_reason": "stop", "usage": {"prompt_tokens": 3}}
    told = replied(ChatMessage.from_assistant(TRUE[0], meta=good)).meta
    assert {name: told[name] for name in good} == good


def test_haystack_s_tool_calls_are_of_the_tools_offered_and_have_no_extras() -> None:
    chunks: list[StreamingChunk] = []
    call = ToolCall("look_up", {"what": "rent"}, "1", {"call_id": "c", "said": SECRET})
    reply = replied(ChatMessage.from_assistant(TRUE[0], tool_calls=[call]), chunks.append)
    assert reply.tool_calls == [ToolCall("look_up", {"what": "rent"}, "1", {"call_id": "c"})]
    assert [d.tool_name for chunk in chunks for d in chunk.tool_calls or ()] == ["look_up"]
    assert SECRET not in repr([chunks, reply])
    with pytest.raises(GenerationError, match=r"not guarded \(haystack-ai [0-9]"):
        replied(ChatMessage.from_assistant(TRUE[0], tool_calls=[ToolCall("other", {"said": SECRET})]))


def test_every_part_of_haystack_is_judged_dropped_passed_on_or_refused() -> None:
    refused = {
        ImageContent: ImageContent("aGk=", mime_type="image/png"),
        FileContent: FileContent("aGk=", mime_type="text/plain"),
        ToolCallResult: ToolCallResult(SECRET, ToolCall("look_up", {}), error=False),
    }
    names = {kind.__name__ for kind in typing.get_args(ChatMessageContentT)}
    assert names == {kind.__name__ for kind in refused} | {"TextContent", "ToolCall", "ReasoningContent"}
    for part in refused.values():
        reply = ChatMessage.from_assistant(TRUE[0])
        object.__setattr__(reply, "_content", [*reply._content, part])
        with pytest.raises(GenerationError, match="not guarded"):
            replied(reply)


def test_llama_index_s_synthesizer_refuses_messages_and_other_answers_than_text() -> None:
    plain = get_response_synthesizer(llm=LlamaWritten(script=Script("whole", ((TRUE[0],),), "")))
    subject = llama_index.GuardedSynthesizer(plain, guard())
    with pytest.raises(InputError, match=r"'get_response_from_messages' of llama-index-core [0-9]"):
        subject.get_response_from_messages(QUESTION, [])


LANGCHAIN = {
    "guarded": {
        *("invoke", "ainvoke", "stream", "astream"),
        *("batch", "abatch", "batch_as_completed", "abatch_as_completed", "transform", "atransform", "generate"),
        *("agenerate", "generate_prompt", "agenerate_prompt", "astream_events", "stream_events", "astream_log"),
    },
    "given back as a runnable around the guarded one": {
        *("as_tool", "assign", "bind", "bind_tools", "configurable_alternatives", "configurable_fields", "map", "pick"),
        *("pipe", "with_alisteners", "with_config", "with_fallbacks", "with_listeners", "with_retry", "with_types"),
        "with_structured_output",
    },
    "without text": {
        *("InputType", "OutputType", "asdict", "config_schema", "config_specs", "dict", "get_config_jsonschema"),
        *("get_graph", "get_input_jsonschema", "get_input_schema", "get_lc_namespace", "get_name", "get_num_tokens"),
        *("get_num_tokens_from_messages", "get_output_jsonschema", "get_output_schema", "get_prompts", "get_token_ids"),
        *("input_schema", "is_lc_serializable", "lc_attributes", "lc_id", "lc_secrets", "model_post_init"),
        *("output_schema", "set_verbose", "to_json", "to_json_not_implemented"),
    },
}
"""The public methods of LangChain's chat models and runnables, by what they do in a guarded one."""


@pytest.mark.parametrize(("adapter", "base"), [(GuardedChatModel, BaseChatModel), (GuardedRunnable, Runnable)])
def test_every_public_method_of_langchain_is_known(adapter: type, base: type) -> None:
    forwards = getattr(adapter, "__getattr__", None)
    assert forwards is None or forwards.__module__.startswith("pydantic")
    own = [kind for kind in base.__mro__ if kind.__module__.startswith("langchain_core")]
    methods = {
        name
        for kind in own
        for name, member in vars(kind).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, property | classmethod | staticmethod))
    }
    assert methods <= set().union(*LANGCHAIN.values())


def test_metadata_are_names_reasons_and_counts() -> None:
    raw = {
        "id": "chatcmpl-1",
        "model_name": "gpt-5",
        "finish_reason": "stop",
        "index": 0,
        "token_usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0, SECRET: 1}, "cost": 1.5},
    }
    kept = metadata(raw | {"logprobs": [SECRET], "stop_reason": SECRET, "model": [SECRET], "service_tier": SECRET})
    assert kept["token_usage"] == {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}}
    assert kept | {"token_usage": raw["token_usage"]} == raw


def write(messages: Sequence[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart(TRUE[0])], model_name=SECRET)


def test_an_agent_works_behind_a_closed_model() -> None:
    result = asyncio.run(Agent(pydantic_ai.GuardedModel(FunctionModel(write), guard(), SOURCE)).run(QUESTION))
    assert result.output == TRUE[0]
    assert SECRET not in repr(result.all_messages())
