"""One key-value cache for the rows of two prefills, with room to grow in place.

A `DynamicCache` copies everything it holds at every token; with twice the rows that would cost more than
the second context itself. Padding on the left, so that both halves end at the same column. The mask that
hides the padding is the caller's.
"""

from typing import Any, cast

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

from groundrail.errors import ModelError

ROOM = 256
"""Tokens by which a full buffer grows."""


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
        """Append the states of new tokens; all states, as views."""
        start = self.keys.shape[-2]
        end = start + key_states.shape[-2]
        if end > self._key_buffer.shape[-2] or self.keys.data_ptr() != self._key_buffer.data_ptr():
            self._fill(self.keys, self.values, room=max(ROOM, key_states.shape[-2]))
        self._key_buffer[:, :, start:end] = key_states
        self._value_buffer[:, :, start:end] = value_states
        self.keys, self.values = self._key_buffer[:, :, :end], self._value_buffer[:, :, :end]
        return self.keys, self.values

    def _fill(self, keys: Tensor, values: Tensor, room: int = ROOM) -> None:
        self._key_buffer, self._value_buffer = _with_room(keys, room), _with_room(values, room)
        self.keys = self._key_buffer[:, :, : keys.shape[-2]]
        self.values = self._value_buffer[:, :, : values.shape[-2]]


def joined(first: Cache, second: Cache, order: Tensor) -> DynamicCache:
    """The rows `order` of both caches in one, the first's above the second's, padded on the left.

    Raises `ModelError` for a cache with other than plain layers, which cannot be padded.
    """
    cache = DynamicCache()
    for one, two in zip(first.layers, second.layers, strict=True):
        keys, values = (_stacked(a[order], b[order]) for a, b in zip(_states(one), _states(two), strict=True))
        cache.layers.append(GrowingLayer(keys, values))
    return cache


def top_rows(cache: Cache, rows: int, tokens: int) -> DynamicCache:
    """The first `rows` rows without all but their last `tokens` columns, as an ordinary cache."""
    top = DynamicCache()
    for layer in cache.layers:
        plain = DynamicLayer()  # type: ignore[no-untyped-call]
        keys, values = (states[:rows, :, -tokens:].clone() for states in _states(layer))
        plain.update(keys, values)
        top.layers.append(plain)
    return top


def _states(layer: object) -> tuple[Tensor, Tensor]:
    """Keys and values of a layer that keeps every token; `ModelError` for any other."""
    if not isinstance(layer, DynamicLayer) or type(layer) not in (DynamicLayer, GrowingLayer):
        kind = type(layer).__name__
        raise ModelError(f"PMIDecoding needs layers that keep every token, not {kind}: use the processor")
    return cast(Tensor, layer.keys), cast(Tensor, layer.values)


def _stacked(one: Tensor, two: Tensor) -> Tensor:
    """Rows of both over each other, columns aligned at the right, zeros before the shorter."""
    rows, heads, _, size = one.shape
    width = max(one.shape[-2], two.shape[-2])
    both = one.new_zeros(rows + two.shape[0], heads, width, size)
    both[:rows, :, width - one.shape[-2] :] = one
    both[rows:, :, width - two.shape[-2] :] = two
    return both


def _with_room(states: Tensor, room: int) -> Tensor:
    rows, heads, tokens, size = states.shape
    buffer = torch.empty(rows, heads, tokens + room, size, dtype=states.dtype, device=states.device)
    buffer[:, :, :tokens] = states
    return buffer
