"""A model that reports how far it has come answers as the model it wraps."""

import numpy as np
import pytest

from groundrail import ModelError
from groundrail.entailment.base import three_way
from groundrail.entailment.cross_encoder import CrossEncoderEntailment
from groundrail.entailment.reporting import Reporting
from groundrail.guard import Guard
from groundrail.testing import FakeEntailment


def test_answers_are_the_models_and_every_part_is_reported():
    pairs = [(f"word {n}", f"word {n - n % 2}") for n in range(150)]
    inner, seen = FakeEntailment(), []
    scores = Reporting(inner, lambda done, total: seen.append((done, total))).entailment(pairs)
    assert scores.tolist() == FakeEntailment().entailment(pairs).tolist()
    assert {0.0, 1.0} == set(scores.tolist())
    assert seen == [(0, 150), (64, 150), (128, 150), (150, 150)]
    assert [len(call) for call in inner.calls] == [64, 64, 22]


def test_nothing_to_judge_is_nothing_judged():
    inner = FakeEntailment()
    assert np.array_equal(Reporting(inner, lambda done, total: None).entailment([]), np.empty(0))
    assert inner.calls == []


def test_a_guard_takes_it_for_the_model_it_wraps():
    model = Reporting(FakeEntailment(max_tokens=40), lambda done, total: None)
    assert (model.max_tokens, model.threshold, model.chunk_tokens) == (40, 0.5, None)
    assert Guard(scorer=model).check("The tea is green.", "The tea is green, they say.").supported


def test_three_classes_are_the_models_where_it_has_them(tiny_nli, tiny_tokenizer, pairs):
    inner, seen = CrossEncoderEntailment(tiny_nli, tiny_tokenizer), []
    model = three_way(Reporting(inner, lambda done, total: seen.append((done, total))))
    assert model is not None
    assert seen == []
    assert np.allclose(model.classify(pairs), inner.classify(pairs), atol=1e-6)
    assert seen == [(0, len(pairs)), (len(pairs), len(pairs))]


def test_a_model_of_two_classes_stays_one():
    model = Reporting(FakeEntailment(), lambda done, total: None)
    assert three_way(model) is None
    with pytest.raises(ModelError, match="FakeEntailment"):
        model.classify([("The tea is green.", "It is green.")])
