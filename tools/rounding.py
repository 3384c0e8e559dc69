"""Weights in 8 bits, one scale a row, so that a layer's outputs stay what they were.

Columns are rounded one after the other, and those still to come take up what rounding the last one cost on the inputs
that the layer really gets (Frantar et al. 2023, GPTQ, section 3): the error of the outputs shrinks, though each weight
is not rounded to the nearest step.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import Linear, Module

DAMPING = 0.01
"""A term for the diagonal of the inputs' products, as a share of its mean (section 3.3)."""

LARGEST = 127


def scales(weight: Tensor) -> Tensor:
    """The step of every row, (rows,), float16: its largest weight is 127 of them."""
    return (weight.abs().amax(dim=1) / LARGEST).clamp(min=1e-6).half()


def nearest(weight: Tensor, scale: Tensor) -> Tensor:
    """Every weight to its nearest step, (rows, columns), int8."""
    return (weight / scale.float()[:, None]).round().clamp(-LARGEST, LARGEST).to(torch.int8)


def for_inputs(weight: Tensor, scale: Tensor, products: Tensor) -> Tensor:
    """Every weight to a step, (rows, columns), int8: those at which the outputs change least.

    `products`: the sum of x x^T over the layer's inputs x, (columns, columns).
    """
    order = products.diagonal().argsort(descending=True)  # the columns that matter most, while most others can make up
    products = products[order][:, order].double()
    products += DAMPING * products.diagonal().mean() * torch.eye(len(order), dtype=products.dtype)
    inverse = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(products)), upper=True).float()
    left, steps = weight[:, order].clone(), scale.float()
    found = torch.empty_like(left, dtype=torch.int8)
    for column in range(len(order)):
        whole = (left[:, column] / steps).round().clamp(-LARGEST, LARGEST)
        found[:, column] = whole.to(torch.int8)
        error = (left[:, column] - whole * steps) / inverse[column, column]
        left[:, column + 1 :] -= error[:, None] * inverse[column, column + 1 :]
    return found[:, order.argsort()]


def input_products(model: Module, run: Callable[[], object]) -> dict[str, Tensor]:
    """For every linear layer, by its weight's name, the sum of x x^T over the inputs x that it gets while `run` runs."""
    products: dict[str, Tensor] = {}
    hooks = []
    for name, layer in model.named_modules():
        if type(layer) is Linear:

            def observe(layer: Module, inputs: tuple[Tensor, ...], name: str = f"{name}.weight") -> None:
                with torch.autocast("cpu", enabled=False):
                    x = inputs[0].detach().float().flatten(0, -2)
                    products[name] = products.get(name, 0) + x.T @ x

            hooks.append(layer.register_forward_pre_hook(observe))
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return products
