"""Linear layers over two to four rows on a CPU: the shape of a step with two prompts, and a slow one in float32.

torch multiplies so few rows by the weights two to four times slower than it multiplies the weights by the
transposed rows, which is the same product (`benchmarks/pmi.py` shows what it is worth). One row and many
rows, other types and other devices are as fast as they are, and are left alone.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

MOST = 4
"""Rows up to which the other way round is faster."""


class FewRows(TorchFunctionMode):
    """Inside `with FewRows():`, float32 linear layers over two to four rows are computed the faster way round."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return (_linear if func is linear else func)(*args, **(kwargs or {}))


def few_rows(ids: Tensor) -> AbstractContextManager[object]:
    """What to run a model's pass over the tokens `ids` in: `FewRows` where it can help, else nothing."""
    return FewRows() if ids.device.type == "cpu" and 1 < ids.numel() <= MOST else nullcontext()


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    rows = input.numel() // input.shape[-1]
    plain = type(weight) in (Tensor, torch.nn.Parameter) and input.dtype is weight.dtype is torch.float32
    if not plain or input.device.type != "cpu" or not 1 < rows <= MOST:
        return linear(input, weight, bias)
    product = (weight @ input.reshape(rows, -1).t()).t().contiguous()
    if bias is not None:
        product += bias
    return product.view(*input.shape[:-1], -1)
