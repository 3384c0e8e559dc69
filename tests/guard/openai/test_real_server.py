"""Generating and judging through a real server process with a real model: SmolLM2 on loopback."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundrail import Guard, Policy, Verdict
from groundrail.openai.generator import OpenAIGenerator
from groundrail.openai.judge import RemoteEntailment
from groundrail.papers.overlap import OverlapScorer

SOURCE = "The lease ends on 28 February 2026. The monthly rent is 1,450 euros. Pets are not allowed."


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).parent / "smollm2_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port.isdigit(), "the server did not start; its message is above"
        yield f"http://127.0.0.1:{port}/v1"
        process.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("prefill", [True, False])
def test_an_answer_is_streamed_checked_and_retried(address: str, prefill: bool) -> None:
    generator = OpenAIGenerator(address, "smollm2", prefill=prefill, max_tokens=40)
    guard = Guard(generator, scorer=OverlapScorer(), policy=Policy(threshold=0.95))
    stream = guard.stream("How much is the rent, and when does the lease end?", SOURCE)
    pieces = list(stream)
    result = stream.result
    assert "".join(pieces) == result.text
    assert result.answer.strip()
    assert result.generation["calls"] == 1 + sum(len(s.attempts) - 1 for s in result.sentences)
    for sentence in result.sentences:
        assert sentence.released == (sentence.verdict in (Verdict.SUPPORTED, Verdict.NO_CLAIM))


@pytest.mark.slow
def test_the_model_judges_by_its_logprobs(address: str) -> None:
    judge = RemoteEntailment(address, "smollm2")
    values = judge.entailment([(SOURCE, "The rent is 1,450 euros."), (SOURCE, "The lease ends in 2026."), ("", "No.")])
    assert values.shape == (3,)
    assert ((values > 0) & (values < 1)).all()
    assert len(set(values)) == 3
    again = RemoteEntailment(address, "smollm2").entailment([(SOURCE, "The rent is 1,450 euros.")])
    assert again[0] == pytest.approx(values[0], abs=1e-6)
