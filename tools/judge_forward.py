"""The judge's forward pass over pairs of token ids, on a processor or a GPU, for training and measuring.

Only attention sees padding: every other layer reads the real tokens of all pairs as one long row.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from windows import Pair

NUMBER = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3}
"""The class of each label; 3 stands for "neutral or contradiction"."""

FIRST = 2
"""MPNet counts positions from its padding index plus one."""


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy, (n,); label 3 means "not entailment": the two other classes share its mass."""
    log_p = F.log_softmax(logits.float(), dim=-1)
    three_way = -log_p.gather(1, labels.clamp(max=2)[:, None])[:, 0]
    return torch.where(labels == 3, -torch.logsumexp(log_p[:, 1:], dim=-1), three_way)


def logits_of(model: Any, tokenizer: Any, pairs: Sequence[Pair]) -> Tensor:
    """Logits, (pairs, 3), on the model's device."""
    start, end, device = tokenizer.cls_token_id, tokenizer.sep_token_id, model.device
    rows = [torch.tensor([start, *pair.premise, end, end, *pair.claim, end]) for pair in pairs]
    lengths = torch.tensor([len(row) for row in rows])
    longest = int(lengths.max())
    real = torch.arange(longest) < lengths[:, None]
    place = real.flatten().nonzero()[:, 0].to(device)  # of each real token in the padded grid
    first = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)[:-1]]).to(device)
    positions = (torch.cat([torch.arange(len(row)) for row in rows]) + FIRST).to(device)

    mpnet = model.mpnet
    embeddings, encoder = mpnet.embeddings, mpnet.encoder
    words = embeddings.word_embeddings(torch.cat(rows).to(device))
    x = embeddings.LayerNorm(words + embeddings.position_embeddings(positions))
    steps = torch.arange(longest, device=device)
    buckets = encoder.relative_position_bucket(
        steps[None] - steps[:, None], num_buckets=encoder.relative_attention_bias.num_embeddings
    )
    bias = encoder.relative_attention_bias(buckets).permute(2, 0, 1).detach()
    mask = bias[None] + torch.where(real, 0.0, -1e4).to(device)[:, None, None]
    mask = mask.to(torch.bfloat16 if torch.is_autocast_enabled(device.type) else x.dtype)

    def heads(flat: Tensor, attention: Any) -> Tensor:
        padded = flat.new_zeros(len(rows) * longest, flat.shape[-1]).index_copy(0, place, flat)
        return padded.view(len(rows), longest, attention.num_attention_heads, -1).transpose(1, 2)

    for layer in encoder.layer:
        attention = layer.attention.attn
        query, key, value = (heads(each(x), attention) for each in (attention.q, attention.k, attention.v))
        weight = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5 + mask, dim=-1)
        mixed = (weight.to(value.dtype) @ value).transpose(1, 2).flatten(2).flatten(0, 1)[place]
        x = layer.attention.LayerNorm(attention.o(mixed) + x)
        x = layer.output(layer.intermediate(x), x)
    return model.classifier(x[first][:, None])  # type: ignore[no-any-return]


def scores_of(model: Any, tokenizer: Any, pairs: Sequence[Pair], most: int = 4000) -> Tensor:
    """Probabilities, (pairs, 3), on the processor; `most` tokens are read at once."""
    order = sorted(range(len(pairs)), key=lambda n: len(pairs[n]))
    found = torch.zeros(len(pairs), 3)
    with torch.inference_mode(), precision(model.device):
        for part in parts(order, [len(pair) for pair in pairs], most):
            found[part] = torch.softmax(logits_of(model, tokenizer, [pairs[n] for n in part]).float(), -1).cpu()
    return found


def precision(device: torch.device) -> torch.autocast:
    """bfloat16 products, except on processors without them, where they are many times slower than float32's."""
    able = device.type != "cpu" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    return torch.autocast(device.type, torch.bfloat16, enabled=able)


def parts(numbers: Sequence[int], lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Runs of numbers whose pairs, padded to the longest, have at most `most` tokens."""
    run: list[int] = []
    for n in numbers:
        if run and (len(run) + 1) * max(lengths[n], max(lengths[i] for i in run)) > most:
            yield run
            run = []
        run.append(n)
    if run:
        yield run
