"""Prompts as tensors: token ids with their mask, positions, and the limits of a model. Nothing here calls a model."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor

from groundrail.errors import InputError, ModelError, SourceTooLongError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TokenInputs: TypeAlias = "Mapping[str, Tensor] | Tensor"


@dataclass(frozen=True, slots=True)
class Prompt:
    """`ids` and `mask`, both (rows, width); the mask is 1 at tokens and 0 at padding. `name` is for errors."""

    ids: Tensor
    mask: Tensor
    name: str = "the prompt"

    @property
    def longest(self) -> int:
        """Tokens of the longest row, padding not counted."""
        return int(self.mask.sum(dim=1).max())

    def to(self, device: torch.device) -> Prompt:
        """The same prompt on another device."""
        return replace(self, ids=self.ids.to(device), mask=self.mask.to(device))

    def select(self, rows: Tensor) -> Prompt:
        """The given rows, in the given order."""
        return replace(self, ids=self.ids[rows], mask=self.mask[rows])

    def followed_by(self, continuation: Tensor) -> Prompt:
        """Each row with the same row of `continuation` (rows, n) appended."""
        ids, mask = torch.cat([self.ids, continuation], dim=1), torch.ones_like(continuation)
        return replace(self, ids=ids, mask=torch.cat([self.mask, mask], dim=1))


def as_prompt(inputs: TokenInputs, name: str, device: torch.device) -> Prompt:
    """Token ids, or a tokenizer's output, as a `Prompt` on `device`; `name` is how errors call it.

    `InputError` if a row has no token or the mask has another shape than the ids.
    """
    ids = inputs["input_ids"] if isinstance(inputs, Mapping) else inputs
    mask = inputs.get("attention_mask") if isinstance(inputs, Mapping) else None
    if not isinstance(ids, Tensor):
        raise InputError(f"{name} holds {type(ids).__name__}: tokenize it with return_tensors='pt', padding=True")
    ids = ids.to(device)
    mask = torch.ones_like(ids) if mask is None else mask.to(ids)
    if ids.dim() == 1:
        ids, mask = ids[None], mask[None]
    if mask.shape != ids.shape:
        raise InputError(f"{name} has ids of shape {tuple(ids.shape)} but a mask of shape {tuple(mask.shape)}")
    empty = (mask.sum(dim=1) == 0).nonzero().flatten().tolist()
    if empty or not ids.numel():
        raise InputError(f"{name} has no token in rows {empty}: give at least a beginning-of-sequence token")
    return Prompt(ids, mask, name)


def left_padded(prompt: Prompt) -> Prompt:
    """The same rows with their padding moved to the left, and columns that are all padding removed."""
    order = prompt.mask.argsort(dim=1, stable=True)[:, -prompt.longest :]
    return replace(prompt, ids=prompt.ids.gather(1, order), mask=prompt.mask.gather(1, order))


def stacked(prompts: Sequence[Prompt]) -> Prompt:
    """The rows of all prompts over each other, with padding on the left of the narrower ones."""
    width = max(prompt.ids.shape[1] for prompt in prompts)
    ids, masks = (
        torch.cat([torch.nn.functional.pad(each, (width - each.shape[1], 0)) for each in tensors])
        for tensors in zip(*((prompt.ids, prompt.mask) for prompt in prompts), strict=True)
    )
    return Prompt(ids, masks)


def positions(mask: Tensor) -> Tensor:
    """Position of every token when padding is not counted, in the shape of `mask`; 0 at padding."""
    return (mask.cumsum(dim=1) - 1).clamp(min=0)


def context_limit(model: PreTrainedModel) -> int | None:
    """Tokens the model can read, where its configuration says so."""
    limit = getattr(model.config.get_text_config(decoder=True), "max_position_embeddings", None)
    return int(limit) if isinstance(limit, int) and limit > 0 else None


def require_fit(model: PreTrainedModel, tokens: int, name: str) -> None:
    """Raise `SourceTooLongError` if `tokens` are more than the model can read."""
    limit = context_limit(model)
    if limit is not None and tokens > limit:
        raise SourceTooLongError(
            f"{name} has {tokens} tokens but the model reads at most {limit}: it is not cut, shorten it"
        )


def require_one_each(different: Tensor, ungrounded: Prompt, rows: Tensor) -> None:
    """Raise `InputError` unless every ungrounded prompt belongs to one grounded prompt.

    `different` (n - 1,): whether a row being generated has another grounded prompt than the row before it;
    `rows` (n,): the ungrounded row of each.
    """
    ids = ungrounded.ids[rows].to(different.device)
    rows = rows.to(different.device)
    shared = different & (rows[1:] == rows[:-1])
    split = ~different & (ids[1:] != ids[:-1]).any(dim=1)
    if bool((shared | split).any()):
        raise InputError(
            f"the ungrounded prompt has {ungrounded.ids.shape[0]} rows but generate was called with "
            f"{int(different.sum()) + 1} different prompts: give one for every grounded prompt"
        )


def rows_for(ungrounded: Prompt, n: int) -> Tensor:
    """Ungrounded row of each of `n` rows being generated, shape (n,), in the order in which `generate` expands a batch.

    `InputError` if n is no multiple of the ungrounded rows.
    """
    batch = ungrounded.ids.shape[0]
    if n % batch:
        raise InputError(
            f"the ungrounded prompt has {batch} rows, which do not divide the {n} rows being generated: "
            "give one for every grounded prompt"
        )
    return torch.arange(n, device=ungrounded.ids.device) // (n // batch)


def takes(model: PreTrainedModel, argument: str) -> bool:
    """Whether the model's `forward` has this argument."""
    return argument in inspect.signature(model.forward).parameters


def vocabulary(model: PreTrainedModel) -> int:
    """Number of next-token scores the model gives."""
    return int(model.config.get_text_config(decoder=True).vocab_size)


def require_same_vocabulary(model: PreTrainedModel, ungrounded_model: PreTrainedModel) -> None:
    """Raise `ModelError` unless both models score the same number of tokens."""
    own, other = vocabulary(model), vocabulary(ungrounded_model)
    if own != other:
        raise ModelError(
            f"the ungrounded model scores {other} tokens, the generating one {own}: both need the same vocabulary"
        )
