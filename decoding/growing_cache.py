"""Key-value caches with room to grow in place, for one prompt or for several prompts that advance together.

A `DynamicCache` copies all states at every token; with the rows of two prompts this would cost more than the second
context itself. Prompts of different lengths are padded on the left; the caller makes the mask for the padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, EncoderDecoderCache

from groundrail.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ROOM = 256
"""Number of tokens by which a full buffer grows."""


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """A layer whose `keys` and `values`, (rows, heads, tokens, size), fill a part of larger buffers."""

    keys: Tensor
    values: Tensor

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype, self.device = keys.dtype, keys.device
        self.is_initialized = True
        self._fill(keys, values)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append the states of new tokens, (rows, heads, new tokens, size); all states as views of the buffers."""
        start = self.keys.shape[-2]
        end = start + key_states.shape[-2]
        if not self._can_take(end):
            self._fill(self.keys, self.values, room=max(ROOM, key_states.shape[-2]))
        self._key_buffer[:, :, start:end] = key_states
        self._value_buffer[:, :, start:end] = value_states
        self.keys, self.values = self._key_buffer[:, :, :end], self._value_buffer[:, :, :end]
        return self.keys, self.values

    def _can_take(self, tokens: int) -> bool:
        """Whether the buffers have room for `tokens` tokens, still hold the states, and may be changed in place."""
        buffer = self._key_buffer
        regrouped = self.keys.data_ptr() != buffer.data_ptr()
        frozen = buffer.is_inference() and not torch.is_inference_mode_enabled()
        return tokens <= buffer.shape[-2] and not regrouped and not frozen

    def _fill(self, keys: Tensor, values: Tensor, room: int = ROOM) -> None:
        self._key_buffer, self._value_buffer = _with_room(keys, room), _with_room(values, room)
        self.keys = self._key_buffer[:, :, : keys.shape[-2]]
        self.values = self._value_buffer[:, :, : values.shape[-2]]


def can_be_joined(model: PreTrainedModel) -> bool:
    """Whether the caches of several prompts can be joined: all layers of the model keep every token."""
    return all(type(layer) is DynamicLayer for layer in DynamicCache(config=model.config).layers)


def can_be_cut(cache: Cache) -> bool:
    """Whether the last tokens can be removed: only plain layers keep all earlier tokens."""
    own = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
    return bool(own.layers) and all(_is_plain(layer) for layer in own.layers)


def grown(cache: Cache) -> Cache:
    """Give a cache room to grow if all its layers keep every token; return any other cache unchanged."""
    return joined(cache) if isinstance(cache, DynamicCache) and can_be_cut(cache) else cache


def joined(*caches: Cache) -> DynamicCache:
    """The rows of all caches, padded on the left. Raises: `ModelError` for layers that do not keep every token."""
    together = DynamicCache()
    for layers in zip(*(cache.layers for cache in caches), strict=True):
        keys, values = zip(*map(_states, layers), strict=True)
        together.layers.append(GrowingLayer(_stacked(keys), _stacked(values)))
    return together


def selected(cache: Cache, rows: Tensor, tokens: int) -> DynamicCache:
    """Copy the last `tokens` columns of the given rows to an ordinary cache, with zeros in front of shorter rows."""
    copy = DynamicCache()
    for layer in cache.layers:
        plain = DynamicLayer()  # type: ignore[no-untyped-call]
        keys, values = (_widened(states[rows, :, -tokens:], tokens) for states in _states(layer))
        plain.update(keys, values)
        copy.layers.append(plain)
    return copy


def _is_plain(layer: object) -> bool:
    return type(layer) in (DynamicLayer, GrowingLayer) and cast(DynamicLayer, layer).is_initialized


def _states(layer: object) -> tuple[Tensor, Tensor]:
    """Keys and values of a layer that keeps every token. Raises: ModelError for any other layer."""
    if not _is_plain(layer):
        kind = type(layer).__name__
        raise ModelError(f"one pass for two prompts needs layers that keep every token, not {kind}: use the processor")
    plain = cast(DynamicLayer, layer)
    return cast(Tensor, plain.keys), cast(Tensor, plain.values)


def _stacked(states: Sequence[Tensor]) -> Tensor:
    """The rows of all states, aligned at the right, with zeros in front of shorter rows."""
    if len(states) == 1:
        return states[0]
    width = max(each.shape[-2] for each in states)
    return torch.cat([_widened(each, width) for each in states])


def _widened(states: Tensor, width: int) -> Tensor:
    return torch.nn.functional.pad(states, (0, 0, width - states.shape[-2], 0))


def _with_room(states: Tensor, room: int) -> Tensor:
    rows, heads, tokens, size = states.shape
    buffer = states.new_empty(rows, heads, tokens + room, size)
    buffer[:, :, :tokens] = states
    return buffer
