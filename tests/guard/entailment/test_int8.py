"""Products in 8 bits are close to float32's, also where a few inputs are far larger than the rest."""

import pytest
import torch

from groundrail.entailment.builtin import load_builtin
from groundrail.entailment.builtin.mpnet import KEPT, Int8Linear, quantise
from groundrail.errors import InputError


@pytest.fixture
def layer() -> torch.nn.Linear:
    torch.manual_seed(0)
    return torch.nn.Linear(4 * KEPT, 24)


def apart(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3)])
def test_products_are_close(layer: torch.nn.Linear, shape: tuple[int, ...]) -> None:
    inputs = torch.randn(*shape, layer.in_features)
    with torch.no_grad():
        found, expected = Int8Linear(layer, inputs.abs().flatten(0, -2).amax(0))(inputs), layer(inputs)
    assert found.shape == expected.shape
    assert apart(found, expected) < 0.02


def test_inputs_far_larger_than_the_rest_do_not_matter(layer: torch.nn.Linear) -> None:
    inputs = torch.randn(8, layer.in_features)
    large = torch.tensor([3, 70])
    inputs[:, large] *= 300
    with torch.no_grad():
        expected = layer(inputs)
        rest = layer(inputs.index_fill(1, large, 0.0))
        kept = Int8Linear(layer, inputs.abs().amax(0))(inputs)
        unaware = Int8Linear(layer, torch.ones(layer.in_features))(inputs)
    assert (kept - expected).norm() / rest.norm() < 0.02
    assert (unaware - expected).norm() > 5 * (kept - expected).norm()


def test_every_layer_that_was_run_is_replaced() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(96, 96), torch.nn.GELU(), torch.nn.Sequential(torch.nn.Linear(96, 7)))
    inputs = torch.randn(6, 96)
    with torch.no_grad():
        expected = model(inputs)
        quantise(model, lambda: model(inputs))
        assert apart(model(inputs), expected) < 0.03
    assert [type(each) for each in model.modules() if "Linear" in type(each).__name__] == [Int8Linear] * 2


@pytest.mark.slow
def test_the_built_in_judge_says_nearly_the_same() -> None:
    pairs = [
        ("The rent is 1,450 euros per month.", "Each month 1,450 euros are due."),
        ("The rent is 1,450 euros per month.", "Each month 1,540 euros are due."),
        ("Cash is not accepted. Pay by card or by bank transfer.", "You can pay in cash."),
        ("Cash is not accepted. Pay by card or by bank transfer.", "Cards are accepted."),
    ]
    exact, rounded = (load_builtin("cpu", dtype) for dtype in ("float32", "int8"))
    assert abs(exact.entailment(pairs) - rounded.entailment(pairs)).max() < 0.1
    assert exact.metadata.identity == rounded.metadata.identity


def test_it_is_for_processors() -> None:
    with pytest.raises(InputError, match="leave dtype out"):
        load_builtin("meta", "int8")
