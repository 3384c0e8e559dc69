"""MPNet (Song et al. 2020) with a classifier's head, in torch alone, and its linear layers in 8 bits.

The tokens of all texts stand in one long row: no layer but attention sees where a text ends. On a processor copies of the
first token fill the row up to one of a few lengths.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from groundrail.errors import ModelError

L = TypeVar("L", nn.Linear, nn.LayerNorm)

KINDS = "classifier.kinds"
WORDS = "mpnet.embeddings.word_embeddings.weight"
FIRST = 2
"""Position of a text's first token; those before are the padding's."""

_FARTHEST = 128
"""Tokens that are so far apart, or farther, share a position bias."""

KEPT = 48
"""One input in so many stays float32."""


class MPNet(nn.Module):
    """Logits of the classes from texts of token ids.

    weights: by their names in transformers' `MPNetForSequenceClassification`; the word embeddings as int8, with a
        factor for each row.
    config: the model's `config.json`.
    """

    words: Tensor
    scales: Tensor
    positions: Tensor
    biases: Tensor

    def __init__(self, weights: Mapping[str, Tensor], config: Mapping[str, Any]) -> None:
        super().__init__()
        eps = config["layer_norm_eps"]
        self.register_buffer("words", weights[WORDS])
        self.register_buffer("scales", weights[WORDS + ".scale"].float())
        self.register_buffer("positions", weights["mpnet.embeddings.position_embeddings.weight"])
        self.register_buffer("biases", weights["mpnet.encoder.relative_attention_bias.weight"])
        self.norm = _norm(weights, "mpnet.embeddings.LayerNorm", eps)
        names = [f"mpnet.encoder.layer.{number}" for number in range(config["num_hidden_layers"])]
        self.layers = nn.ModuleList(_Layer(weights, name, eps) for name in names)
        self.dense = _linear(weights, "classifier.dense")
        self.classes = _linear(weights, "classifier.out_proj")
        heads = (f"{KINDS}.dense", f"{KINDS}.out") if f"{KINDS}.dense.weight" in weights else ()
        self.kinds = nn.ModuleList(_linear(weights, name) for name in heads)

    def forward(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """Token ids of some texts -> logits, shape (texts, classes), float32."""
        hidden, lengths = self.encoded(texts)
        starts = torch.tensor([0, *lengths[:-1]], device=hidden.device).cumsum(0)
        logits: Tensor = self.classes(torch.tanh(self.dense(hidden[starts]))).float()
        return logits

    def kind_logits(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """Token ids of some texts -> logits of the kinds of sentences, shape (texts, kinds), float32.

        A text is `<s> words around </s></s> sentence </s>`. Raises: ModelError for weights without a head for kinds.
        """
        if not self.kinds:
            raise ModelError("these weights of the built-in judge do not know kinds of sentences; reinstall groundrail")
        dense, out = self.kinds
        logits: Tensor = out(functional.gelu(dense(self.kind_states(texts).to(self.positions.dtype)))).float()
        return logits

    def kind_states(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """Token ids of some texts -> the states that the head for kinds reads, (texts, 3 * size * layers), float32.

        These are, after each of `kind_layers`, the states of the first token and the means of all tokens and of the
        sentence's: the last layers know what is claimed, the middle ones how it is said.
        """
        lengths, every = [len(text) for text in texts], list(self._after_each(texts))
        read = []
        for hidden in (every[layer - 1] for layer in kind_layers(len(every))):
            each = zip(texts, torch.split(hidden[: sum(lengths)].float(), lengths), strict=True)
            read.append([(x[0], x.mean(0), x[text.index(text[-1]) + 2 : -1].mean(0)) for text, x in each])
        return torch.stack([torch.cat([part for parts in of_text for part in parts]) for of_text in zip(*read, strict=True)])

    def encoded(self, texts: Sequence[Sequence[int]]) -> tuple[Tensor, list[int]]:
        """Token ids of some texts -> the states of their tokens after the last layer, (tokens, size), and the lengths.

        Behind the tokens of all texts may stand states that belong to none.
        """
        for hidden in self._after_each(texts):
            last = hidden
        return last, [len(text) for text in texts]

    def _after_each(self, texts: Sequence[Sequence[int]]) -> Iterator[Tensor]:
        """The states of the texts' tokens after each layer, (tokens, size)."""
        device, lengths = self.words.device, [len(text) for text in texts]
        row = [(token, FIRST + place) for text in texts for place, token in enumerate(text)]
        if device.type == "cpu":
            row += row[:1] * (stepped(len(row)) - len(row))
        tokens, places = torch.tensor(row, device=device).unbind(1)
        words = (self.words[tokens].float() * self.scales[tokens, None]).to(self.positions.dtype)
        hidden = self.norm(words + self.positions[places])
        bias = self._bias(max(lengths))
        for layer in self.layers:
            hidden = layer(hidden, lengths, bias)
            yield hidden

    def _bias(self, length: int) -> Tensor:
        """Terms that are added to every attention, by the distance of two tokens: shape (heads, length, length)."""
        places = torch.arange(length, device=self.biases.device)
        apart = places - places[:, None]
        half = len(self.biases) // 2
        exact = half // 2
        far = torch.log(apart.abs().float() / exact) / math.log(_FARTHEST / exact) * (half - exact)
        bucket = torch.where(apart.abs() < exact, apart.abs(), (exact + far.long()).clamp(max=half - 1))
        return self.biases[bucket + (apart > 0) * half].permute(2, 0, 1).contiguous()


def kind_layers(layers: int) -> list[int]:
    """The layers after which the head for kinds reads the states, of so many layers.

    >>> kind_layers(9)
    [4, 6, 8, 9]
    """
    return [max(1, round(layers * part / 9)) for part in (4, 6, 8, 9)]


def stepped(length: int) -> int:
    """`length` or a little more, so that few lengths exist: oneDNN makes and keeps kernels for each that it meets.

    From 32 on the step is an eighth of the power of two below.

    >>> [stepped(length) for length in (3, 33, 64, 65, 130)]
    [4, 36, 64, 72, 144]
    """
    step = max(4, 1 << length.bit_length() >> 4)
    return -(-length // step) * step


class _Layer(nn.Module):
    def __init__(self, weights: Mapping[str, Tensor], name: str, eps: float) -> None:
        super().__init__()
        self.qkv = _linear(weights, *(f"{name}.attention.attn.{part}" for part in "qkv"))
        self.out = _linear(weights, f"{name}.attention.attn.o")
        self.attention_norm = _norm(weights, f"{name}.attention.LayerNorm", eps)
        self.widen = _linear(weights, f"{name}.intermediate.dense")
        self.narrow = _linear(weights, f"{name}.output.dense")
        self.done = _norm(weights, f"{name}.output.LayerNorm", eps)

    def forward(self, hidden: Tensor, lengths: Sequence[int], bias: Tensor) -> Tensor:
        """The states of all texts, (tokens, size), after this layer."""
        total = sum(lengths)
        query, key, value = self.qkv(hidden)[:total].unflatten(-1, (3, len(bias), -1)).unbind(-3)
        mixed = attended(query, key, value, lengths, bias, at_once=hidden.device.type != "cpu")
        mixed = torch.cat([mixed, mixed[:1].expand(len(hidden) - total, -1)])
        hidden = self.attention_norm(self.out(mixed) + hidden)
        done: Tensor = self.done(self.narrow(functional.gelu(self.widen(hidden))) + hidden)
        return done


def attended(query: Tensor, key: Tensor, value: Tensor, lengths: Sequence[int], bias: Tensor, *, at_once: bool) -> Tensor:
    """Every text attends to itself: (tokens, heads, d) -> (tokens, heads * d).

    `at_once`: padded and in one call, as an accelerator would have it, not one after the other.
    """
    queries, keys, values = (torch.split(each, list(lengths)) for each in (query, key, value))
    if not at_once:
        corners = (bias[:, :length, :length] for length in lengths)
        each = zip(queries, keys, values, corners, strict=True)
        return torch.cat([_attention(q[None], k[None], v[None], corner)[0] for q, k, v, corner in each])
    real = torch.arange(len(bias[0]), device=bias.device) < torch.tensor(lengths, device=bias.device)[:, None]
    query, key, value = (pad_sequence(list(each), batch_first=True) for each in (queries, keys, values))
    return _attention(query, key, value, bias.where(real[:, None, None], -math.inf))[real]


def _attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """Attention: (texts, tokens, heads, d) -> (texts, tokens, heads * d)."""
    q, k, v = (each.transpose(1, 2) for each in (query, key, value))
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2)


def _linear(weights: Mapping[str, Tensor], *names: str) -> nn.Linear:
    """The layers of these names as one, their outputs side by side."""
    weight, bias = ([weights[f"{name}.{part}"] for name in names] for part in ("weight", "bias"))
    joined = torch.cat(weight) if len(weight) > 1 else weight[0]
    return _filled(nn.Linear(joined.shape[1], joined.shape[0], device="meta"), joined, torch.cat(bias))


def _norm(weights: Mapping[str, Tensor], name: str, eps: float) -> nn.LayerNorm:
    weight = weights[f"{name}.weight"]
    return _filled(nn.LayerNorm(len(weight), eps, device="meta"), weight, weights[f"{name}.bias"])


def _filled(layer: L, weight: Tensor, bias: Tensor) -> L:
    layer.weight, layer.bias = (nn.Parameter(each, requires_grad=False) for each in (weight, bias))
    return layer


class PackedLinear(nn.Module):
    """`layer` in bfloat16 with its weights in oneDNN's own order, which `linear` would make anew in every call.

    The products are the same to the last bit.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach())
        self.bias = layer.bias

    def forward(self, input: Tensor) -> Tensor:
        """The product with the weights, plus the bias: (..., in) -> (..., out)."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(input, self.weight, self.bias, "none", [], "")
        return product


def pack(model: nn.Module) -> None:
    """Replace the linear layers in `model` by `PackedLinear`."""
    for name, layer in list(model.named_modules()):
        if type(layer) is nn.Linear:
            model.set_submodule(name, PackedLinear(layer))


class Int8Linear(nn.Module):
    """`layer` with weights of 8 bits, one scale an output, and inputs of 8 bits, one scale a token.

    The few inputs that are far larger than all others stay float32 (Dettmers et al. 2022, LLM.int8(), section 3).
    `largest`: the largest absolute value of every input, (in_features,).
    """

    kept: Tensor
    columns: Tensor
    weight: Tensor
    scales: Tensor
    bias: Tensor | None

    def __init__(self, layer: nn.Linear, largest: Tensor) -> None:
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


def quantise(model: nn.Module, run: Callable[[], object]) -> None:
    """Replace the linear layers in `model` by `Int8Linear`; `run` makes it read something typical first."""
    largest: dict[nn.Module, Tensor] = {}

    def observe(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        found = inputs[0].detach().abs().flatten(0, -2).amax(dim=0)
        largest[layer] = torch.maximum(found, largest.get(layer, found))

    names = [name for name, layer in model.named_modules() if type(layer) is nn.Linear]
    hooks = [model.get_submodule(name).register_forward_pre_hook(observe) for name in names]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    for name in names:
        layer = model.get_submodule(name)
        if isinstance(layer, nn.Linear) and (found := largest.pop(layer, None)) is not None:
            model.set_submodule(name, Int8Linear(layer, found))
