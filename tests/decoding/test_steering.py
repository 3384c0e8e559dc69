"""The steerings as equations: what `CAD` and `AdaCAD` say of two distributions."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.conftest import divergence, steered
from torch import Tensor

from groundrail.decoding import CAD, PMI, AdaCAD, combine
from groundrail.decoding.steering import jensen_shannon
from groundrail.errors import InputError

LOGITS = st.lists(st.floats(-8, 8, width=32), min_size=7, max_size=7)


def log_p(logits: list[float]) -> Tensor:
    return torch.tensor(logits).log_softmax(dim=-1)


@given(LOGITS, LOGITS)
def test_the_divergence_equals_its_definition_and_stays_in_its_range(first: list[float], second: list[float]) -> None:
    p, q = log_p(first), log_p(second)
    found = float(jensen_shannon(p, q))
    assert found == pytest.approx(divergence(p.double().exp().tolist(), q.double().exp().tolist()), abs=1e-5)
    assert 0 <= found <= 1
    assert found == float(jensen_shannon(q, p))


def test_the_divergence_of_equal_and_of_disjoint_distributions() -> None:
    half = torch.tensor([[0.5, 0.5, 0.0, 0.0]]).log()
    assert jensen_shannon(half, half).tolist() == [0.0]
    assert jensen_shannon(half, half.flip(-1)).tolist() == [1.0]


@given(LOGITS, LOGITS)
def test_adacad_weighs_every_row_by_its_own_divergence(first: list[float], second: list[float]) -> None:
    grounded = torch.stack([log_p(first), log_p(second)])
    ungrounded = torch.stack([log_p(second), log_p(second)])
    found = combine(grounded, ungrounded, AdaCAD())
    assert torch.allclose(found[0], steered(grounded[0], ungrounded[0], AdaCAD()), atol=1e-4)
    assert torch.allclose(found[1], grounded[1], atol=1e-5)  # both agree, so nothing is steered


@given(LOGITS, LOGITS, st.floats(0, 1, width=16), st.floats(0, 3, width=16))
def test_the_weight_is_never_below_the_warm_up(first, second, least, scale) -> None:
    own, other = AdaCAD(least=least, scale=scale).weights(log_p(first), log_p(second))
    assert float(other) >= scale * least * (1 - 1e-6)
    assert torch.equal(own, 1 + other)


def test_in_nats_the_weight_is_what_the_authors_program_computes() -> None:
    p, q = log_p([1.0, 2.0, 3.0]), log_p([3.0, 0.0, 1.0])
    mean = ((p.exp() + q.exp()) / 2).log()
    nats = (
        torch.nn.functional.kl_div(mean, p.exp(), reduction="sum")
        + torch.nn.functional.kl_div(mean, q.exp(), reduction="sum")
    ) / 2
    assert float(AdaCAD(scale=math.log(2)).weights(p, q)[1]) == pytest.approx(float(nats), rel=1e-5)


@given(LOGITS, LOGITS, st.floats(0, 3))
def test_cad_is_addition(first: list[float], second: list[float], alpha: float) -> None:
    p, q = log_p(first), log_p(second)
    assert torch.equal(combine(p, q, CAD(alpha)), combine(p, q, PMI(alpha)))
    assert torch.allclose(combine(p, q, CAD(alpha)), ((1 + alpha) * p - alpha * q).log_softmax(dim=-1), atol=1e-4)


def test_tokens_that_the_grounded_model_rules_out_stay_out_and_the_floor_holds() -> None:
    p, q = torch.tensor([0.6, 0.39, 0.01, 0.0]).log(), torch.tensor([0.1, 0.0, 0.4, 0.5]).log()
    found = combine(p, q, AdaCAD(floor=0.1))
    assert found.isfinite().tolist() == [True, True, False, False]
    assert combine(p, q, AdaCAD()).isfinite().tolist() == [True, True, True, False]


def test_a_retry_steers_harder() -> None:
    p, q = log_p([1.0, 2.0, 3.0]), log_p([3.0, 0.0, 1.0])
    for steering in (PMI(0.3), CAD(0.3), AdaCAD(), AdaCAD(least=0.9)):
        harder = steering.harder(2.0)
        assert type(harder) is type(steering)
        assert float(harder.weights(p, q)[1]) == pytest.approx(2 * float(steering.weights(p, q)[1]))
    assert PMI(0.7, "interpolation").harder(2.0) == PMI(1.0, "interpolation")


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        *((AdaCAD, {"least": least}, "least is") for least in (-0.1, 1.1, math.nan)),
        *((AdaCAD, {"scale": scale}, "scale is") for scale in (-1.0, math.inf)),
        *((AdaCAD, {"floor": floor}, f"floor is {floor}") for floor in (0.0, 1.5, -1.0)),
        *((PMI, {"alpha": alpha}, "alpha is") for alpha in (-0.1, math.nan)),
        (PMI, {"alpha": 1.1, "method": "interpolation"}, "alpha is"),
        (PMI, {"alpha": 0.5, "method": "other"}, "method is"),
        (PMI, {"alpha": 0.5, "floor": 1.5}, "floor is"),
        (CAD, {"alpha": -1.0}, "alpha is -1"),
    ],
)
def test_settings_out_of_range_are_errors_that_name_them(kind: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        kind(**options)


def test_cad_has_no_other_method() -> None:
    arguments: Any = (0.5, "interpolation")
    with pytest.raises((TypeError, InputError)):
        CAD(*arguments)
