"""One prompt with its key/value cache, asked for next-token logits after any continuation.

A context feeds only what its cache does not hold yet and forgets what a continuation no longer shares,
so a rewind costs one forward pass of one token. What to write is decided in `groundrail.decoding.generator`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer, EncoderDecoderCache

from groundrail.decoding.prompts import require_fit

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class CachedContext:
    """A decoder-only model's view of one prompt.

    `tokens_fed` counts every token that went through the model. Raises SourceTooLongError if the prompt and
    `room` more tokens do not fit the model.
    """

    def __init__(self, model: PreTrainedModel, prompt: Sequence[int], room: int, name: str) -> None:
        require_fit(model, len(prompt) + room, f"{name} with {room} tokens of answer")
        self._model = model
        self._prompt = list(prompt)
        self._held: list[int] = []
        self._cache: object = None
        self.tokens_fed = 0

    @torch.inference_mode()
    def next_logits(self, continuation: Sequence[int]) -> Tensor:
        """Logits of the token after prompt and continuation, shape (vocabulary,), float32."""
        wanted = [*self._prompt, *continuation]
        shared = _common_length(self._held, wanted)
        shared = min(shared, len(wanted) - 1)  # the last token is fed again for its logits
        self._forget(len(self._held) - shared)
        fresh = wanted[len(self._held) :]
        output = self._model(
            input_ids=torch.tensor([fresh], device=self._model.device),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._cache = output.past_key_values
        self._held = wanted
        self.tokens_fed += len(fresh)
        logits: Tensor = output.logits[0, -1].float()
        return logits

    def _forget(self, count: int) -> None:
        if count <= 0:
            return
        self._held = self._held[:-count]
        if self._held and isinstance(self._cache, Cache) and can_be_cut(self._cache):
            self._cache.crop(-count)
        else:  # a cache that has already let go of early tokens cannot go back: read the prompt again
            self._cache, self._held = None, []


def can_be_cut(cache: Cache) -> bool:
    """Whether the last tokens can be taken back: only plain layers keep all that came before them."""
    own = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
    return bool(own.layers) and all(type(layer) is DynamicLayer for layer in own.layers)


def _common_length(first: Sequence[int], second: Sequence[int]) -> int:
    for position, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return position
    return min(len(first), len(second))
