"""Both ways of steering give the same right answer on a real model, SmolLM2."""

from typing import Any

import pytest
from tests.decoding.conftest import Prompts, padded
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from groundrail.decoding import PMI, PMIDecoding, PMILogitsProcessor
from groundrail.generators.smollm2 import smollm2

pytestmark = pytest.mark.slow

SOURCES = ("The lease ends on 28 February 2026.", "The shop is closed on Mondays, and the tank holds 1.8 litres.")
QUESTIONS = (" When does the lease end? It ends on", " How much does the tank hold? The tank holds")
ADDITION = PMI(0.5)


@pytest.fixture(scope="module")
def real() -> tuple[PreTrainedModel, PreTrainedTokenizerBase, Prompts]:
    model, tokenizer = smollm2()
    grounded = [tokenizer(s + q)["input_ids"] for s, q in zip(SOURCES, QUESTIONS, strict=True)]
    ungrounded = [tokenizer(q)["input_ids"] for q in QUESTIONS]
    return model, tokenizer, Prompts(grounded, ungrounded)


def test_one_pass_gives_the_tokens_of_two_and_the_right_answer(real: Any) -> None:
    model, tokenizer, prompts = real
    joint = PMIDecoding(padded(prompts.ungrounded), ADDITION)
    options = {**padded(prompts.grounded), "max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    once = model.generate(**options, custom_generate=joint)
    twice = model.generate(**options, logits_processor=[PMILogitsProcessor(model, padded(prompts.ungrounded), ADDITION)])
    assert once.tolist() == twice.tolist()
    written = tokenizer.batch_decode(once[:, -12:])
    assert "28 February 2026" in written[0]
    assert "1.8 lit" in written[1]
