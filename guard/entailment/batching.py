"""Runs a torch model over token sequences of different lengths, in batches that waste little on padding."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import torch

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, room
from groundrail.errors import InputError
from groundrail.runtime.progress import step

Encoding: TypeAlias = Mapping[str, Sequence[int]]
"""One input as the tokenizer gives it: `input_ids`, `attention_mask`, perhaps `token_type_ids`."""

_BLOCK = 512
"""Pairs tokenized at a time: bounds the memory that token ids of a long source take."""


def in_batches(
    pairs: Sequence[Pair],
    encode: Callable[[Sequence[Pair]], list[Encoding]],
    probabilities: Callable[[list[Encoding]], torch.Tensor],
    *,
    columns: int,
    batch_tokens: int,
    alike: bool = False,
) -> FloatArray:
    """Apply `probabilities`, which gives a row of `columns` for each encoding, to all pairs: shape (n, columns).

    A batch has at most `batch_tokens` tokens, padding included, or is a single pair; for `alike` see `by_length`.
    """
    results = np.empty((len(pairs), columns))
    with torch.inference_mode():
        for start in range(0, len(pairs), _BLOCK):
            encodings = encode(pairs[start : start + _BLOCK])
            lengths = [len(encoding["input_ids"]) for encoding in encodings]
            for batch in by_length(lengths, batch_tokens, alike=alike):
                values = probabilities([encodings[index] for index in batch]).double().cpu().numpy()
                results[[start + index for index in batch]] = values
                step(len(batch))
    return results


def refuse_long_claims(judge: EntailmentModel, pairs: Sequence[Pair]) -> None:
    """Raises: ClaimTooLongError for a claim that leaves no room for a premise."""
    for claim in dict.fromkeys(claim for _, claim in pairs):
        room(claim, judge)


def refuse_long(lengths: Iterable[int], limit: int) -> None:
    """Raises: InputError where one of the inputs has more tokens than the model reads."""
    if (longest := max(lengths, default=0)) > limit:
        raise InputError(
            f"premise and claim have {longest} tokens with the prompt, and the model reads {limit}; cut the "
            f"premise into chunks, as groundrail.scoring does"
        )


def by_length(lengths: Sequence[int], batch_tokens: int, *, alike: bool = False) -> Iterator[list[int]]:
    """Indices in batches of similar lengths, the longest first, each within the budget or a single one.

    `alike`: none is padded by more than a quarter of its length and 8 tokens, for processors, which pay for padding.
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


def padded(encodings: Sequence[Encoding], padding: Mapping[str, int], device: torch.device) -> dict[str, torch.Tensor]:
    """One tensor a name, shape (batch, longest), filled up on the right."""
    longest = max(len(encoding["input_ids"]) for encoding in encodings)
    tensors = {}
    for name in encodings[0]:
        filler = padding.get(name, 0)
        rows = [[*encoding[name], *[filler] * (longest - len(encoding[name]))] for encoding in encodings]
        tensors[name] = torch.tensor(rows, dtype=torch.long, device=device)
    return tensors
