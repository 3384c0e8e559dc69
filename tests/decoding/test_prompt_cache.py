"""Whatever is asked for, in whatever order, the cache answers as a model that reads everything anew."""

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import CONTEXT, ONE, THREE, full_pass, llama, padded, sliding
from torch import Tensor
from transformers import Cache, PreTrainedModel

from groundrail.decoding.growing_cache import can_be_joined
from groundrail.decoding.prompt_cache import PromptCache
from groundrail.decoding.prompts import Prompt
from groundrail.errors import InputError, ModelError, SourceTooLongError

ORDERS = [(3, 2), (4, 2), (6, 4), (2, 4), (2, 1), (5, 1), (1, 3), (0, 2), (3, 2)]
CONTINUATIONS = st.lists(st.lists(st.integers(2, 60), max_size=6), min_size=1, max_size=6)
COMMON = settings(max_examples=30)


def prompt(rows: list[list[int]], side: str = "left", name: str = "the prompt") -> Prompt:
    fields = padded(rows, side)
    return Prompt(fields["input_ids"], fields["attention_mask"], name)


@contextmanager
def counted(model: PreTrainedModel) -> Iterator[list[tuple[int, ...]]]:
    """The shapes of the token ids of every forward pass."""
    shapes: list[tuple[int, ...]] = []
    hook = model.register_forward_pre_hook(
        lambda _, __, given: shapes.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    yield shapes
    hook.remove()


def assert_fresh(model: PreTrainedModel, rows: list[list[int]], continuation: Tensor, logits: Tensor) -> None:
    each = continuation.shape[0] // len(rows)
    for row, decoded in enumerate(continuation.tolist()):
        expected = full_pass(model, rows[row // each], decoded)
        assert torch.allclose(logits[row].log_softmax(dim=-1), expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "sliding"])
def test_rows_in_any_order_number_and_length_are_exact(models: dict[str, PreTrainedModel], kind: str) -> None:
    """Rows are dropped, doubled, cut back and replaced, as no mode of `generate` does it."""
    model = sliding() if kind == "sliding" else models[kind]
    cache = PromptCache(model, prompt(THREE.ungrounded))
    generator = torch.Generator().manual_seed(5)
    for length, each in ORDERS:
        continuation = torch.randint(2, 4, (3 * each, length), generator=generator)
        (found,) = cache.next_logits(continuation)
        assert_fresh(model, THREE.ungrounded, continuation, found)


def test_several_prompts_in_any_order_number_and_length_are_exact(decoder: PreTrainedModel) -> None:
    cache = PromptCache(decoder, prompt(THREE.grounded), prompt(THREE.ungrounded, "right"))
    generator = torch.Generator().manual_seed(5)
    for length, each in ORDERS:
        continuation = torch.randint(2, 4, (3 * each, length), generator=generator)
        grounded, ungrounded = cache.next_logits(continuation)
        assert_fresh(decoder, THREE.grounded, continuation, grounded)
        assert_fresh(decoder, THREE.ungrounded, continuation, ungrounded)


@COMMON
@given(continuations=CONTINUATIONS)
def test_logits_after_any_rewinds_equal_a_fresh_run(models, continuations) -> None:
    model = models["llama"]
    cache = PromptCache(model, prompt(ONE.grounded), prompt(ONE.ungrounded))
    for continuation in continuations:
        grounded, ungrounded = cache.next_logits(torch.tensor([continuation], dtype=torch.long))
        for rows, found in ((ONE.grounded, grounded), (ONE.ungrounded, ungrounded)):
            expected = full_pass(model, rows[0], continuation)
            torch.testing.assert_close(found[0].log_softmax(dim=-1), expected, atol=1e-4, rtol=1e-4)


def test_every_token_is_fed_once_to_both_prompts_in_one_pass(decoder: PreTrainedModel) -> None:
    cache = PromptCache(decoder, prompt(ONE.grounded), prompt(ONE.ungrounded))
    answer = torch.tensor([[5, 6, 7, 8]])
    with counted(decoder) as shapes:
        for length in (0, 1, 2, 4, 2, 3, 0):
            cache.next_logits(answer[:, :length])
    prompts = [(1, len(ONE.grounded[0])), (1, len(ONE.ungrounded[0]))]
    assert shapes == [*prompts, (2, 1), (2, 1), (2, 2), (2, 1), (2, 1)]
    assert cache.tokens_fed == len(ONE.grounded[0]) + len(ONE.ungrounded[0]) + 2 * (1 + 1 + 2 + 1 + 1)


def test_padding_is_not_fed(decoder: PreTrainedModel) -> None:
    cache = PromptCache(decoder, prompt(THREE.grounded))
    cache.next_logits(torch.empty(3, 0, dtype=torch.long))
    assert cache.tokens_fed == sum(map(len, THREE.grounded))


@pytest.mark.parametrize("first", [True, False])
def test_a_cache_filled_in_inference_mode_can_be_written_to_outside(first: bool) -> None:
    model = llama()
    cache = PromptCache(model, prompt(ONE.grounded), prompt(ONE.ungrounded))
    for length in range(4):
        continuation = torch.full((1, length), 5)
        with torch.inference_mode(first == (length < 2)):
            grounded, _ = cache.next_logits(continuation)
            assert_fresh(model, ONE.grounded, continuation, grounded)


def test_after_a_reset_nothing_is_held_and_everything_still_answered(decoder: PreTrainedModel) -> None:
    cache = PromptCache(decoder, prompt(ONE.grounded), prompt(ONE.ungrounded))
    answer = torch.tensor([[5, 6]])
    before = cache.next_logits(answer)
    held = [weakref.ref(thing) for thing in gc.get_objects() if isinstance(thing, Cache)]
    cache.reset()
    gc.collect()
    assert None in [ref() for ref in held]
    torch.testing.assert_close(cache.next_logits(answer), before)


def test_the_first_prompts_states_are_those_of_a_pass_of_its_own(decoder: PreTrainedModel) -> None:
    cache = PromptCache(decoder, prompt(ONE.ungrounded), prompt(ONE.grounded))
    for answer in (torch.empty(2, 0, dtype=torch.long), torch.tensor([[5, 6], [7, 8]])):
        cache.next_logits(answer)
        width = len(ONE.ungrounded[0]) + answer.shape[1]
        found: Any = cache.first_rows(2, width + 3)
        alone = decoder(torch.cat([torch.tensor(ONE.ungrounded).repeat(2, 1), answer], dim=1)).past_key_values
        for mine, plain in zip(found.layers, alone.layers, strict=True):
            assert torch.allclose(mine.keys[:, :, 3:], plain.keys, atol=1e-4)
            assert torch.allclose(mine.values[:, :, 3:], plain.values, atol=1e-4)
            assert not mine.keys[:, :, :3].any()


def test_layers_that_forget_cannot_be_joined() -> None:
    model = sliding()
    assert can_be_joined(llama())
    assert not can_be_joined(model)
    cache = PromptCache(model, prompt(ONE.grounded), prompt(ONE.ungrounded))
    with pytest.raises(ModelError, match="DynamicSlidingWindowLayer"):
        cache.next_logits(torch.tensor([[5]]))
    with pytest.raises(ModelError, match="nothing is cached"):
        cache.first_rows(1, 3)


def test_what_does_not_fit_names_the_prompt_and_both_numbers(decoder: PreTrainedModel) -> None:
    long = prompt([[5] * CONTEXT], name="the long prompt")
    with pytest.raises(SourceTooLongError, match=f"the long prompt has {CONTEXT + 1} .* {CONTEXT}"):
        PromptCache(decoder, prompt(ONE.grounded), prompt([[5] * (CONTEXT + 1)], name="the long prompt"))
    cache = PromptCache(decoder, prompt(ONE.grounded), long)
    with pytest.raises(SourceTooLongError, match=f"the long prompt with its answer has {CONTEXT + 1} .* {CONTEXT}"):
        cache.next_logits(torch.tensor([[5]]))


def test_rows_that_do_not_match_are_errors(decoder: PreTrainedModel) -> None:
    with pytest.raises(InputError, match=r"\[1, 3\] rows"):
        PromptCache(decoder, prompt(ONE.grounded), prompt(THREE.ungrounded))
    with pytest.raises(InputError, match=r"3 rows, .* 4 rows"):
        PromptCache(decoder, prompt(THREE.grounded)).next_logits(torch.full((4, 1), 5))
