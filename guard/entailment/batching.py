"""Runs a torch model over token sequences of different lengths, in batches that waste little on padding.

Results come back in the order of the input. What the tokens mean, and what the logits, belongs to the models.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import torch

from groundrail.entailment.base import FloatArray, Pair
from groundrail.runtime.progress import step

Encoding: TypeAlias = Mapping[str, Sequence[int]]
"""One input as the tokenizer gives it: `input_ids`, `attention_mask`, perhaps `token_type_ids`."""

_BLOCK = 512
"""Pairs tokenized at a time: bounds the memory that token ids of a long source take."""


def in_batches(
    pairs: Sequence[Pair],
    encode: Callable[[Sequence[Pair]], list[Encoding]],
    probabilities: Callable[[dict[str, torch.Tensor]], torch.Tensor],
    *,
    columns: int,
    batch_tokens: int,
    padding: Mapping[str, int],
    device: torch.device,
) -> FloatArray:
    """Apply `probabilities` to all pairs, shape (n, columns).

    `probabilities` maps padded tensors of shape (batch, tokens) to (batch, columns). A batch has at most
    `batch_tokens` tokens, padding included, unless a single pair is longer. `padding` names the filler of
    each tensor, 0 where it does not.
    """
    results = np.empty((len(pairs), columns))
    with torch.inference_mode():
        for start in range(0, len(pairs), _BLOCK):
            encodings = encode(pairs[start : start + _BLOCK])
            lengths = [len(encoding["input_ids"]) for encoding in encodings]
            for batch in by_length(lengths, batch_tokens, alike=device.type == "cpu"):
                inputs = _padded([encodings[index] for index in batch], padding, device)
                values = probabilities(inputs).double().cpu().numpy()
                results[[start + index for index in batch]] = values
                step(len(batch))
    return results


def in_packed_batches(
    pairs: Sequence[Pair],
    encode: Callable[[Sequence[Pair]], list[Encoding]],
    probability: Callable[[Sequence[Sequence[int]]], torch.Tensor],
    *,
    batch_tokens: int,
) -> FloatArray:
    """Apply `probability`, which takes texts of token ids without padding, to all pairs, shape (n,)."""
    results = np.empty(len(pairs))
    with torch.inference_mode():
        for start in range(0, len(pairs), _BLOCK):
            texts = [encoding["input_ids"] for encoding in encode(pairs[start : start + _BLOCK])]
            for batch in by_length([len(text) for text in texts], batch_tokens):
                values = probability([texts[index] for index in batch]).double().cpu().numpy()
                results[[start + index for index in batch]] = values
                step(len(batch))
    return results


def by_length(lengths: Sequence[int], batch_tokens: int, *, alike: bool = False) -> Iterator[list[int]]:
    """Indices in batches of similar lengths, the longest first, each within the budget or a single one.

    `alike`: none is padded by more than a quarter of its length and 8 tokens. A processor works off padding as it does
    text, so that several small batches cost it less; an accelerator would rather have few calls.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        longest = lengths[batch[0]] if batch else 0
        if batch and (longest * (len(batch) + 1) > batch_tokens or (alike and longest > 1.25 * lengths[index] + 8)):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _padded(encodings: Sequence[Encoding], padding: Mapping[str, int], device: torch.device) -> dict[str, torch.Tensor]:
    """One tensor a name, shape (batch, longest), filled up on the right."""
    longest = max(len(encoding["input_ids"]) for encoding in encodings)
    tensors = {}
    for name in encodings[0]:
        filler = padding.get(name, 0)
        rows = [[*encoding[name], *[filler] * (longest - len(encoding[name]))] for encoding in encodings]
        tensors[name] = torch.tensor(rows, dtype=torch.long, device=device)
    return tensors
