"""T5 on a processor, as SCALE asks it: no padding, one decoder step, two answers.

The tokens of a batch stand in one long row, so that linear layers multiply nothing but text, and each text attends to
itself alone. The decoder's only query is carried to the encoder's states instead of every state to keys and values: the
same product of matrices, taken in another order for a hundredth of the work.
"""

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedModel, T5ForConditionalGeneration

from groundrail.entailment.batching import Encoding

_DTYPES = (torch.float32, torch.bfloat16)
_LINEARS = re.compile(r"\b([qkvo]|wi|wi_[01]|wo|lm_head)$")
"""Names of layers whose weights are read directly; a quantised model has others in their place."""

_ONEDNN: bool = hasattr(torch.ops.mkldnn, "_linear_pointwise")


class PackedT5:
    """Logits of `answers` at the first decoder position, from a T5 on the CPU; the weights stay the model's own.

    A single answer is weighed against all tokens. The position biases are kept, so make it anew for other weights.
    """

    def __init__(self, model: PreTrainedModel, answers: Sequence[int], decoder_start: int) -> None:
        self.model: Any = model
        self.answers, self.decoder_start = list(answers), decoder_start
        self._bias: Tensor | None = None

    @staticmethod
    def reads(model: PreTrainedModel) -> bool:
        """Whether a model is of the kind and in the place that this computes."""
        return (
            type(model) is T5ForConditionalGeneration
            and model.device.type == "cpu"
            and model.dtype in _DTYPES
            and all(type(layer) is torch.nn.Linear for name, layer in model.named_modules() if _LINEARS.search(name))
        )

    def __call__(self, encodings: Sequence[Encoding]) -> Tensor:
        """P(the first answer) against the others, shape (texts, 1)."""
        place = self.answers[0] if len(self.answers) == 1 else 0
        return torch.softmax(self.logits([each["input_ids"] for each in encodings]), dim=-1)[:, place, None]

    def logits(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """Token ids of some texts -> shape (texts, answers), of a single answer (texts, tokens); float32."""
        lengths = [len(ids) for ids in texts]
        states = self._encoded(torch.tensor([token for ids in texts for token in ids]), lengths)
        decoded = self._decoded(torch.split(states, lengths))
        config = self.model.config
        if getattr(config, "scale_decoder_outputs", config.tie_word_embeddings):
            decoded = decoded * config.d_model**-0.5
        words = self.model.lm_head.weight
        return functional.linear(decoded, words if len(self.answers) == 1 else words[self.answers]).float()

    def _encoded(self, tokens: Tensor, lengths: Sequence[int]) -> Tensor:
        """Encoder states, shape (tokens, d_model)."""
        encoder = self.model.encoder
        hidden = encoder.embed_tokens(tokens)
        bias = self._biases(max(lengths)).to(hidden.dtype)
        for block in encoder.block:
            attention = block.layer[0].SelfAttention
            normed = block.layer[0].layer_norm(hidden)
            query, key, value = (_linear(normed, part) for part in (attention.q, attention.k, attention.v))
            mixed = []
            for texts in zip(*(torch.split(part, list(lengths)) for part in (query, key, value)), strict=True):
                q, k, v = (text.view(len(text), attention.n_heads, -1).transpose(0, 1)[None] for text in texts)
                mask = bias[:, :, : len(texts[0]), : len(texts[0])]
                told = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)
                mixed.append(told[0].transpose(0, 1).flatten(1))
            hidden = hidden + _linear(torch.cat(mixed), attention.o)
            hidden = hidden + _feed_forward(block.layer[1], hidden)
        states: Tensor = encoder.final_layer_norm(hidden)
        return states

    def _decoded(self, states: Sequence[Tensor]) -> Tensor:
        """The first decoder position of every text, shape (texts, d_model)."""
        decoder = self.model.decoder
        hidden = decoder.embed_tokens(torch.full((len(states),), self.decoder_start))
        for block in decoder.block:
            alone = block.layer[0].SelfAttention  # a single position attends to itself with weight one
            hidden = hidden + alone.o(alone.v(block.layer[0].layer_norm(hidden)))
            across = block.layer[1].EncDecAttention
            query = across.q(block.layer[1].layer_norm(hidden)).unflatten(-1, (across.n_heads, -1))
            keys, values = (part.weight.unflatten(0, (across.n_heads, -1)) for part in (across.k, across.v))
            asked = torch.einsum("nhd,hdm->nhm", query, keys)
            told = [torch.softmax(one @ text.T, dim=-1) @ text for one, text in zip(asked, states, strict=True)]
            hidden = hidden + across.o(torch.einsum("nhm,hdm->nhd", torch.stack(told), values).flatten(1))
            hidden = hidden + _feed_forward(block.layer[2], hidden)
        decoded: Tensor = decoder.final_layer_norm(hidden)
        return decoded

    def _biases(self, length: int) -> Tensor:
        """Position biases, shape (1, heads, at least `length`, the same); kept, since a shorter text's are a corner of it."""
        if self._bias is None or self._bias.shape[-1] < length:
            attention = self.model.encoder.block[0].layer[0].SelfAttention
            self._bias = attention.compute_bias(length, length).contiguous()
        return self._bias


def _feed_forward(layer: Any, hidden: Tensor) -> Tensor:
    """T5's and Flan-T5's (gated) feed-forward layer, without the residual."""
    inner, normed = layer.DenseReluDense, layer.layer_norm(hidden)
    if hasattr(inner, "wi"):
        widened = _linear(normed, inner.wi)
        widened = widened.relu_() if isinstance(inner.act, torch.nn.ReLU) else inner.act(widened)
    else:
        widened = inner.act(_linear(normed, inner.wi_0)).mul_(_linear(normed, inner.wi_1))
    return _linear(widened.to(inner.wo.weight.dtype), inner.wo)


def _linear(inputs: Tensor, layer: torch.nn.Linear) -> Tensor:
    """A layer without bias; float32 through oneDNN, which multiplies by a third to a half faster than MKL on AMD."""
    if inputs.dtype is torch.float32 and _ONEDNN:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, layer.weight, None, "none", [], "")
        return product
    return functional.linear(inputs, layer.weight)
