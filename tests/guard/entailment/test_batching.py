"""Batches: every index once, within the budget, and the same numbers as one by one."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from groundrail.entailment.batching import by_length, in_batches, padded


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(1, 200))
def test_every_index_once_and_no_batch_over_budget(lengths: list[int], budget: int) -> None:
    batches = list(by_length(lengths, budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[index] for index in batch) * len(batch) <= budget
    shortest = [min(lengths[index] for index in batch) for batch in batches]
    longest = [max(lengths[index] for index in batch) for batch in batches]
    assert all(small >= large for small, large in zip(shortest, longest[1:], strict=False))


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 2000))
def test_on_a_processor_no_text_is_padded_far_beyond_its_length(lengths: list[int], budget: int) -> None:
    batches = list(by_length(lengths, budget, alike=True))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or longest * len(batch) <= budget
        assert all(longest <= 1.25 * lengths[index] + 8 for index in batch)


@given(st.lists(st.integers(0, 9), max_size=1100), st.integers(1, 64))
def test_results_are_in_the_order_of_the_input_and_padding_does_not_count(sizes: list[int], budget: int) -> None:
    """`probabilities` sums the ids it is shown and counts the places the mask leaves."""

    def encode(pairs: Sequence[tuple[str, str]]) -> list[Mapping[str, Sequence[int]]]:
        return [{"input_ids": [3] * len(premise), "attention_mask": [1] * len(premise)} for premise, _ in pairs]

    def probabilities(encodings: list[Mapping[str, Sequence[int]]]) -> torch.Tensor:
        inputs = padded(encodings, {"input_ids": 7}, torch.device("cpu"))
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        assert ((ids == 7) == (mask == 0)).all()
        return torch.stack([(ids * mask).sum(-1), mask.sum(-1)], dim=-1)

    pairs = [("x" * size, "") for size in sizes]
    found = in_batches(pairs, encode, probabilities, columns=2, batch_tokens=budget)
    assert found.dtype == np.float64
    assert found.tolist() == [[3 * size, size] for size in sizes]
