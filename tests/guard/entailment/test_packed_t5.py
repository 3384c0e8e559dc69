"""T5 without padding, against transformers' own forward pass, for every kind of T5 and any mixture of lengths."""

import random

import pytest
import torch
from tests.tiny import model as tiny_model
from transformers import T5ForConditionalGeneration

from groundrail.entailment import Seq2SeqEntailment
from groundrail.entailment.packed_t5 import PackedT5

KINDS = [
    {"tie_word_embeddings": False},
    {"tie_word_embeddings": True},
    {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu"},
    {"tie_word_embeddings": False, "num_decoder_layers": 1, "relative_attention_max_distance": 9},
]
ANSWERS = [17, 40]


def tiny(**settings) -> T5ForConditionalGeneration:
    sizes = {"vocab_size": 60, "d_model": 24, "d_ff": 40, "num_layers": 3, "initializer_factor": 1.5}
    return tiny_model(T5ForConditionalGeneration, 3, **sizes, **settings)


def some_texts() -> list[list[int]]:
    draw = random.Random(1)
    return [[draw.randrange(2, 60) for _ in range(length)] for length in (1, 90, 2, 33, 90, 7)]


def one_by_one(model: T5ForConditionalGeneration, texts: list[list[int]]) -> torch.Tensor:
    start = torch.zeros(1, 1, dtype=torch.long)
    logits = [model(input_ids=torch.tensor([text]), decoder_input_ids=start).logits[0, 0, ANSWERS] for text in texts]
    return torch.stack(logits)


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_model_for_each_text_alone(kind) -> None:
    model, texts = tiny(**kind), some_texts()
    with torch.inference_mode():
        expected = one_by_one(model, texts)
        found = PackedT5(model, ANSWERS, 0).logits(texts)
    assert PackedT5.reads(model)
    assert expected.std() > 0.01
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_bfloat16_stays_close_to_float32() -> None:
    model, texts = tiny(tie_word_embeddings=True), [{"input_ids": text} for text in some_texts()]
    with torch.inference_mode():
        exact = PackedT5(model, ANSWERS, 0)(texts)
        rounded = PackedT5(model.bfloat16(), ANSWERS, 0)(texts)
    torch.testing.assert_close(rounded, exact, atol=1e-2, rtol=0)


def test_what_it_does_not_know_is_left_to_the_model(tiny_t5, tiny_tokenizer, pairs) -> None:
    class Other(T5ForConditionalGeneration):
        """Computes something of its own, for all one knows."""

    other = Other(tiny_t5.config).eval()
    other.load_state_dict(tiny_t5.state_dict())
    assert not PackedT5.reads(other)
    assert not PackedT5.reads(tiny().half())
    known = Seq2SeqEntailment(tiny_t5, tiny_tokenizer).entailment(pairs)
    torch.testing.assert_close(
        torch.tensor(Seq2SeqEntailment(other, tiny_tokenizer).entailment(pairs)), torch.tensor(known), atol=1e-5, rtol=0
    )
