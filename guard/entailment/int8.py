"""A model's linear layers in 8 bits, for processors that multiply those natively (AVX-512 VNNI) and no bfloat16.

A few inputs of a layer are far larger than all others; one step for both would leave the others hardly any. Their columns
stay float32 and are added (Dettmers et al. 2022, LLM.int8(), section 3). Which they are shows a short run of the model.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import Linear, Module

KEPT = 48
"""One input in so many stays float32."""


class Int8Linear(Module):
    """`layer` with weights of 8 bits, one scale an output, and inputs of 8 bits, one scale a token.

    `largest`: the largest absolute value of every input, (in_features,).
    """

    kept: Tensor
    columns: Tensor
    weight: Tensor
    scales: Tensor
    bias: Tensor | None

    def __init__(self, layer: Linear, largest: Tensor) -> None:
        super().__init__()
        weight = layer.weight.detach().float().clone()
        kept = largest.topk(max(1, layer.in_features // KEPT)).indices
        self.register_buffer("kept", kept)
        self.register_buffer("columns", weight[:, kept].t().contiguous())
        scales = weight.abs().amax(dim=1).clamp(min=1e-8) / 127
        weight[:, kept] = 0
        self.register_buffer("weight", (weight / scales[:, None]).round().to(torch.int8))
        self.register_buffer("scales", scales)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().float())

    def forward(self, input: Tensor) -> Tensor:
        """The product with the weights, plus the bias: (..., in) -> (..., out), float32."""
        tokens = input.reshape(-1, input.shape[-1])
        rest = tokens.index_fill(1, self.kept, 0.0)
        scale = rest.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127
        product = torch._int_mm(rest.div_(scale).round_().to(torch.int8), self.weight.t()).float()
        product.mul_(scale).mul_(self.scales).addmm_(tokens[:, self.kept], self.columns)
        if self.bias is not None:
            product += self.bias
        return product.view(*input.shape[:-1], -1)


def quantise(model: Module, run: Callable[[], object]) -> None:
    """Replace the linear layers in `model` by `Int8Linear`; `run` makes it read something typical first."""
    largest: dict[Module, Tensor] = {}

    def observe(layer: Module, inputs: tuple[Tensor, ...]) -> None:
        found = inputs[0].detach().abs().flatten(0, -2).amax(dim=0)
        largest[layer] = torch.maximum(found, largest.get(layer, found))

    names = [name for name, layer in model.named_modules() if type(layer) is Linear]
    hooks = [model.get_submodule(name).register_forward_pre_hook(observe) for name in names]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    for name in names:
        layer = model.get_submodule(name)
        if isinstance(layer, Linear) and (found := largest.pop(layer, None)) is not None:
            model.set_submodule(name, Int8Linear(layer, found))
