"""Keys and values of texts that a causal model has read, kept for the texts that begin like them.

A budget of bytes bounds what is kept; what was not used for the longest time goes first. What is asked after a
prefix belongs to `groundrail.entailment.causal`.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from groundrail.errors import InputError, ModelError

Tokens: TypeAlias = tuple[int, ...]
Layers: TypeAlias = list[tuple[Tensor, Tensor]]
"""Keys and values of every layer, each of shape (1, heads, tokens, head size)."""


class Prefixes:
    """A causal model with what it has read.

    Raises: ModelError for a model whose cache cannot be cropped: one with a state (Mamba) or a sliding window.
    """

    def __init__(self, model: PreTrainedModel, budget: int) -> None:
        if budget < 0:
            raise InputError(f"cache_bytes is {budget}; pass 0 to keep nothing, or more")
        layers = DynamicCache(config=model.config).layers
        if model._is_stateful or any(type(layer) is not DynamicLayer for layer in layers):
            raise ModelError(
                f"{type(model).__name__} keeps a state or a sliding window, which cannot be cut back to the premise; "
                f"pass a model with full attention in every layer"
            )
        self.model: Any = model
        self.budget = budget
        self.fed = 0
        self._kept: OrderedDict[Tokens, Layers] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """What is kept now."""
        return sum(map(_size, self._kept.values()))

    def last_logits(self, prefix: Tokens, suffixes: Sequence[Tokens]) -> Tensor:
        """Logits after prefix and suffix, shape (suffixes, words); only what is not kept of the prefix is read."""
        layers = self._read(prefix)
        longest = max(map(len, suffixes))
        rows = [
            [*suffix, *[0] * (longest - len(suffix))] for suffix in suffixes
        ]  # what follows a token cannot reach it
        hidden = self._feed(torch.tensor(rows), layers).logits
        ends = torch.tensor([len(suffix) - 1 for suffix in suffixes], device=hidden.device)
        logits: Tensor = hidden[torch.arange(len(suffixes), device=hidden.device), ends]
        return logits

    def _read(self, prefix: Tokens) -> Layers:
        with self._lock:
            nearest = max(self._kept, key=lambda kept: _shared(kept, prefix), default=())
            known = _shared(nearest, prefix)
            layers = [(keys[:, :, :known], values[:, :, :known]) for keys, values in self._kept.get(nearest, [])]
            if known:
                self._kept.move_to_end(nearest)
        if known == len(prefix):
            return layers
        cache = self._feed(torch.tensor([prefix[known:]]), layers if known else [], head=False).past_key_values
        layers = [(layer.keys, layer.values) for layer in cache.layers]
        with self._lock:
            self._kept[prefix] = layers
            kept = self.bytes
            while kept > self.budget:
                kept -= _size(self._kept.popitem(last=False)[1])
        return layers

    def _feed(self, tokens: Tensor, layers: Layers, head: bool = True) -> Any:
        """Read tokens, shape (texts, tokens), after what `layers` holds, which stays as it is; no logits without `head`."""
        cache = DynamicCache(config=self.model.config)
        for number, (keys, values) in enumerate(layers):
            cache.update(keys.expand(len(tokens), -1, -1, -1), values.expand(len(tokens), -1, -1, -1), number)
        self.fed += tokens.numel()
        read = self.model if head else self.model.base_model
        return read(input_ids=tokens.to(self.model.device), past_key_values=cache, use_cache=True)


def _shared(first: Tokens, second: Tokens) -> int:
    """How many tokens two texts share at their beginnings."""
    if first[: len(second)] == second:
        return len(second)
    return next((place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))


def _size(layers: Layers) -> int:
    return sum(keys.nbytes + values.nbytes for keys, values in layers)
