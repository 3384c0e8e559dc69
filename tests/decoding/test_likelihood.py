"""Scored continuations equal one full pass a token."""

import pytest
import torch
from tests.decoding.conftest import CONTEXT, THREE, full_pass, padded
from transformers import PreTrainedModel

from groundrail.decoding import PMI, PMILogitsProcessor, continuation_log_probs, token_gains
from groundrail.errors import InputError, ModelError, SourceTooLongError

CONTINUATIONS = [[5, 6, 7], [8], [9, 9, 9, 9, 9], *[[10 + k, 20] for k in range(9)]]


def test_every_position_equals_a_full_pass(decoder: PreTrainedModel) -> None:
    context = THREE.grounded[0]
    found = list(continuation_log_probs(decoder, context, CONTINUATIONS))
    assert len(found) == len(CONTINUATIONS)
    for log_p, continuation in zip(found, CONTINUATIONS, strict=True):
        assert log_p.shape == (len(continuation), decoder.config.vocab_size)
        for place in range(len(continuation)):
            expected = full_pass(decoder, context, continuation[:place])
            assert torch.allclose(log_p[place], expected, atol=1e-4)


def test_gains_of_a_text_are_those_seen_while_generating_it(decoder: PreTrainedModel) -> None:
    processor = PMILogitsProcessor(decoder, padded(THREE.ungrounded), PMI(0.5))
    grounded = padded(THREE.grounded)
    sequences = decoder.generate(**grounded, logits_processor=[processor], max_new_tokens=7)
    answers = sequences[:, grounded["input_ids"].shape[1] :]
    gains = token_gains(decoder, grounded, padded(THREE.ungrounded, "right"), answers)
    assert torch.allclose(gains, processor.gains_of(sequences), atol=1e-4)


def test_bad_input_is_an_error(models: dict[str, PreTrainedModel]) -> None:
    llama = models["llama"]
    with pytest.raises(InputError, match="at least one token"):
        list(continuation_log_probs(llama, [2], [[3], []]))
    with pytest.raises(InputError, match="at least one token"):
        list(continuation_log_probs(llama, [], [[3]]))
    with pytest.raises(ModelError, match="encoder"):
        list(continuation_log_probs(models["t5"], [2], [[3]]))
    with pytest.raises(SourceTooLongError, match=f"{CONTEXT + 1} tokens .* {CONTEXT}"):
        list(continuation_log_probs(llama, [5] * CONTEXT, [[3]]))
    with pytest.raises(InputError, match="grounded prompt has 3 rows, the continuation 2"):
        token_gains(llama, padded(THREE.grounded), padded(THREE.ungrounded), torch.ones(2, 3).long())
