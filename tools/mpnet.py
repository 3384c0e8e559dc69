"""MPNet with a head of three classes, for training: plain torch, weights by their names in Hugging Face's files.

`groundrail.entailment.builtin` has the judge that users run; here are dropout, gradients and padded batches.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from packed import END, PAD
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

SCALE = ".scale"
"""Ends the name of the scales by which the int8 rows of a matrix are multiplied."""

BUCKETS, FARTHEST, EPS = 32, 128, 1e-5
NAMES = {
    "words": "mpnet.embeddings.word_embeddings",
    "places": "mpnet.embeddings.position_embeddings",
    "embedded": "mpnet.embeddings.LayerNorm",
    "relative": "mpnet.encoder.relative_attention_bias",
    "dense": "classifier.dense",
    "out": "classifier.out_proj",
    "kinds": "classifier.kinds",
}
LAYER_NAMES = {
    **{name: f"attention.attn.{name}" for name in "qkvo"},
    "attended": "attention.LayerNorm",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
    "done": "output.LayerNorm",
}


class Layer(nn.Module):
    """One layer of the encoder: attention with relative positions, then two linear layers, each part with its norm."""

    def __init__(self, size: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(size, size) for _ in range(4))
        self.attended, self.done = nn.LayerNorm(size, EPS), nn.LayerNorm(size, EPS)
        self.wide, self.narrow = nn.Linear(size, inner), nn.Linear(inner, size)
        self.dropout = dropout

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, size = x.shape
        q, k, v = (each(x).view(batch, length, bias.shape[1], -1).transpose(1, 2) for each in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))
        mixed = self.o(mixed.transpose(1, 2).reshape(batch, length, size))
        x = self.attended(x + F.dropout(mixed, self.dropout, self.training))
        done: Tensor = self.done(x + F.dropout(self.narrow(F.gelu(self.wide(x))), self.dropout, self.training))
        return done


class Kinds(nn.Module):
    """Logits of the kinds claim, talk, silence, (n, 3), from the states that `MPNet.kind_states` reads."""

    WIDTH = 64

    def __init__(self, states: int, dropout: float) -> None:
        super().__init__()
        self.dense, self.out = nn.Linear(states, self.WIDTH), nn.Linear(self.WIDTH, 3)
        self.dropout = dropout

    def forward(self, states: Tensor) -> Tensor:
        logits: Tensor = self.out(F.dropout(F.gelu(self.dense(states)), self.dropout, self.training))
        return logits


def kind_layers(layers: int) -> list[int]:
    """The layers after which the states are read, as in `groundrail.entailment.builtin.mpnet`."""
    return [max(1, round(layers * part / 9)) for part in (4, 6, 8, 9)]


def kind_states(every: Sequence[Tensor], ids: Tensor) -> Tensor:
    """States of the first token, all tokens and the sentence's, (n, 3 * size * layers).

    every: the states after each layer, (n, length, size). ids: (n, length), `<s> words around </s></s> sentence </s>`, padded.
    """
    ends = ids == END
    of_sentence = (ends.cumsum(1) == 2) & ~ends
    read = [every[layer - 1] for layer in kind_layers(len(every))]
    return torch.cat([part for x in read for part in (x[:, 0], _mean(x, ids != PAD), _mean(x, of_sentence))], dim=-1)


def _mean(x: Tensor, which: Tensor) -> Tensor:
    return ((x * which[..., None]).sum(1) / which.sum(1, keepdim=True).clamp(min=1)).to(x.dtype)


class Judge(nn.Module):
    """Logits of entailment, neutral, contradiction and of the kinds claim, talk, silence, (n, 6), for padded pairs of token
    ids, (n, length)."""

    def __init__(self, words: int, places: int, size: int, inner: int, heads: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, size), nn.Embedding(places, size)
        self.embedded = nn.LayerNorm(size, EPS)
        self.relative = nn.Embedding(BUCKETS, heads)
        self.layers = nn.ModuleList(Layer(size, inner, dropout) for _ in range(layers))
        self.dense, self.out = nn.Linear(size, size), nn.Linear(size, 3)
        self.kinds = Kinds(3 * size * len(kind_layers(layers)), dropout)
        self.dropout = dropout

    def forward(self, ids: Tensor) -> Tensor:
        real = ids != PAD
        steps = torch.arange(ids.shape[1], device=ids.device)
        x = self.embedded(self.words(ids) + self.places(steps + 2))  # positions count from the padding's id plus one
        x = F.dropout(x, self.dropout, self.training)
        bias = self.relative(bucket(steps[None] - steps[:, None])).permute(2, 0, 1)[None]
        if torch.is_autocast_enabled(ids.device.type):
            bias = bias.to(torch.bfloat16)
        bias = bias + torch.where(real, 0.0, -1e4).to(bias.dtype)[:, None, None]
        every = []
        for layer in self.layers:
            x = layer(x, bias)
            every.append(x)
        first = F.dropout(x[:, 0], self.dropout, self.training)
        logits: Tensor = self.out(F.dropout(torch.tanh(self.dense(first)), self.dropout, self.training))
        return torch.cat([logits, self.kinds(kind_states(every, ids))], dim=-1).float()

    def by_name(self) -> dict[str, nn.Parameter]:
        """Each parameter by its name in the files."""
        found = {}
        for name, parameter in self.named_parameters():
            part, *rest = name.split(".")
            if part == "layers":
                found[f"mpnet.encoder.layer.{rest[0]}.{LAYER_NAMES[rest[1]]}.{rest[2]}"] = parameter
            else:
                found[".".join([NAMES[part], *rest])] = parameter
        return found


def bucket(distance: Tensor) -> Tensor:
    """The bucket of each distance from query to key: exact when near, logarithmic when far."""
    half, exact = BUCKETS // 2, BUCKETS // 4
    near = distance.abs()
    far = exact + (torch.log(near.clamp(min=1).float() / exact) / math.log(FARTHEST / exact) * (half - exact)).long()
    return (distance > 0).long() * half + torch.where(near < exact, near, far.clamp(max=half - 1))


def weights_of(files: Sequence[Path], share: float = 1.0) -> dict[str, Tensor]:
    """The weights of a judge, (float32): the first file whole, int8 restored; further files hold weights trained from it.

    share: how far the mean of the trained weights replaces the first; 0.5 is the middle of both.
    """
    stored = load_file(files[0])
    weights = {
        name: weight.float() * stored[name + SCALE].float()[:, None] if name + SCALE in stored else weight.float()
        for name, weight in stored.items()
        if not name.endswith(SCALE)
    }
    trained = [load_file(file) for file in files[1:]]
    for name in trained[0] if trained else ():
        mean = torch.stack([each[name].float() for each in trained]).mean(0)
        weights[name] = torch.lerp(weights.get(name, mean), mean, share)
    return weights


def judge_of(weights: dict[str, Tensor], dropout: float = 0.0) -> Judge:
    """A judge of the shape that its weights have."""
    words, size = weights["mpnet.embeddings.word_embeddings.weight"].shape
    places = len(weights["mpnet.embeddings.position_embeddings.weight"])
    inner = len(weights["mpnet.encoder.layer.0.intermediate.dense.bias"])
    heads = weights["mpnet.encoder.relative_attention_bias.weight"].shape[1]
    layers = 1 + max(int(name.split(".")[3]) for name in weights if name.startswith("mpnet.encoder.layer."))
    model = Judge(words, places, size, inner, heads, layers, dropout)
    with torch.no_grad():
        for name, parameter in model.by_name().items():
            if name in weights:
                parameter.copy_(weights[name])
            elif not name.startswith(NAMES["kinds"]):
                raise SystemExit(f"the weights have no {name}: use those of a judge of this shape")
    return model
