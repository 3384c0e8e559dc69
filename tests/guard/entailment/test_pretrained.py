"""Judges over pretrained models, of either kind: loaded, limited and broken alike."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from transformers import ByT5Tokenizer

from groundrail.entailment import CrossEncoderEntailment, Seq2SeqEntailment
from groundrail.errors import ClaimTooLongError, InputError, ModelError

Build: TypeAlias = Callable[..., CrossEncoderEntailment | Seq2SeqEntailment]


@pytest.fixture(params=["nli", "t5"])
def kind(request) -> str:
    return request.param


@pytest.fixture
def model(kind, request) -> Any:
    return request.getfixturevalue(f"tiny_{kind}")


@pytest.fixture
def folder(kind, request) -> str:
    return str(request.getfixturevalue(f"tiny_{kind}_folder"))


@pytest.fixture
def build(kind, model, tiny_tokenizer) -> Build:
    made: Any = {"nli": CrossEncoderEntailment, "t5": Seq2SeqEntailment}[kind]
    return partial(made, model, tiny_tokenizer)


def test_loading_from_files_changes_nothing(build: Build, folder: str, pairs) -> None:
    judge = type(build()).from_pretrained(folder, device="cpu", local_files_only=True)
    assert not judge.model.training
    assert judge.model.dtype == torch.float32
    np.testing.assert_allclose(judge.classify(pairs), build().classify(pairs), atol=1e-6)


def test_a_model_in_training_mode_is_put_into_evaluation_mode(build: Build, model, tiny_tokenizer, pairs) -> None:
    training = copy.deepcopy(model).train()
    judge = type(build())(training, tiny_tokenizer)
    assert not training.training
    np.testing.assert_array_equal(judge.entailment(pairs), judge.entailment(pairs))


def test_broken_weights_give_nan(build: Build, model, tiny_tokenizer, pairs) -> None:
    broken = copy.deepcopy(model)
    with torch.no_grad():
        (broken.lm_head if hasattr(broken, "lm_head") else broken.classifier).weight.fill_(torch.nan)
    assert np.isnan(type(build())(broken, tiny_tokenizer).entailment(pairs)).all()


def test_no_pairs(build: Build) -> None:
    assert build().entailment([]).shape == (0,)
    assert build().classify([]).shape == (0, 3)


@pytest.mark.parametrize("length", [60, 90])
def test_what_max_tokens_hold_fits_and_nothing_is_cut(build: Build, kind: str, length: int) -> None:
    judge, claim = build(max_length=length), "cats are allowed"
    assert 20 < judge.max_tokens < length
    longest = judge.max_tokens - 3
    assert np.isfinite(judge.entailment([("rent " * longest, claim)])).all()
    with pytest.raises(InputError, match=f"the model reads {length}") as error:
        judge.entailment([("keys", "due"), ("rent " * (longest + (1 if kind == "nli" else length)), claim)])
    assert not isinstance(error.value, ClaimTooLongError)
    with pytest.raises(ClaimTooLongError, match="cats cats"):
        judge.entailment([("", "cats " * judge.max_tokens)])


def test_the_longest_input_is_the_least_of_what_is_known(build: Build, model, kind: str, tiny_tokenizer) -> None:
    tokenizer = copy.deepcopy(tiny_tokenizer)
    found = []
    for limit in (100, 256, int(1e30)):
        tokenizer.model_max_length = limit
        found.append(type(build())(model, tokenizer).max_length)
    assert found == {"nli": [100, 128, 128], "t5": [100, 256, 512]}[kind]


def test_offsets_are_exact_on_text_far_beyond_the_limit(build: Build) -> None:
    text = "The rent, 45 euros,\r\nis due.\n" * 500
    assert "".join(text[start:end] for start, end in build().offsets(text)) == "".join(text.split())


def test_a_slow_tokenizer_is_refused(build: Build, model) -> None:
    with pytest.raises(ModelError, match="slow tokenizer"):
        type(build())(model, ByT5Tokenizer())
