"""A real retrieval chain: the example's retriever, SmolLM2, the built-in judge."""

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tenacity import stop_after_attempt

from groundrail import Guard, Policy, Verdict
from groundrail.integrations.langchain import GroundrailCallbackHandler, GuardedRunnable, SourcedResult
from groundrail.smollm2 import smollm2

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
