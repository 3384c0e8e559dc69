"""Generating and judging through a server of a real model: SmolLM2, greedy, on loopback."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tests.http_servers import Handler, ScriptedServer, serving
from transformers import TextIteratorStreamer

from groundrail import Guard, Policy, Verdict
from groundrail.generators.smollm2 import smollm2
from groundrail.openai.generator import OpenAIGenerator
from groundrail.openai.judge import RemoteEntailment
from groundrail.papers.overlap import OverlapScorer

SOURCE = "The lease ends on 28 February 2026. The monthly rent is 1,450 euros. Pets are not allowed."


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    model, tokenizer = smollm2()

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        """Streams an answer, or the continuation of a partial one; the first token's logprobs where they are asked for."""
        form: dict[str, Any] = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
        form |= {name: body[name] for name in ("add_generation_prompt", "continue_final_message") if name in body}
        encoded: Any = tokenizer.apply_chat_template(body["messages"], **form)
        ids = encoded["input_ids"]
        if body.get("logprobs"):
            with torch.inference_mode():
                values, tokens = torch.log_softmax(model(ids).logits[0, -1].float(), dim=-1).topk(body["top_logprobs"])
            pairs = zip(tokens, values, strict=True)
            top = [{"token": tokenizer.decode(int(token)), "logprob": float(value)} for token, value in pairs]
            told = {"message": {"content": ""}, "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}
            handler.send(200, json.dumps({"choices": [told]}))
            return
        streamer = TextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
        options = {"max_new_tokens": body["max_tokens"], "do_sample": False, "streamer": streamer}
        asked = {"attention_mask": torch.ones_like(ids), **options}
        thread = threading.Thread(target=model.generate, args=(ids,), kwargs=asked)  # type: ignore[arg-type]
        thread.start()
        handler.begin()
        for piece in streamer:
            handler.chunk({"content": piece})
        handler.chunk({}, "stop")
        handler.end()
        thread.join()

    with serving(ScriptedServer(reply)) as server:
        yield server.url


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
    judge = RemoteEntailment(address, "smollm2", max_concurrency=1)
    values = judge.entailment([(SOURCE, "The rent is 1,450 euros."), (SOURCE, "The lease ends in 2026."), ("", "No.")])
    assert values.shape == (3,)
    assert ((values > 0) & (values < 1)).all()
    assert len(set(values)) == 3
    again = RemoteEntailment(address, "smollm2").entailment([(SOURCE, "The rent is 1,450 euros.")])
    assert again[0] == pytest.approx(values[0], abs=1e-6)
