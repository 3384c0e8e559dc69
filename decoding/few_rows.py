"""Faster float32 linear layers over two to four rows on a CPU, the shape of a decoding step with two prompts.

On some processors torch multiplies few rows by the weights two to four times slower than the weights by the transposed
rows, which gives the same product; on others it is faster. Both ways are therefore timed once (`benchmarks/pmi.py`
measures the gain). Other numbers of rows, types and devices are not changed.
"""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

MOST = 4
"""Maximum number of rows for which the transposed product can be faster."""


class FewRows(TorchFunctionMode):
    """Compute float32 linear layers over two to four rows by the transposed product, inside `with FewRows():`."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return (_linear if func is linear else func)(*args, **(kwargs or {}))


def few_rows(ids: Tensor) -> AbstractContextManager[object]:
    """The context for a forward pass over the tokens `ids`, (rows, tokens): `FewRows` if it helps, else empty."""
    few = ids.device.type == "cpu" and 1 < ids.numel() <= MOST
    return FewRows() if few and turning_pays(ids.numel(), torch.get_num_threads()) else nullcontext()


@cache
def turning_pays(rows: int, threads: int) -> bool:
    """Whether the transposed product is faster on this processor with `threads` threads; timed in milliseconds."""
    weight, input = torch.ones(2048, 512), torch.ones(rows, 512)
    seconds: dict[Callable[..., Tensor], list[float]] = {linear: [], _turned: []}
    for _ in range(12):
        for way, taken in seconds.items():
            started = time.perf_counter()
            way(input, weight)
            taken.append(time.perf_counter() - started)
    return min(seconds[_turned]) < min(seconds[linear])


def _turned(input: Tensor, weight: Tensor) -> Tensor:
    return (weight @ input.t()).t().contiguous()


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    rows = input.numel() // input.shape[-1]
    plain = type(weight) in (Tensor, torch.nn.Parameter) and input.dtype is weight.dtype is torch.float32
    if not plain or input.device.type != "cpu" or not 1 < rows <= MOST:
        return linear(input, weight, bias)
    product = _turned(input.reshape(rows, -1), weight)
    if bias is not None:
        product += bias
    return product.view(*input.shape[:-1], -1)
