"""The PMI processors equal both prompts run in full at every step, in every mode of `generate`."""

from typing import Any

import pytest
import torch
from tests import tiny
from tests.decoding.conftest import (
    CONTEXT,
    ONE,
    THREE,
    Prompts,
    Recorder,
    assert_exact,
    full_pass,
    llama,
    named,
    padded,
    steered,
)
from torch import Tensor
from transformers import PreTrainedModel

from groundrail.decoding import (
    PMI,
    AdaCAD,
    PMIAdditionLogitsProcessor,
    PMIInterpolationLogitsProcessor,
    PMILogitsProcessor,
    Steering,
)
from groundrail.errors import InputError, ModelError, SourceTooLongError

ADDITION = PMI(0.7)
INTERPOLATION = PMI(0.4, "interpolation")
ADACAD = AdaCAD()
MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "top_k": 0},
    "several sequences": {"do_sample": True, "top_k": 0, "num_return_sequences": 3},
    "beams": {"num_beams": 4},
    "sampled beams": {"num_beams": 3, "do_sample": True, "top_k": 0, "num_return_sequences": 2},
    "static cache": {"cache_implementation": "static"},
    "static cache with beams": {"cache_implementation": "static", "num_beams": 3},
    "no cache": {"use_cache": False},
}


def generate(
    model: PreTrainedModel, prompts: Prompts, processor: PMILogitsProcessor, **options: Any
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    torch.manual_seed(3)
    recorder = Recorder()
    sequences = model.generate(
        **padded(prompts.grounded), logits_processor=[processor, recorder], max_new_tokens=5, **options
    )
    return sequences, recorder.steps


@pytest.mark.parametrize("prompts", [ONE, THREE], ids=["one", "three"])
@pytest.mark.parametrize("steering", [ADDITION, INTERPOLATION, ADACAD], ids=named)
@pytest.mark.parametrize("mode", list(MODES))
def test_every_mode_equals_the_slow_computation(model, mode, steering, prompts) -> None:
    side = "right" if model.config.is_encoder_decoder else "left"
    processor = PMILogitsProcessor(model, padded(prompts.ungrounded, side), steering)
    _, steps = generate(model, prompts, processor, **MODES[mode])
    assert_exact(model, prompts, steps, steering)


@pytest.mark.parametrize("steering", [ADDITION, ADACAD], ids=named)
@pytest.mark.parametrize("mode", ["assistant", "prompt lookup"])
def test_assisted_decoding_gives_the_tokens_of_greedy_search(decoder, mode, steering) -> None:
    options: dict[str, Any] = {"assistant_model": llama()} if mode == "assistant" else {"prompt_lookup_num_tokens": 3}
    processor = PMILogitsProcessor(decoder, padded(ONE.ungrounded), steering)
    plain, _ = generate(decoder, ONE, processor)
    assisted, _ = generate(decoder, ONE, processor, **options)
    assert torch.equal(plain, assisted)
    again, steps = generate(decoder, ONE, processor)
    assert torch.equal(plain, again)
    assert_exact(decoder, ONE, steps, steering)


def test_alpha_zero_is_the_grounded_model_to_the_bit(model: PreTrainedModel) -> None:
    for kind in (PMIAdditionLogitsProcessor, PMIInterpolationLogitsProcessor):
        processor = kind(model, padded(ONE.ungrounded), 0.0)
        scores = torch.randn(2, model.config.vocab_size, generator=torch.Generator().manual_seed(0)).expand(2, -1)
        scores = scores[:1].expand(2, -1)
        assert torch.equal(processor(torch.full((2, 3), 5), scores), scores.log_softmax(dim=-1))


@pytest.mark.parametrize("alpha", [0.3, 1.5])
def test_addition_is_guidance_where_guidance_is_right(decoder: PreTrainedModel, alpha: float) -> None:
    processor = PMIAdditionLogitsProcessor(decoder, padded(ONE.ungrounded), alpha, renormalize=False)
    ours, steps = generate(decoder, ONE, processor)
    theirs = decoder.generate(
        torch.tensor(ONE.grounded),
        guidance_scale=1 + alpha,
        negative_prompt_ids=torch.tensor(ONE.ungrounded),
        max_new_tokens=5,
        output_scores=True,
        return_dict_in_generate=True,
    )
    assert torch.equal(ours, theirs.sequences)
    for (_, found), expected in zip(steps, theirs.scores, strict=True):
        assert torch.allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("steering", [ADDITION, ADACAD], ids=named)
def test_padding_on_the_right_is_understood(decoder: PreTrainedModel, steering: Steering) -> None:
    processor = PMILogitsProcessor(decoder, padded(THREE.ungrounded, "right"), steering)
    _, steps = generate(decoder, THREE, processor)
    assert_exact(decoder, THREE, steps, steering)


@pytest.mark.parametrize("steering", [ADDITION, ADACAD], ids=named)
def test_another_model_may_estimate_the_ungrounded_distribution(models, steering) -> None:
    grounded, other = models["llama"], models["gpt2"]
    processor = PMILogitsProcessor(grounded, padded(ONE.ungrounded), steering, ungrounded_model=other)
    _, steps = generate(grounded, ONE, processor, num_beams=3)
    assert_exact(grounded, ONE, steps, steering, other=other)


def test_floor_leaves_only_plausible_tokens(decoder: PreTrainedModel) -> None:
    processor = PMIAdditionLogitsProcessor(decoder, padded(ONE.ungrounded), 2.0, floor=0.1)
    _, steps = generate(decoder, ONE, processor)
    for input_ids, scores in steps:
        decoded = input_ids[0, len(ONE.grounded[0]) :].tolist()
        grounded = full_pass(decoder, ONE.grounded[0], decoded)
        plausible = grounded.exp() >= 0.1 * grounded.exp().max()
        assert torch.equal(scores[0].isfinite(), plausible)
        expected = steered(grounded, full_pass(decoder, ONE.ungrounded[0], decoded), PMI(2.0))
        assert torch.allclose(scores[0][plausible], expected[plausible].log_softmax(dim=-1), atol=1e-4)


@pytest.mark.parametrize("steering", [ADDITION, ADACAD], ids=named)
def test_one_object_serves_several_generations(model: PreTrainedModel, steering: Steering) -> None:
    processor = PMILogitsProcessor(model, padded(ONE.ungrounded), steering)
    for grounded in (ONE.grounded, [[2, 33, 34, 35]], ONE.grounded, [[2, 33, 34]]):
        prompts = Prompts(grounded, ONE.ungrounded)
        for options in ({}, {"num_beams": 3}, {"do_sample": True, "num_return_sequences": 2, "top_k": 0}):
            _, steps = generate(model, prompts, processor, **options)
            assert_exact(model, prompts, steps, steering)


def test_generating_in_pieces_equals_generating_at_once(decoder: PreTrainedModel) -> None:
    processor = PMILogitsProcessor(decoder, padded(ONE.ungrounded), ADDITION)
    options: dict[str, Any] = {"logits_processor": [processor], "min_new_tokens": 9}
    whole = decoder.generate(torch.tensor(ONE.grounded), max_new_tokens=9, **options)
    rows = torch.tensor(ONE.grounded)
    for _ in range(3):
        rows = decoder.generate(rows, attention_mask=torch.ones_like(rows), logits_processor=[processor], max_new_tokens=3)
    assert torch.equal(rows, whole)


def test_a_longer_prompt_that_could_mean_two_things_is_an_error(decoder: PreTrainedModel) -> None:
    processor = PMILogitsProcessor(decoder, padded(ONE.ungrounded), ADDITION)
    generate(decoder, ONE, processor)
    longer = Prompts([ONE.grounded[0] + [50, 51, 52]], ONE.ungrounded)
    with pytest.raises(InputError, match=r"12 tokens .* 9 by .*reset.*prompt_length"):
        generate(decoder, longer, processor)
    processor.reset()
    _, steps = generate(decoder, longer, processor)
    assert_exact(decoder, longer, steps, ADDITION)


def test_prompt_length_says_where_the_answer_starts(decoder: PreTrainedModel) -> None:
    start = len(ONE.grounded[0])
    processor = PMILogitsProcessor(decoder, padded(ONE.ungrounded), ADDITION, prompt_length=start)
    for answer in ([], [50, 51, 52], [50], [53, 54]):
        _, steps = generate(decoder, Prompts([ONE.grounded[0] + answer], ONE.ungrounded), processor)
        assert_exact(decoder, ONE, steps, ADDITION, start=start)
    with pytest.raises(InputError, match=r"prompt_length is 9 .* 2 tokens"):
        processor(torch.tensor([[2, 3]]), torch.zeros(1, decoder.config.vocab_size))


def test_gains_are_the_log_ratios_of_the_chosen_tokens(model: PreTrainedModel) -> None:
    for options in (MODES["greedy"], MODES["several sequences"]):
        side = "right" if model.config.is_encoder_decoder else "left"
        processor = PMILogitsProcessor(model, padded(THREE.ungrounded, side), ADDITION)
        sequences, steps = generate(model, THREE, processor, **options)
        first = steps[0][0].shape[1]
        gains = processor.gains_of(sequences)
        assert gains.shape == (sequences.shape[0], sequences.shape[1] - first)
        assert torch.equal(gains[:, :-1], processor.gains)
        assert torch.allclose(gains, slow_gains(model, THREE, sequences, first), atol=1e-4)


def test_gains_follow_the_beams(model: PreTrainedModel) -> None:
    side = "right" if model.config.is_encoder_decoder else "left"
    processor = PMILogitsProcessor(model, padded(THREE.ungrounded, side), ADDITION)
    _, steps = generate(model, THREE, processor, num_beams=4)
    rows, first = steps[-1][0], steps[0][0].shape[1]
    assert torch.allclose(processor.gains, slow_gains(model, THREE, rows, first), atol=1e-4)


def slow_gains(model: PreTrainedModel, prompts: Prompts, sequences: Tensor, first: int) -> Tensor:
    start = 0 if model.config.is_encoder_decoder else first
    each = sequences.shape[0] // len(prompts.grounded)
    gains = torch.zeros(sequences.shape[0], sequences.shape[1] - first)
    for row, tokens in enumerate(sequences.tolist()):
        for place in range(first, len(tokens)):
            grounded, other = (
                full_pass(model, p[row // each], tokens[start:place]) for p in (prompts.grounded, prompts.ungrounded)
            )
            gains[row, place - first] = (grounded - other)[tokens[place]]
    return gains


def test_gains_are_refused_where_they_are_not_known(decoder: PreTrainedModel) -> None:
    processor = PMILogitsProcessor(decoder, padded(ONE.ungrounded), ADDITION)
    with pytest.raises(InputError, match="nothing was generated"):
        _ = processor.gains
    sequences, _ = generate(decoder, ONE, processor)
    with pytest.raises(InputError, match="token_gains"):
        processor.gains_of(sequences[:, :-2])
    elsewhere = sequences.clone()
    elsewhere[:, -2] += 1
    with pytest.raises(InputError, match="token_gains"):
        processor.gains_of(elsewhere)


def test_another_vocabulary_is_an_error_that_names_both(models: dict[str, PreTrainedModel]) -> None:
    with pytest.raises(ModelError, match=r"71 tokens.* 61"):
        PMIAdditionLogitsProcessor(models["llama"], padded(ONE.ungrounded), 0.5, ungrounded_model=llama(71))


@pytest.mark.parametrize(("rows", "beams"), [(1, 1), (2, 1), (4, 1), (6, 2), (3, 3), (2, 3)])
def test_another_batch_size_is_an_error_also_where_it_divides_by_chance(
    model: PreTrainedModel, rows: int, beams: int
) -> None:
    prompts = Prompts(THREE.grounded[:2], []) if rows == 3 else THREE
    if (rows, beams) == (2, 3):
        prompts = Prompts([*THREE.grounded, ONE.grounded[0]], [])
    ungrounded = padded([[2, 30 + row] for row in range(rows)])
    with pytest.raises(InputError, match=f"{rows} rows.* {len(prompts.grounded)} "):
        generate(model, prompts, PMILogitsProcessor(model, ungrounded, ADDITION), num_beams=beams)


def test_a_prompt_longer_than_the_context_is_an_error_that_names_both(decoder: PreTrainedModel) -> None:
    long = torch.full((1, CONTEXT + 4), 5)
    with pytest.raises(SourceTooLongError, match=f"{CONTEXT + 4} tokens .* {CONTEXT}"):
        PMIAdditionLogitsProcessor(decoder, long, 0.5)
    nearly = PMIAdditionLogitsProcessor(decoder, torch.full((1, CONTEXT - 2), 5), 0.5)
    with pytest.raises(SourceTooLongError, match=f"{CONTEXT + 1} tokens .* {CONTEXT}"):
        generate(decoder, ONE, nearly)
    scores = torch.zeros(1, decoder.config.vocab_size)
    rising = torch.arange(CONTEXT + 9)[None] % 50
    with pytest.raises(SourceTooLongError, match=f"grounded prompt has {CONTEXT + 9} .* {CONTEXT}"):
        PMIAdditionLogitsProcessor(decoder, torch.tensor([[2]]), 0.5)(rising, scores)


@pytest.mark.parametrize(
    ("ids", "mask", "told"),
    [
        ([[2, 3]], None, "return_tensors"),
        (torch.ones(1, 2).long(), torch.ones(1, 3).long(), r"\(1, 2\) .* \(1, 3\)"),
        (torch.tensor([[0, 0], [0, 5]]), torch.tensor([[0, 0], [0, 1]]), r"rows \[0\]"),
    ],
)
def test_ids_that_are_no_prompts_are_errors(models: dict[str, PreTrainedModel], ids: Any, mask: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        PMIAdditionLogitsProcessor(models["llama"], {"input_ids": ids, "attention_mask": mask}, 0.5)


def test_a_model_without_a_cache_is_computed_anew_at_every_step() -> None:
    """A state-space model keeps its state elsewhere; the answer is the same."""
    from transformers import MambaForCausalLM

    mamba: Any = tiny.model(MambaForCausalLM, vocab_size=61, num_hidden_layers=2, pad_token_id=0, eos_token_id=1)
    processor = PMILogitsProcessor(mamba, torch.tensor(ONE.ungrounded), ADDITION)
    recorder = Recorder()
    mamba.generate(torch.tensor(ONE.grounded), logits_processor=[processor, recorder], max_new_tokens=5, num_beams=2)
    assert_exact(mamba, ONE, recorder.steps, ADDITION)
