"""A classifier's P(entailment): the right output under any name, and no pair cut or mixed up."""

import copy
import itertools
import threading
from typing import Any

import numpy as np
import pytest
import torch
from tests import tiny
from tests.tables import tabled
from transformers import BertForSequenceClassification, PreTrainedTokenizerFast

from groundrail.entailment import CrossEncoderEntailment
from groundrail.errors import InputError, ModelError

ORDER = [1, 2, 0]  # of the fixture's outputs: entailment, neutral, contradiction


def one_by_one(
    model: BertForSequenceClassification, tokenizer: PreTrainedTokenizerFast, pairs: list[tuple[str, str]]
) -> np.ndarray:
    """Softmax of each pair alone: no batch, no padding."""
    rows = []
    for premise, claim in pairs:
        with torch.no_grad():
            logits = model(**tokenizer(premise, claim, return_tensors="pt")).logits[0].double().numpy()
        rows.append(np.exp(logits) / np.exp(logits).sum())
    return np.array(rows)


def with_head(model: BertForSequenceClassification, rows: list[int], names: list[str]) -> BertForSequenceClassification:
    """The same encoder with the head's outputs picked and named anew."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        head = torch.nn.Linear(model.config.hidden_size, len(rows))
        head.weight.copy_(model.classifier.weight[rows])
        head.bias.copy_(model.classifier.bias[rows])
    model.classifier = head
    model.config.id2label = dict(enumerate(names))
    model.config.label2id = {name: index for index, name in enumerate(names)}
    model.num_labels = len(rows)
    return model


def test_batches_say_what_single_pairs_say(tiny_nli, tiny_tokenizer, pairs) -> None:
    expected = one_by_one(tiny_nli, tiny_tokenizer, pairs)[:, ORDER]
    assert expected.std(axis=0).min() > 0.01
    for batch_tokens in (1, 300, 100_000):
        judge = CrossEncoderEntailment(tiny_nli, tiny_tokenizer, batch_tokens=batch_tokens)
        np.testing.assert_allclose(judge.classify(pairs), expected, atol=1e-6)
        np.testing.assert_allclose(judge.entailment(pairs), expected[:, 0], atol=1e-6)


@pytest.mark.parametrize("named", ["by id2label", "by label2id", "by the caller"])
@pytest.mark.parametrize("names", list(itertools.permutations(["Entailment", "NEUTRAL", "contradiction"])))
def test_outputs_are_known_by_their_names_in_any_order(names, named, tiny_nli, tiny_tokenizer, pairs) -> None:
    rows = [{"Entailment": 1, "NEUTRAL": 2, "contradiction": 0}[name] for name in names]
    bare = [f"LABEL_{number}" for number in range(3)]
    model = with_head(tiny_nli, rows, list(names) if named == "by id2label" else bare)
    if named == "by label2id":
        model.config.label2id = {name: place for place, name in enumerate(names)}
    judge = CrossEncoderEntailment(model, tiny_tokenizer, labels=names if named == "by the caller" else None)
    expected = CrossEncoderEntailment(tiny_nli, tiny_tokenizer).classify(pairs)
    np.testing.assert_allclose(judge.classify(pairs), expected, atol=1e-6)


def test_labels_for_other_outputs_are_an_error(tiny_nli, tiny_tokenizer) -> None:
    with pytest.raises(InputError, match="names 2 outputs"):
        CrossEncoderEntailment(tiny_nli, tiny_tokenizer, labels=["yes", "no"])


@tabled("names, entailment")
def test_two_classes(names, entailment, tiny_nli, tiny_tokenizer, pairs) -> None:
    model = with_head(tiny_nli, [0, 1], names)
    judge = CrossEncoderEntailment(model, tiny_tokenizer)
    expected = one_by_one(model, tiny_tokenizer, pairs)[:, entailment]
    np.testing.assert_allclose(judge.entailment(pairs), expected, atol=1e-6)
    np.testing.assert_allclose(judge.classify(pairs), np.stack([expected, 1 - expected, 0 * expected], 1), atol=1e-6)


def test_a_single_logit_is_read_by_sigmoid(tiny_nli, tiny_tokenizer, pairs) -> None:
    model = with_head(tiny_nli, [1], ["LABEL_0"])
    with torch.no_grad():
        logits = [model(**tiny_tokenizer(*pair, return_tensors="pt")).logits.item() for pair in pairs]
    judge = CrossEncoderEntailment(model, tiny_tokenizer)
    np.testing.assert_allclose(judge.entailment(pairs), 1 / (1 + np.exp(-np.array(logits))), atol=1e-6)


@tabled("names")
def test_labels_that_cannot_be_understood_are_an_error_that_names_them(names, tiny_nli, tiny_tokenizer) -> None:
    model = with_head(tiny_nli, [0] * len(names), names)
    with pytest.raises(ModelError, match=", ".join(names)):
        CrossEncoderEntailment(model, tiny_tokenizer)


def test_temperature_divides_the_logits(tiny_nli, tiny_tokenizer, pairs) -> None:
    plain = CrossEncoderEntailment(tiny_nli, tiny_tokenizer).classify(pairs)
    cooled = CrossEncoderEntailment(tiny_nli, tiny_tokenizer, temperature=2.5).classify(pairs)
    expected = plain ** (1 / 2.5)
    np.testing.assert_allclose(cooled, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)
    with pytest.raises(InputError, match="temperature"):
        CrossEncoderEntailment(tiny_nli, tiny_tokenizer, temperature=0.0)


def test_temperature_and_threshold_travel_in_the_config(tiny_nli, tiny_tokenizer, tmp_path) -> None:
    model = with_head(tiny_nli, [0, 1, 2], ["contradiction", "entailment", "neutral"])
    model.config.entailment_temperature = 1.7
    model.config.entailment_threshold = 0.31
    model.save_pretrained(tmp_path)
    tiny_tokenizer.save_pretrained(tmp_path)
    judge = CrossEncoderEntailment.from_pretrained(str(tmp_path))
    assert (judge.temperature, judge.threshold) == (1.7, 0.31)
    judge = CrossEncoderEntailment.from_pretrained(str(tmp_path), temperature=1.0, threshold=0.5)
    assert (judge.temperature, judge.threshold) == (1.0, 0.5)


def test_half_precision_on_request(tiny_nli_folder, pairs) -> None:
    exact = CrossEncoderEntailment.from_pretrained(str(tiny_nli_folder), device="cpu")
    half = CrossEncoderEntailment.from_pretrained(str(tiny_nli_folder), device="cpu", dtype=torch.bfloat16)
    assert half.model.dtype == torch.bfloat16
    np.testing.assert_allclose(half.entailment(pairs), exact.entailment(pairs), atol=0.1)


def test_positions_that_start_after_the_padding_index_are_not_counted(tiny_tokenizer) -> None:
    from transformers import RobertaForSequenceClassification

    own: dict[str, Any] = {
        "max_position_embeddings": 40,
        "type_vocab_size": 2,
        "pad_token_id": 0,
        "id2label": {0: "no", 1: "yes"},
    }
    model = tiny.model(RobertaForSequenceClassification, vocab_size=len(tiny_tokenizer), **own)
    judge = CrossEncoderEntailment(model, tiny_tokenizer)
    assert judge.max_length == 39
    longest = " ".join(["rent"] * (judge.max_tokens - 1))
    assert np.isfinite(judge.entailment([(longest, "rent")])).all()


def test_threads_can_share_a_judge(tiny_nli, tiny_tokenizer, pairs) -> None:
    judge = CrossEncoderEntailment(tiny_nli, tiny_tokenizer)
    expected = judge.entailment(pairs)
    found: list[np.ndarray] = []

    def work() -> None:
        for _ in range(5):
            judge.offsets("the rent is due " * 50)
            found.append(judge.entailment(pairs))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    for values in found:
        np.testing.assert_allclose(values, expected, atol=1e-6)
