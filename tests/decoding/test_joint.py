"""One pass for both contexts gives what two passes give."""

from typing import Any

import pytest
import torch
from tests.decoding.conftest import CONTEXT, ONE, THREE, Prompts, Recorder, assert_exact, llama, named, padded, sliding
from transformers import PreTrainedModel, StoppingCriteria
from transformers.generation.streamers import BaseStreamer

from groundrail.decoding import PMI, AdaCAD, PMIDecoding, PMILogitsProcessor, Steering
from groundrail.errors import InputError, ModelError, SourceTooLongError

ADDITION = PMI(0.7)
INTERPOLATION = PMI(0.4, "interpolation", floor=0.01)
ADACAD = AdaCAD(least=0.1, scale=1.5)
UNGROUNDED_LONGER = Prompts([[2, 5, 6], [2, 7]], [[2, 5, 6, 7, 8, 9, 10], [2, 9, 9, 8]])
MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "top_k": 0},
    "warped sampling": {"do_sample": True, "top_k": 20, "temperature": 0.8, "top_p": 0.9},
    "several sequences": {"do_sample": True, "top_k": 0, "num_return_sequences": 3},
    "least length": {"min_new_tokens": 5},
}


def both(model: PreTrainedModel, prompts: Prompts, steering: Steering, **options: Any) -> tuple[Any, Any, PMIDecoding]:
    """The answers of the processor and of the joint pass."""
    options = {"max_new_tokens": 6, "return_dict_in_generate": True, "output_scores": True} | options
    processor = PMILogitsProcessor(model, padded(prompts.ungrounded), steering)
    torch.manual_seed(11)
    apart = model.generate(**padded(prompts.grounded), logits_processor=[processor], **options)
    decoding = PMIDecoding(padded(prompts.ungrounded), steering)
    torch.manual_seed(11)
    joint = model.generate(**padded(prompts.grounded), custom_generate=decoding, **options)
    return apart, joint, decoding


@pytest.mark.parametrize("prompts", [ONE, THREE, UNGROUNDED_LONGER], ids=["one", "three", "longer"])
@pytest.mark.parametrize("steering", [ADDITION, INTERPOLATION, ADACAD], ids=named)
@pytest.mark.parametrize("mode", list(MODES))
def test_tokens_and_scores_are_those_of_the_processor(decoder, mode, steering, prompts) -> None:
    apart, joint, _ = both(decoder, prompts, steering, **MODES[mode])
    assert torch.equal(apart.sequences, joint.sequences)
    assert len(apart.scores) == len(joint.scores)
    if mode != "least length":
        for expected, found in zip(apart.scores, joint.scores, strict=True):
            assert torch.allclose(expected, found, atol=1e-4)


@pytest.mark.parametrize("steering", [ADDITION, ADACAD], ids=named)
def test_scores_of_eager_attention_equal_the_slow_computation(steering: Steering) -> None:
    model = llama(attention="eager")
    recorder = Recorder()
    decoding = PMIDecoding(padded(THREE.ungrounded), steering)
    options: dict[str, Any] = {"custom_generate": decoding, "logits_processor": [recorder], "max_new_tokens": 8}
    model.generate(**padded(THREE.grounded), **options)
    assert len(recorder.steps) == 8
    assert_exact(model, THREE, recorder.steps, steering)


def test_more_tokens_than_the_first_buffer_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundrail.decoding.growing_cache.ROOM", 3)
    apart, joint, _ = both(llama(), THREE, ADDITION, max_new_tokens=20, min_new_tokens=20)
    assert torch.equal(apart.sequences, joint.sequences)


def test_gains_are_those_of_the_processor(decoder: PreTrainedModel) -> None:
    processor = PMILogitsProcessor(decoder, padded(THREE.ungrounded), ADDITION)
    sequences = decoder.generate(**padded(THREE.grounded), logits_processor=[processor], max_new_tokens=12)
    _, joint, decoding = both(decoder, THREE, ADDITION, max_new_tokens=12)
    assert torch.equal(sequences, joint.sequences)
    assert decoding.gains is not None
    chosen = ~decoding.gains.isnan()
    assert torch.allclose(decoding.gains[chosen], processor.gains_of(sequences)[chosen], atol=1e-4)


def test_gains_end_with_the_row(models: dict[str, PreTrainedModel]) -> None:
    """A row that ends early has a gain for its last token and none for its padding."""
    model = models["llama"]
    decoding = PMIDecoding(padded(THREE.ungrounded), ADDITION)
    free = model.generate(**padded(THREE.grounded), custom_generate=decoding, max_new_tokens=8)
    width = padded(THREE.grounded)["input_ids"].shape[1]
    ends = int(free[0, width + 1])
    rows = model.generate(
        **padded(THREE.grounded), custom_generate=decoding, eos_token_id=ends, pad_token_id=0, max_new_tokens=8
    )
    assert decoding.gains is not None
    for tokens, gains in zip(rows[:, width:].tolist(), decoding.gains, strict=True):
        length = tokens.index(ends) + 1 if ends in tokens else len(tokens)
        assert int(gains.isfinite().sum()) == length
        assert bool(gains[:length].isfinite().all())


def test_the_returned_cache_is_the_grounded_one(decoder: PreTrainedModel) -> None:
    for prompts in (THREE, UNGROUNDED_LONGER):
        apart, joint, _ = both(decoder, prompts, ADDITION, use_cache=True)
        for expected, found in zip(apart.past_key_values.layers, joint.past_key_values.layers, strict=True):
            visible = padded(prompts.grounded)["attention_mask"].bool()
            visible = torch.nn.functional.pad(visible, (0, found.keys.shape[2] - visible.shape[1]), value=True)
            assert expected.keys.shape == found.keys.shape
            for row, columns in enumerate(visible):
                assert torch.allclose(expected.keys[row][:, columns], found.keys[row][:, columns], atol=1e-4)
                assert torch.allclose(expected.values[row][:, columns], found.values[row][:, columns], atol=1e-4)


@pytest.mark.parametrize("tokens", [1, 6])
def test_the_returned_cache_has_the_shape_that_generate_gives(decoder: PreTrainedModel, tokens: int) -> None:
    """Also after one token, for several sequences, and for prompts padded more than any of them needs."""
    grounded = padded([*THREE.grounded, [2] * 12])
    inputs = {name: value[:3] for name, value in grounded.items()}
    options: dict[str, Any] = {
        **inputs,
        "max_new_tokens": tokens,
        "do_sample": True,
        "num_return_sequences": 2,
        "return_dict_in_generate": True,
    }
    plain = decoder.generate(**options)
    joint = decoder.generate(**options, custom_generate=PMIDecoding(padded(THREE.ungrounded), ADDITION))
    for expected, found in zip(plain.past_key_values.layers, joint.past_key_values.layers, strict=True):
        assert found.keys.shape == expected.keys.shape
        assert found.values.shape == expected.values.shape


def test_layers_that_forget_are_an_error_that_names_the_processor() -> None:
    decoding = PMIDecoding(padded(ONE.ungrounded), ADDITION)
    with pytest.raises(ModelError, match=r"keeps every token.*LogitsProcessor"):
        sliding().generate(**padded(ONE.grounded), custom_generate=decoding, max_new_tokens=3)


class Collector(BaseStreamer):
    def __init__(self) -> None:
        self.pieces: list[list[int]] = []
        self.ended = False

    def put(self, value: torch.Tensor) -> None:
        self.pieces.append(value.flatten().tolist())

    def end(self) -> None:
        self.ended = True


def test_a_streamer_gets_the_prompt_and_every_token(decoder: PreTrainedModel) -> None:
    plain, ours = Collector(), Collector()
    processor = PMILogitsProcessor(decoder, padded(ONE.ungrounded), ADDITION)
    decoder.generate(**padded(ONE.grounded), logits_processor=[processor], streamer=plain, max_new_tokens=6)
    decoding = PMIDecoding(padded(ONE.ungrounded), ADDITION, streamer=ours)
    decoder.generate(**padded(ONE.grounded), custom_generate=decoding, max_new_tokens=6)
    assert ours.pieces == plain.pieces
    assert ours.ended


class AfterFour(StoppingCriteria):
    def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:
        return torch.full((input_ids.shape[0],), input_ids.shape[1] >= len(ONE.grounded[0]) + 4)


def test_stopping_criteria_stop(decoder: PreTrainedModel) -> None:
    apart, joint, _ = both(decoder, ONE, ADDITION, stopping_criteria=[AfterFour()], max_new_tokens=30)
    assert joint.sequences.shape[1] == len(ONE.grounded[0]) + 4
    assert torch.equal(apart.sequences, joint.sequences)


def test_raw_logits_are_the_grounded_ones(decoder: PreTrainedModel) -> None:
    apart, joint, _ = both(decoder, THREE, ADDITION, output_logits=True)
    for expected, found in zip(apart.logits, joint.logits, strict=True):
        assert torch.allclose(expected, found, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        ("gpt2", {"num_beams": 2}, "num_beams is 2"),
        ("gpt2", {"output_attentions": True}, "attentions"),
        ("gpt2", {"token_type_ids": torch.zeros(1, 9).long()}, "token_type_ids"),
        ("t5", {}, "decoder-only"),
    ],
)
def test_what_only_the_processor_can_do_is_an_error(models: Any, kind: str, options: Any, told: str) -> None:
    decoding = PMIDecoding(padded(ONE.ungrounded), ADDITION)
    with pytest.raises(InputError, match=f"{told}.*LogitsProcessor"):
        models[kind].generate(**padded(ONE.grounded), custom_generate=decoding, max_new_tokens=3, **options)


def test_a_filled_cache_is_an_error(models: dict[str, PreTrainedModel]) -> None:
    model = models["llama"]
    cache = model(torch.tensor(ONE.grounded)[:, :4]).past_key_values
    decoding = PMIDecoding(padded(ONE.ungrounded), ADDITION)
    with pytest.raises(InputError, match="past_key_values"):
        model.generate(**padded(ONE.grounded), custom_generate=decoding, past_key_values=cache, max_new_tokens=3)


@pytest.mark.parametrize("rows", [1, 2, 6])
def test_another_batch_size_is_an_error(decoder: PreTrainedModel, rows: int) -> None:
    decoding = PMIDecoding(padded([[2, 30 + row] for row in range(rows)]), ADDITION)
    with pytest.raises(InputError, match=f"{rows} rows.* 3 "):
        decoder.generate(**padded(THREE.grounded), custom_generate=decoding, max_new_tokens=3)


def test_no_prompt_and_no_answer_outgrows_the_context(decoder: PreTrainedModel) -> None:
    options: dict[str, Any] = {"max_new_tokens": 8, "min_new_tokens": 8}
    long = torch.full((1, CONTEXT + 1), 5)
    with pytest.raises(SourceTooLongError, match=f"ungrounded prompt has {CONTEXT + 1} .* {CONTEXT}"):
        decoder.generate(**padded(ONE.grounded), custom_generate=PMIDecoding(long, ADDITION), **options)
    nearly = torch.full((1, CONTEXT - 3), 5)
    with pytest.raises(SourceTooLongError, match=f"answer has {CONTEXT + 1} .* {CONTEXT}"):
        decoder.generate(nearly, custom_generate=PMIDecoding(padded(ONE.ungrounded), ADDITION), **options)
