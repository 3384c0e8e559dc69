"""Weights in 8 bits: each a step of its row, and together such that outputs change less than by rounding each alone."""

import pytest
import torch
from rounding import LARGEST, for_inputs, input_products, nearest, scales
from torch import Tensor


def drawn(seed: int) -> tuple[Tensor, Tensor]:
    """A layer's weights, (24, 40), and inputs that hang together, (500, 40)."""
    torch.manual_seed(seed)
    return torch.randn(24, 40), torch.randn(500, 8) @ torch.randn(8, 40) + 0.1 * torch.randn(500, 40)


def change(weight: Tensor, whole: Tensor, scale: Tensor, inputs: Tensor) -> float:
    """How much the outputs for these inputs change, as the mean of squares."""
    return float((inputs @ (whole.float() * scale.float()[:, None] - weight).T).square().mean())


@pytest.mark.parametrize("seed", range(5))
def test_outputs_change_less_than_with_every_weight_at_its_nearest_step(seed: int) -> None:
    weight, inputs = drawn(seed)
    scale = scales(weight)
    found, plain = for_inputs(weight, scale, inputs.T @ inputs), nearest(weight, scale)
    assert change(weight, found, scale, inputs) < 0.7 * change(weight, plain, scale, inputs)


def test_where_inputs_have_nothing_to_do_with_each_other_every_weight_has_its_nearest_step() -> None:
    weight, _ = drawn(0)
    scale = scales(weight)
    assert torch.equal(for_inputs(weight, scale, torch.diag(torch.arange(1.0, 41.0))), nearest(weight, scale))


def test_steps_fit_in_8_bits_and_no_weight_is_off_by_more_than_a_half() -> None:
    weight, inputs = drawn(1)
    weight[3] *= 1e-9
    scale = scales(weight)
    assert int(nearest(weight, scale).abs().max()) == LARGEST
    assert int(for_inputs(weight, scale, inputs.T @ inputs).abs().max()) <= LARGEST
    apart = (nearest(weight, scale).float() * scale.float()[:, None] - weight).abs() / scale.float()[:, None]
    assert float(apart.max()) <= 0.5 + LARGEST * 2**-11  # a scale has 11 bits


def test_products_are_those_of_what_the_layers_get() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    batches = [torch.randn(3, 5, 6), torch.randn(2, 6)]

    def run() -> None:
        for batch in batches:
            model(batch)

    found = input_products(model, run)
    seen = torch.cat([batch.reshape(-1, 6) for batch in batches])
    hidden = torch.relu(model[0](seen)).detach()
    assert found.keys() == {"0.weight", "2.weight"}
    torch.testing.assert_close(found["0.weight"], seen.T @ seen)
    torch.testing.assert_close(found["2.weight"], hidden.T @ hidden)
    assert not model[0]._forward_pre_hooks
