"""Linear layers over two to four rows on a CPU: the shape of a step with two prompts, and on many a slow one in float32.

On some processors torch multiplies so few rows by the weights two to four times slower than it multiplies the weights by
the transposed rows, which is the same product; on others it is the other way round. So both are tried, once
(`benchmarks/pmi.py` shows what it is worth). One row and many rows, other types and other devices are left alone.
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
    """What to run a model's pass over the tokens `ids`, (rows, tokens), in: `FewRows` where it can help, else nothing."""
    few = ids.device.type == "cpu" and 1 < ids.numel() <= MOST
    return FewRows() if few and turning_pays(ids.numel(), torch.get_num_threads()) else nullcontext()


@cache
def turning_pays(rows: int, threads: int) -> bool:
    """Whether this processor, with so many threads, is faster the other way round, by the best of some tries: milliseconds."""
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
