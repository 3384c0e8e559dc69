"""Factual ablation equals its definition, computed token by token."""

import json
import math
from typing import Any

import pytest
from tests.decoding.conftest import full_pass, letters, llama, steered
from transformers import PreTrainedModel

from groundrail.decoding import CAD, PMI, AdaCAD, Steering
from groundrail.errors import InputError, ModelError, SourceTooLongError
from groundrail.papers.ablation import AblationExample, AblationResult, factual_ablation, load_examples

EXAMPLES = [
    AblationExample("He won", " seven", "a seven b", "a two b"),
    AblationExample("He won", " two", "a two b", "a seven b"),
    AblationExample("in", " 1990.", "it was 1990", "it was 1891"),
]


def slow_log_p(
    model: PreTrainedModel,
    example: AblationExample,
    source: str,
    steering: Steering | None,
    ungrounded_model: PreTrainedModel | None = None,
) -> float:
    """Sum over the target's tokens, each from its own full passes."""

    def ids(text: str) -> list[int]:
        return letters()(text)["input_ids"]

    target, context = ids(example.target), ids(example.context)
    total = 0.0
    for place, token in enumerate(target):
        log_p = full_pass(model, [2, *ids(source + "\n\n"), *context], target[:place])
        if steering is not None:
            log_p = steered(log_p, full_pass(ungrounded_model or model, [2, *context], target[:place]), steering)
        total += float(log_p[token])
    return total


@pytest.mark.parametrize("steering", [None, PMI(0.5), CAD(0.5), PMI(0.3, "interpolation"), AdaCAD()])
@pytest.mark.parametrize("second", [None, "gpt2"])
def test_log_ratios_equal_the_definition(decoder, models, steering, second) -> None:
    other = models[second] if second and steering else None
    result = factual_ablation(decoder, letters(), EXAMPLES, steering=steering, ungrounded_model=other)
    for example, found in zip(EXAMPLES, result.log_ratios, strict=True):
        expected = slow_log_p(decoder, example, example.source, steering, other)
        expected -= slow_log_p(decoder, example, example.other_source, steering, other)
        assert found == pytest.approx(expected, abs=1e-3)


def test_an_ungrounded_model_that_cannot_be_asked_is_an_error(models) -> None:
    with pytest.raises(InputError, match="steering=PMI"):
        factual_ablation(models["llama"], letters(), EXAMPLES, ungrounded_model=models["gpt2"])
    with pytest.raises(ModelError, match=r"71 tokens.* 61"):
        factual_ablation(models["llama"], letters(), EXAMPLES, steering=PMI(0.5), ungrounded_model=llama(71))


def test_a_tie_is_a_failure(models) -> None:
    """Equation 2 is strict."""
    tie = AblationExample("He won", " seven", "a seven b", "a seven b")
    result = factual_ablation(models["llama"], letters(), [tie], margins=[0.0])
    assert result.log_ratios == (0.0,)
    assert result.accuracies == (0.0,)
    assert AblationResult((math.log(100), 5.0), (math.log(100),)).accuracies == (0.5,)


def test_a_target_below_the_floor_of_both_sources_is_above_no_margin(models) -> None:
    result = factual_ablation(models["llama"], letters(), EXAMPLES, margins=[-math.inf], steering=PMI(0.5, floor=1.0))
    impossible = [math.isnan(ratio) for ratio in result.log_ratios]
    assert any(impossible)
    assert result.accuracies[0] <= 1 - sum(impossible) / len(EXAMPLES)


def test_accuracies_count_what_is_above_each_margin() -> None:
    result = AblationResult((0.5, -1.0, 5.0, 7.0), (0.0, math.log(100), math.log(1000)))
    assert result.accuracies == (0.75, 0.5, 0.25)


RECORD = {"context": "c", "target": "t", "new_target": "n", "source": "s", "new_source": "r", "extra": 1}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"2": RECORD, "11": RECORD}),
        json.dumps(RECORD) + "\n\n" + json.dumps(RECORD) + "\n",
        json.dumps({"2": RECORD}) + "\n" + json.dumps({"11": RECORD}),
    ],
)
def test_every_record_gives_two_examples(tmp_path, text) -> None:
    path = tmp_path / "synthetic.jsonl"
    path.write_text(text)
    expected = [AblationExample("c", "t", "s", "r"), AblationExample("c", "n", "r", "s")]
    assert load_examples(path) == expected * 2


def test_bad_input_is_an_error(tmp_path, models) -> None:
    path = tmp_path / "examples.jsonl"
    path.write_text("\n")
    with pytest.raises(InputError, match="at least one row"):
        load_examples(path)
    path.write_text(json.dumps({"target": "t", "source": "s"}))
    with pytest.raises(InputError, match="line 1, field 'context'"):
        load_examples(path)
    with pytest.raises(InputError, match="at least one example"):
        factual_ablation(models["llama"], letters(), [])
    long = AblationExample("c", "t", "s" * 200, "r")
    with pytest.raises(SourceTooLongError, match="205 tokens"):
        factual_ablation(models["llama"], letters(), [long])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{\n", "line 1: expected a JSON object"),
        ("\n{}\n[1, 2]", "line 3: expected a JSON object, not list"),
        ('{"0": 3}', "line 1, field 'context': Field required"),
        ('{"context": 1, "target": "t", "new_target": "n", "source": null, "new_source": "r"}', "field 'context'.*not '1'"),
    ],
)
def test_a_file_in_the_wrong_format_is_named_with_its_line(tmp_path, text, said) -> None:
    path = tmp_path / "examples.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        load_examples(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_examples(tmp_path / "none.jsonl")


LONG = [
    AblationExample("He won", " seven", "a seven b", "a two b"),
    AblationExample("He won", " two", "a two b" + "s" * 100, "a seven b"),
    AblationExample("in", " 1990.", "it was 1990", "it was 1891" + "t" * 100),
]


def test_what_does_not_fit_is_counted_before_anything_is_scored(decoder) -> None:
    with pytest.raises(
        SourceTooLongError, match=r"2 of 3 examples .* 96 tokens, the longest has 122 tokens: too_long='cut'"
    ):
        factual_ablation(decoder, letters(), LONG)
    with pytest.raises(SourceTooLongError, match="none of 1 examples"):
        factual_ablation(decoder, letters(), LONG[1:2], too_long="leave out")
    with pytest.raises(SourceTooLongError, match="leaves no room for a source"):
        factual_ablation(decoder, letters(), [AblationExample("c" * 93, "t", "s", "r")], too_long="cut")
    unknown: Any = "shorten"
    with pytest.raises(InputError, match="'error', 'cut', 'leave out', not 'shorten'"):
        factual_ablation(decoder, letters(), LONG, too_long=unknown)


def test_what_is_left_out_leaves_the_rest_as_it_is(decoder) -> None:
    found = factual_ablation(decoder, letters(), LONG, too_long="leave out")
    alone = factual_ablation(decoder, letters(), LONG[:1])
    assert (found.log_ratios, found.left_out, found.cut) == (alone.log_ratios, 2, 0)


def test_a_cut_source_keeps_as_many_tokens_as_fit(decoder) -> None:
    found = factual_ablation(decoder, letters(), LONG, too_long="cut")
    assert (found.left_out, found.cut, len(found.log_ratios)) == (0, 2, 3)
    room = 96 - 1 - len("\n\n") - len("in") - len(" 1990.")
    by_hand = AblationExample("in", " 1990.", "it was 1990", ("it was 1891" + "t" * 100)[:room])
    (expected,) = factual_ablation(decoder, letters(), [by_hand]).log_ratios
    assert found.log_ratios[2] == pytest.approx(expected, abs=1e-4)
