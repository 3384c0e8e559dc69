"""Linear layers computed the other way round give what torch gives."""

import pytest
import torch

from groundrail.decoding.few_rows import MOST, FewRows, few_rows, turning_pays


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 3), (MOST, 1), (MOST + 1, 1), (2, 2, 1)])
def test_products_are_torchs(shape, bias):
    torch.manual_seed(0)
    layer = torch.nn.Linear(40, 24, bias=bias)
    rows = torch.randn(*shape, 40).transpose(0, -2) if shape == (2, 2, 1) else torch.randn(*shape, 40)
    with torch.no_grad():
        expected = layer(rows)
        with FewRows():
            found = layer(rows)
    assert found.shape == expected.shape
    assert found.is_contiguous()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_other_types_are_left_as_they_are():
    layer = torch.nn.Linear(40, 24, dtype=torch.bfloat16)
    rows = torch.randn(2, 40, dtype=torch.bfloat16)
    with torch.no_grad(), FewRows():
        found = layer(rows)
    with torch.no_grad():
        assert torch.equal(found, layer(rows))


@pytest.mark.parametrize("rows", [1, 2, MOST, MOST + 1])
def test_a_pass_is_turned_only_where_it_has_few_rows_and_that_pays(rows):
    state = torch.get_rng_state()
    turned = isinstance(few_rows(torch.zeros(rows, 1, dtype=torch.long)), FewRows)
    assert turned == (1 < rows <= MOST and turning_pays(rows, torch.get_num_threads()))
    assert torch.equal(torch.get_rng_state(), state)
