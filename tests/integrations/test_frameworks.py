"""The adapters of other frameworks beside holding back: sources, reasons, refusals, and errors that name the extra."""

import asyncio
import builtins
import importlib
import sys
from typing import Any

import pytest
from agents import Agent as OpenAIAgent
from agents import OutputGuardrailTripwireTriggered, Runner
from haystack import Document as HaystackDocument
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools.tool import Tool
from llama_index.core.response_synthesizers import get_response_synthesizer
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from tests.conformance.llama_index_hosts import Written as LlamaWritten
from tests.conformance.openai_agents_hosts import Written
from tests.conformance.scripts import FALSE, QUESTION, SOURCE, TRUE, Script

from groundrail import Guard, InputError, MissingExtraError
from groundrail.integrations import haystack, llama_index, openai_agents, pydantic_ai
from groundrail.integrations.any_guardrail import GuardedGuardrail
from groundrail.testing import FakeEntailment

MODULES = {
    "pydantic_ai": "pydantic-ai",
    "openai_agents": "openai-agents",
    "haystack": "haystack",
    "llama_index": "llama-index",
    "langgraph": "langgraph",
    "any_guardrail": "any-guardrail",
}
"""Each adapter's module and the extra that it needs."""


def guard() -> Guard:
    return Guard(scorer="scale", judge=FakeEntailment())


def answers(*texts: str) -> FunctionModel:
    """A model of pydantic-ai that says one text after the other."""
    said = iter(texts)
    return FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(next(said))]))


def test_pydantic_ai_s_validator_asks_again_with_the_reason() -> None:
    agent = Agent(answers(TRUE[0] + FALSE[0], TRUE[0]))
    agent.output_validator(pydantic_ai.grounded(guard(), SOURCE))
    result = asyncio.run(agent.run(QUESTION))
    assert result.output == TRUE[0]
    _, _, asked, _ = result.all_messages()
    assert FALSE[0].strip() in str(asked)
    assert TRUE[0].strip() not in str(asked)


def test_pydantic_ai_s_model_takes_the_results_of_tools_for_sources() -> None:
    def write(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        first = len(messages) == 1
        return ModelResponse(parts=[ToolCallPart("look_up", {})] if first else [TextPart(TRUE[0] + FALSE[0])])

    agent = Agent(pydantic_ai.GuardedModel(FunctionModel(write), guard()))

    @agent.tool_plain
    def look_up() -> str:
        return SOURCE

    result = asyncio.run(agent.run(QUESTION))
    assert result.output == TRUE[0]
    assert result.response.metadata is not None
    assert [s["verdict"] for s in result.response.metadata["groundrail"]["sentences"]] == ["supported", "unsupported"]


def test_pydantic_ai_s_model_tells_the_next_request_what_was_refused() -> None:
    requests: list[Any] = []

    def write(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        requests.append(messages)
        return ModelResponse(parts=[TextPart(FALSE[0] if len(requests) == 1 else TRUE[0])])

    agent = Agent(pydantic_ai.GuardedModel(FunctionModel(write), guard(), SOURCE))
    assert asyncio.run(agent.run(QUESTION)).output == TRUE[0]
    assert FALSE[0].strip() in str(requests[1][-1])


class Answer(BaseModel):
    """An answer."""

    text: str


def test_structured_output_is_refused() -> None:
    with pytest.raises(InputError, match="structured output"):
        asyncio.run(Agent(pydantic_ai.GuardedModel(TestModel(), guard(), SOURCE), output_type=Answer).run(QUESTION))
    model = openai_agents.GuardedModel(Written(Script("whole", ((TRUE[0],),), "")), guard(), SOURCE)
    with pytest.raises(InputError, match="structured output"):
        asyncio.run(Runner.run(OpenAIAgent("clerk", model=model, output_type=Answer), QUESTION))
    with pytest.raises(InputError, match="server keeps"):
        asyncio.run(Runner.run(OpenAIAgent("clerk", model=model), QUESTION, previous_response_id="1"))
    plain = get_response_synthesizer(llm=LlamaWritten(script=None), output_cls=Answer)
    with pytest.raises(InputError, match="structured output"):
        llama_index.GuardedSynthesizer(plain, guard())


@pytest.mark.parametrize("trips", [True, False])
def test_the_guardrail_of_openai_agents_trips(trips: bool) -> None:
    text = TRUE[0] + FALSE[0] if trips else TRUE[0]
    agent = OpenAIAgent(
        "clerk", model=Written(Script("whole", ((text,),), "")), output_guardrails=[openai_agents.grounded(guard(), SOURCE)]
    )
    if not trips:
        assert asyncio.run(Runner.run(agent, QUESTION)).final_output == text
        return
    with pytest.raises(OutputGuardrailTripwireTriggered) as tripped:
        asyncio.run(Runner.run(agent, QUESTION))
    assert tripped.value.guardrail_result.output.output_info.text == TRUE[0]


def test_tools_that_repeat_the_model_s_words_are_no_source() -> None:
    call = {"type": "function_call", "call_id": "1", "name": "note", "arguments": '{"text": "The rent is 990 euros."}'}
    echo = {"type": "function_call_output", "call_id": "1", "output": "Saved: The rent is 990 euros."}
    found = {"type": "function_call_output", "call_id": "1", "output": SOURCE}
    assert openai_agents.tool_results([call, echo, found]) == [SOURCE]


def test_the_evaluator_of_llama_index_names_what_is_not_supported() -> None:
    evaluator = llama_index.GuardedEvaluator(guard())
    checked = asyncio.run(evaluator.aevaluate(QUESTION, TRUE[0] + FALSE[0], [SOURCE]))
    assert (checked.passing, checked.score) == (False, 0.5)
    assert FALSE[0].strip() in str(checked.feedback)
    assert asyncio.run(evaluator.aevaluate(QUESTION, TRUE[0], [SOURCE])).passing
    with pytest.raises(InputError, match="contexts"):
        asyncio.run(evaluator.aevaluate(QUESTION, TRUE[0]))


def test_any_guardrail_is_told_what_is_not_supported() -> None:
    guardrail = GuardedGuardrail(guard())
    found = guardrail.validate(TRUE[0] + FALSE[0], context=[SOURCE], question=QUESTION)
    assert (found.valid, found.modified_text) == (False, TRUE[0])
    [span] = found.spans or []
    assert (TRUE[0] + FALSE[0])[span.start : span.end].strip() == FALSE[0].strip()
    assert guardrail.validate(TRUE[0], context=SOURCE).valid
    with pytest.raises(InputError, match="context"):
        guardrail.validate(TRUE[0])


def test_haystack_s_generator_takes_the_results_of_tools_for_sources_and_passes_tool_calls_on() -> None:
    asked = ToolCall("look_up", {"what": "rent"})
    writer = MockChatGenerator(ChatMessage.from_assistant(TRUE[0] + FALSE[0], tool_calls=[asked]))
    messages = [ChatMessage.from_user(QUESTION), ChatMessage.from_tool(SOURCE, asked)]
    tools: Any = [Tool("look_up", "Look something up.", {"type": "object"}, str)]
    (reply,) = haystack.GuardedChatGenerator(writer, guard()).run(messages, tools=tools)["replies"]
    assert (reply.text, reply.tool_calls) == (TRUE[0], [asked])
    assert len(reply.meta["groundrail"]["sentences"]) == 2


def test_haystack_s_documents_are_cited_by_their_ids_each_once() -> None:
    lease = HaystackDocument(content=SOURCE, id="lease", meta={"title": "The lease"})
    rules = HaystackDocument(content="Dogs bark.", id="rules")
    written = MockChatGenerator(ChatMessage.from_assistant(f"{TRUE[0].strip()[:-1]} [lease]."))
    chat = haystack.GuardedChatGenerator(written, guard())
    (reply,) = chat.run([ChatMessage.from_user(QUESTION)], [lease, rules, lease])["replies"]
    (sentence,) = reply.meta["groundrail"]["sentences"]
    assert [(mark["documents"], mark["verdict"]) for mark in sentence["marks"]] == [(["lease"], "supported")]
    assert [(each["document_id"], each["title"]) for each in sentence["citations"]] == [("lease", "The lease")]


def test_half_a_sentence_of_any_reply_of_haystack_is_kept_back() -> None:
    class Replies:
        def run(self, **call: Any) -> dict[str, Any]:
            reply = ChatMessage.from_assistant(f"{TRUE[0]}Pets are not", meta={"finish_reason": "length"})
            return {"replies": [reply, reply]}

    messages = [ChatMessage.from_user(QUESTION)]
    documents = [HaystackDocument(content=SOURCE)]
    replies = haystack.GuardedChatGenerator(Replies(), guard()).run(messages, documents)["replies"]
    assert [reply.text for reply in replies] == [TRUE[0]] * 2


@pytest.mark.parametrize("name", MODULES)
def test_a_missing_framework_names_the_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = {"openai_agents": "agents"}.get(name, name)
    real = builtins.__import__

    def without(wanted: str, *arguments: Any, **named: Any) -> Any:
        if wanted.partition(".")[0] == missing:
            raise ImportError(wanted)
        return real(wanted, *arguments, **named)

    monkeypatch.delitem(sys.modules, f"groundrail.integrations.{name}", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=rf"groundrail\[{MODULES[name]}\]"):
        importlib.import_module(f"groundrail.integrations.{name}")
