"""`tune`: a tiny judge learns what its claims show, keeps what a guard needs, and is not saved where it is no better."""

import random

import numpy as np
import pytest
import torch
from tests import tiny
from tests.tables import json_lines
from tests.tiny import WORDS
from transformers import MPNetForSequenceClassification

from groundrail.cli.main import main
from groundrail.entailment import CrossEncoderEntailment, Respelled, load
from groundrail.errors import InputError
from groundrail.evaluation.examples import Example
from groundrail.evaluation.tuning import FEWEST, FEWEST_OF_EACH, Measured, Tuned, in_parts, tune
from groundrail.types import Document


@pytest.fixture
def judge(tiny_tokenizer) -> Respelled:
    """A random classifier of the built-in judge's class."""
    settings = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "pad_token_id": 1}
    size = {"vocab_size": len(tiny_tokenizer), "max_position_embeddings": 130}
    model = tiny.classifier(MPNetForSequenceClassification, 3, "entailment neutral contradiction", **size, **settings)
    model.config.entailment_threshold = 0.4
    model.config.entailment_chunk_tokens = 30
    return Respelled(CrossEncoderEntailment(model, tiny_tokenizer, max_length=90, english_only=True))


def examples(count: int = 160, seed: int = 1, shuffled: bool = False) -> list[Example]:
    """Claims about cats are supported and claims about keys are not; shuffled, nothing tells them apart."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        words = draw.choices(WORDS.split(), k=24)
        source = f"{' '.join(words[:12])}. {' '.join(words[12:])}."
        supported = draw.random() < 0.5
        claim = " ".join(draw.choices("cats are allowed in the two rooms".split(), k=5))
        claim += " cats cats cats" if supported else " keys keys keys"
        label = float(draw.random() < 0.5) if shuffled else float(supported)
        found.append(Example(str(number), "own", (Document(text=source),), claim, label))
    return found


@pytest.mark.slow
def test_a_judge_that_learns_is_better_and_loads_with_all_that_it_needs(judge, tmp_path) -> None:
    before = {name: weight.clone() for name, weight in judge.model.model.state_dict().items()}
    tuned = tune(examples(), judge=judge)
    _, fitted, trained = tuned.rows
    assert tuned.better
    assert tuned.rows == tune(examples(), judge=judge).rows  # the same seed says the same
    assert trained.balanced >= fitted.balanced
    assert sum(tuned.counts) == 160
    for name, weight in judge.model.model.state_dict().items():  # the given judge stays as it is
        assert torch.equal(weight, before[name])
    tuned.save(tmp_path / "judge")
    loaded = load(str(tmp_path / "judge"), device="cpu")
    assert isinstance(loaded, Respelled)
    assert loaded.metadata.threshold == trained.threshold
    assert (loaded.metadata.english_only, loaded.metadata.chunk_tokens, loaded.max_tokens) == (True, 30, judge.max_tokens)
    assert "tuned on 160 claims" in loaded.metadata.identity
    pairs = [(example.source[0].text, example.claim) for example in examples(20, seed=9)]
    np.testing.assert_allclose(loaded.entailment(pairs), tuned.judge.entailment(pairs), atol=2e-2)
    assert np.abs(loaded.entailment(pairs) - judge.entailment(pairs)).max() > 0.01


def test_the_parts_share_no_source() -> None:
    claims = examples(120)
    doubled = [*claims, *(Example(f"{c.id}b", "own", c.source, f"{c.claim} due", c.label) for c in claims)]
    cut = in_parts(doubled, seed=4)
    sources = [{example.source[0].text for example in part} for part in cut]
    assert not (sources[0] & sources[1] | sources[0] & sources[2] | sources[1] & sources[2])
    assert sum(map(len, cut)) == 240


def test_a_judge_that_is_no_better_is_not_saved(judge, tmp_path) -> None:
    good, worse = Measured("a", 0.5, 0.8, 0.7, 0.7), Measured("b", 0.5, 0.79, 0.9, 0.9)
    for rows in ((good, good, worse), (worse, good, good), (good, good, good)):
        tuned = Tuned(judge.model, rows, (1, 1, 1))
        assert not tuned.better
        with pytest.raises(InputError, match="not better"):
            tuned.save(tmp_path / "judge")
    assert not (tmp_path / "judge").exists()


def test_labels_that_are_too_few_or_alike_or_in_another_language_are_errors(judge) -> None:
    with pytest.raises(InputError, match=rf"{FEWEST} in all and {FEWEST_OF_EACH} of each"):
        tune(examples(40), judge=judge)
    alike = [example for example in examples(400) if example.label == 1.0]
    with pytest.raises(InputError, match=r"all \d+ labels are supported"):
        tune(alike, judge=judge)
    german = "Der Mieter zahlt die Miete am Ersten jedes Monats, und der Vermieter stellt ihm eine Quittung aus."
    foreign = [Example(e.id, e.dataset, (Document(text=german),), german, e.label) for e in examples(120)]
    with pytest.raises(InputError, match="another language"):
        tune(foreign, judge=judge)


def test_the_command_refuses_a_folder_in_use_and_says_how_many_labels_are_needed(tmp_path, capsys) -> None:
    rows = [{"premise": "The rent is due.", "hypothesis": "It is due.", "label": True}]
    file = json_lines(tmp_path / "labelled.jsonl", rows)
    assert main(["tune", str(file), "--out", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["tune", str(file), "--out", str(tmp_path / "judge")]) == 2
    assert "all 1 labels are supported" in capsys.readouterr().err
