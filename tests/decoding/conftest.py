"""Tiny models of three kinds and the slow, obviously right computation that everything is compared with."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import torch
from tests import tiny
from torch import Tensor
from transformers import (
    GPT2LMHeadModel,
    LlamaForCausalLM,
    LogitsProcessor,
    MistralForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    T5ForConditionalGeneration,
)

from groundrail.decoding import PMI, AdaCAD, Steering

VOCABULARY = 61
PAD, EOS = 0, 1
CONTEXT = 96
ENDS: dict[str, Any] = {"pad_token_id": PAD, "bos_token_id": 2, "eos_token_id": EOS}
GROUPED: dict[str, Any] = {"num_key_value_heads": 2, "max_position_embeddings": CONTEXT, **ENDS}


def _ready(model: PreTrainedModel) -> PreTrainedModel:
    """Weights large enough that the distributions are far from uniform, from a fixed seed."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.35)
    model.generation_config.pad_token_id = PAD
    model.generation_config.eos_token_id = EOS
    return model.eval()


def llama(vocabulary: int = VOCABULARY, attention: str = "sdpa") -> PreTrainedModel:
    """Rotary positions, grouped key-value heads."""
    return _ready(tiny.model(LlamaForCausalLM, vocab_size=vocabulary, attn_implementation=attention, **GROUPED))


def sliding() -> PreTrainedModel:
    """Attention to the last four tokens only, so that its cache forgets and cannot be joined or cut."""
    return _ready(tiny.model(MistralForCausalLM, vocab_size=VOCABULARY, sliding_window=4, **GROUPED))


def gpt2() -> PreTrainedModel:
    """Learned positions."""
    return _ready(tiny.model(GPT2LMHeadModel, vocab_size=VOCABULARY, n_positions=CONTEXT, **ENDS))


def t5() -> PreTrainedModel:
    return _ready(tiny.model(T5ForConditionalGeneration, vocab_size=VOCABULARY, tie_word_embeddings=False))


KINDS: dict[str, Callable[[], PreTrainedModel]] = {"llama": llama, "gpt2": gpt2, "t5": t5}


@pytest.fixture(params=list(KINDS))
def model(request: pytest.FixtureRequest, models: dict[str, PreTrainedModel]) -> PreTrainedModel:
    return models[request.param]


def padded(rows: list[list[int]], side: str = "left") -> dict[str, Tensor]:
    """These rows as a tokenizer would return them."""
    width = max(map(len, rows))
    fill = [[PAD] * (width - len(row)) for row in rows]
    ids = [gap + row if side == "left" else row + gap for gap, row in zip(fill, rows, strict=True)]
    ones = [[0] * len(gap) + [1] * len(row) for gap, row in zip(fill, rows, strict=True)]
    mask = ones if side == "left" else [row[::-1] for row in ones]
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


@dataclass(frozen=True)
class Prompts:
    """Rows of tokens without padding, the grounded and the ungrounded ones of a batch."""

    grounded: list[list[int]]
    ungrounded: list[list[int]]


ONE = Prompts([[2, 11, 12, 13, 14, 15, 16, 17, 18]], [[2, 16, 17, 18]])
THREE = Prompts(
    [[2, 21, 22, 23, 24, 25, 9], [2, 31, 32, 9], [2, 41, 42, 43, 44, 9]], [[2, 24, 9], [2, 30, 31, 32, 9], [2, 9]]
)


def full_pass(model: PreTrainedModel, prompt: list[int], decoded: list[int]) -> Tensor:
    """log P(next token), (vocabulary,): one row, no cache, no padding, everything computed again."""
    return _passed(model, tuple(prompt), tuple(decoded))


@cache  # many tests ask the same
@torch.no_grad()
def _passed(model: PreTrainedModel, prompt: tuple[int, ...], decoded: tuple[int, ...]) -> Tensor:
    if model.config.is_encoder_decoder:
        given = {"input_ids": torch.tensor([prompt]), "decoder_input_ids": torch.tensor([decoded])}
    else:
        given = {"input_ids": torch.tensor([prompt + decoded])}
    return model(**given, use_cache=False).logits[0, -1].float().log_softmax(dim=-1)


def steered(log_p_grounded: Tensor, log_p_ungrounded: Tensor, steering: Steering) -> Tensor:
    """Equations 4, 5 (interpolation) and 6 (addition) of West et al. and AdaCAD's as they are printed, of one row."""
    gain = log_p_grounded - log_p_ungrounded
    match steering:
        case PMI(alpha=alpha, method="interpolation"):
            scores = (1 - alpha) * log_p_grounded + alpha * gain
        case PMI(alpha=alpha):
            scores = log_p_grounded + alpha * gain
        case AdaCAD(least=least, scale=scale):
            bits = divergence(log_p_grounded.double().exp().tolist(), log_p_ungrounded.double().exp().tolist())
            alpha = scale * max(bits, least)
            scores = (1 + alpha) * log_p_grounded - alpha * log_p_ungrounded
        case _:
            raise TypeError(steering)
    return (scores.exp() / scores.exp().sum()).log()


def divergence(p: list[float], q: list[float]) -> float:
    """Jensen-Shannon divergence in bits, term by term: the entropy of the mean less the mean of the entropies."""

    def entropy(chances: list[float]) -> float:
        return -sum(chance * math.log2(chance) for chance in chances if chance > 0)

    return entropy([(a + b) / 2 for a, b in zip(p, q, strict=True)]) - (entropy(p) + entropy(q)) / 2


def named(steering: Any) -> str:
    """A steering in the name of a test."""
    return getattr(steering, "method", type(steering).__name__)


class Recorder(LogitsProcessor):
    """Keeps what the processor before it returned at every step."""

    def __init__(self) -> None:
        self.steps: list[tuple[Tensor, Tensor]] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        self.steps.append((input_ids.clone(), scores.clone()))
        return scores


def assert_exact(
    model: PreTrainedModel,
    prompts: Prompts,
    steps: list[tuple[Tensor, Tensor]],
    steering: Steering,
    *,
    start: int | None = None,
    other: PreTrainedModel | None = None,
) -> None:
    """Every step's scores equal the slow computation on the same rows."""
    assert len(steps) >= 4
    first = start if start is not None else 0 if model.config.is_encoder_decoder else steps[0][0].shape[1]
    for input_ids, scores in steps:
        each = len(input_ids) // len(prompts.grounded)
        for row, found in enumerate(scores):
            decoded = input_ids[row, first:].tolist()
            grounded = full_pass(model, prompts.grounded[row // each], decoded)
            expected = steered(grounded, full_pass(other or model, prompts.ungrounded[row // each], decoded), steering)
            assert torch.allclose(found, expected, atol=1e-4), (decoded, found - expected)


def letters() -> PreTrainedTokenizerFast:
    """A fast tokenizer with one token a character."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    known = ["<pad>", "</s>", "<s>", "?", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL0123456789 .,\n"]
    special: dict[str, Any] = {"pad_token": "<pad>", "eos_token": "</s>", "bos_token": "<s>", "unk_token": "?"}
    return tiny.tokenizer(known, splits=Split(Regex(r"[\s\S]"), "isolated"), **special)
