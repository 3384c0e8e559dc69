"""A real retrieval chain and a real agent: the example's retriever, SmolLM2, the built-in judge."""

import asyncio
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from tenacity import stop_after_attempt

from groundrail import Guard, Policy, Verdict
from groundrail.generators.smollm2 import smollm2
from groundrail.integrations.langchain import GroundrailCallbackHandler, GroundrailMiddleware, GuardedRunnable, SourcedResult

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples"
QUESTION = "How much is the rent per month?"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("langchain_rag", EXAMPLES / "langchain_rag.py")
    if spec is None or spec.loader is None:
        raise ImportError("examples/langchain_rag.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def chain(example: ModuleType) -> Any:
    model, tokenizer = smollm2()
    return example.retrieval_chain(example.TransformersChat(model=model, tokenizer=tokenizer, max_new_tokens=40))


def test_a_real_chain_is_guarded(chain: Any) -> None:
    guard = Guard(policy=Policy(stop=stop_after_attempt(1)))
    subject: GuardedRunnable = guard.as_runnable(chain, return_result=True)
    result: SourcedResult = subject.invoke(QUESTION)
    assert result.sentences
    assert result.documents[0].id.startswith("lease")
    released = [s for s in result.sentences if s.released]
    assert result.text == "".join(s.text for s in released)
    assert all(s.verdict in (Verdict.SUPPORTED, Verdict.NO_CLAIM) for s in released)
    for citation in result.citations:
        document = result.document(citation)
        assert document.text[citation.start : citation.end] == citation.text
        assert document.metadata["source"].endswith(".txt")

    async def pieces() -> list[str]:
        return [piece async for piece in guard.as_runnable(chain).astream(QUESTION)]

    assert "".join(asyncio.run(pieces())) == result.text
    told: list[SourcedResult] = []
    written = chain.invoke(QUESTION, {"callbacks": [GroundrailCallbackHandler(guard, on_result=told.append)]})
    assert told[0].answer == written
    assert [s.verdict for s in told[0].sentences] == [s.verdict for s in result.sentences]


def test_a_real_agent_is_guarded(example: ModuleType) -> None:
    class Calling(example.TransformersChat):  # type: ignore[misc,name-defined]
        """SmolLM2, which is too small to call tools: the first call is made for it, the answer is its own."""

        def _stream(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
            *_, last = messages
            if isinstance(last, HumanMessage) and last.text == QUESTION:
                call: Any = {"name": "read", "args": '{"about": "rent"}', "id": "1", "index": 0}
                yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))
                return
            found = next(message.text for message in messages if isinstance(message, ToolMessage))
            asked = f"Answer in one sentence, with facts from the text only.\n\nText:\n{found}\n\nQuestion: {QUESTION}"
            yield from super()._stream([HumanMessage(asked)])

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    @tool
    def read(about: str) -> str:
        """Read the lease."""
        return "The rent is 1,450 euros per month. It is due on the first day of the month."

    model, tokenizer = smollm2()
    guarding = GroundrailMiddleware(Guard(policy=Policy(stop=stop_after_attempt(1))))
    agent = create_agent(Calling(model=model, tokenizer=tokenizer, max_new_tokens=25), [read], middleware=[guarding])
    final: list[BaseMessage] = []
    shown = ""
    pieces: Iterator[Any] = agent.stream({"messages": [HumanMessage(QUESTION)]}, stream_mode=["messages", "values"])
    for mode, piece in pieces:
        if mode == "values":
            final = piece["messages"]
        elif isinstance(piece[0], AIMessage):
            shown += piece[0].text
    answer = final[-1]
    sentences = answer.response_metadata["groundrail"]["sentences"]
    assert sentences
    assert {s["verdict"] for s in sentences if s["released"]} <= {"supported", "no_claim"}
    assert answer.text == shown == "".join(s["text"] for s in sentences if s["released"])
