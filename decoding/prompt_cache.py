"""Prompts with their key/value cache, which give the next-token logits after any continuation.

Cached state is found by comparing tokens, never by counting steps: for any rows in any order and number, the cache is
regrouped and cut back to the tokens that it shares with the rows, or computed again. Several prompts are read
separately, so that the length of one does not slow the others, and then advance together in one forward pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from groundrail.decoding.few_rows import few_rows
from groundrail.decoding.growing_cache import can_be_cut, grown, joined, selected
from groundrail.decoding.prompts import Prompt, left_padded, positions, require_fit, rows_for, stacked, takes
from groundrail.errors import InputError, ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.cache_utils import DynamicCache


class PromptCache:
    """Next-token logits after each of `prompts` and any continuation.

    `prompts`: with the same number of rows, padded on either side; several only where `can_be_joined(model)`. An
    encoder-decoder model takes one, its encoder's input, and the continuation is the whole decoder input.
    `tokens_fed` counts every token that went through the model, padding left out.

        cache = PromptCache(model, with_source, without_source)
        grounded, ungrounded = cache.next_logits(answer)            # answer: (rows, tokens)
        cache.next_logits(torch.cat([answer, token], dim=1))        # feeds one token a row
        cache.next_logits(answer[:, :5])                            # goes back, feeds the fifth again

    Raises: `SourceTooLongError` where a prompt does not fit the model, `InputError` where they differ in rows, and
    when first asked `ModelError` where several cannot share a cache.
    """

    def __init__(self, model: PreTrainedModel, *prompts: Prompt) -> None:
        self.model = model
        self.is_encoder_decoder = bool(model.config.is_encoder_decoder)
        self.prompts = prompts if self.is_encoder_decoder else tuple(left_padded(prompt) for prompt in prompts)
        if len({len(prompt.ids) for prompt in prompts}) != 1:
            raise InputError(f"prompts with {[len(prompt.ids) for prompt in prompts]} rows: give equally many of each")
        self._longest = max(self.prompts, key=lambda prompt: prompt.longest)
        require_fit(model, self._longest.longest, self._longest.name)
        self._takes_positions, self._takes_cache = takes(model, "position_ids"), takes(model, "past_key_values")
        self._only_last = {"logits_to_keep": 1} if takes(model, "logits_to_keep") else {}
        self.tokens_fed = 0
        self.reset()

    def reset(self) -> None:
        """Forget all cached states; the next request is computed from the prompts."""
        self.prompts = tuple(prompt.to(self.model.device) for prompt in self.prompts)
        self._all = stacked(self.prompts)
        self._encoded: Tensor | None = None
        self._opening: Tensor | None = None
        self._cache: Cache | None = None
        self._cached_rows = self._cached_tokens = torch.empty(0, dtype=torch.long)

    @property
    def batch_size(self) -> int:
        """Rows of every prompt."""
        return self.prompts[0].ids.shape[0]

    def rows_of(self, n: int) -> Tensor:
        """Prompt row of each of `n` continuations, see `rows_for`."""
        return rows_for(self.prompts[0], n)

    @torch.no_grad()
    def next_logits(self, continuation: Tensor) -> Tensor:
        """Logits after every prompt with `continuation` (rows, n): (prompts, rows, vocabulary) in float32.

        Raises: `SourceTooLongError` where the two do not fit the model, `InputError` as `rows_of`.
        """
        continuation = continuation.to(self.model.device)
        rows = self.rows_of(continuation.shape[0])
        if self.is_encoder_decoder:
            return self._decode(rows, continuation)
        length = self._longest.longest + continuation.shape[1]
        require_fit(self.model, length, f"{self._longest.name} with its answer")
        if continuation.shape[1] == 0:
            return (self._read() if self._opening is None else self._opening)[:, rows]
        return self._continue(rows, continuation)

    def first_rows(self, n: int, width: int) -> DynamicCache:
        """The last `width` columns of the first prompt's `n` continuations, as an ordinary cache."""
        if self._cache is None:
            raise ModelError("nothing is cached: ask for logits first, of a model with a key-value cache")
        cached = len(self._cached_rows)
        return selected(self._cache, torch.arange(n, device=self.model.device) * cached // n, width)

    def _read(self) -> Tensor:
        """Read each prompt separately; return the logits of the first token and cache the prompts."""
        self._cache = None
        everyone = torch.arange(self.batch_size, device=self.model.device)
        outputs = [self._forward(prompt, 0, None) for prompt in self.prompts]
        found = [getattr(output, "past_key_values", None) for output in outputs]
        states = [state for state in found if isinstance(state, Cache)]
        self._takes_cache = self._takes_cache and len(states) == len(found)
        if self._takes_cache:
            self._keep(grown(states[0]) if len(states) == 1 else joined(*states), everyone, self.prompts[0].ids[:, :0])
        self._opening = torch.stack([output.logits[:, -1].float() for output in outputs])
        return self._opening

    def _continue(self, rows: Tensor, continuation: Tensor) -> Tensor:
        kept = self._share(rows, continuation)
        if kept is None and self._takes_cache:
            self._read()
            kept = self._share(rows, continuation)
        cache, self._cache = self._cache, None
        n = len(self.prompts)
        everywhere = torch.cat([rows + part * self.batch_size for part in range(n)])
        whole = self._all.select(everywhere).followed_by(continuation.repeat(n, 1))
        read = 0 if kept is None else self._all.ids.shape[1] + kept
        output = self._forward(whole, read, cache if kept is not None else None)
        if kept is not None:
            self._keep(output.past_key_values, rows, continuation)
        logits: Tensor = output.logits[:, -1].float()
        return logits.view(n, len(rows), -1)

    def _decode(self, rows: Tensor, continuation: Tensor) -> Tensor:
        from transformers.modeling_outputs import BaseModelOutput

        kept = self._share(rows, continuation)
        cache, self._cache = (None if kept is None else self._cache), None
        if self._encoded is None:
            encoder: Any = self.model.get_encoder()
            encoded = encoder(input_ids=self._all.ids, attention_mask=self._all.mask)
            self._encoded = cast(Tensor, encoded.last_hidden_state)
        output = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._encoded[rows]),
            attention_mask=self._all.mask[rows],
            decoder_input_ids=continuation[:, kept or 0 :],
            past_key_values=cache,
            use_cache=True,
        )
        self._keep(output.past_key_values, rows, continuation)
        logits: Tensor = output.logits[:, -1].float()
        return logits[None]

    def _share(self, rows: Tensor, continuation: Tensor) -> int | None:
        """Regroup the cache for the requested rows and cut it to shared tokens; return the number of tokens kept."""
        if self._cache is None:
            return None
        most = min(self._cached_tokens.shape[1], continuation.shape[1] - 1)  # the last one is fed for its logits
        agree = continuation[:, None, :most] == self._cached_tokens[None, :, :most]
        common = agree.int().cumprod(dim=2).sum(dim=2)
        common = common.masked_fill(rows[:, None] != self._cached_rows[None], -1)
        lengths, order = common.max(dim=1)
        kept = int(lengths.min())
        surplus = self._cached_tokens.shape[1] - kept
        if kept < 0 or (surplus and not can_be_cut(self._cache)):
            return None
        cached = len(self._cached_rows)
        if not torch.equal(order, torch.arange(cached, device=order.device)):
            order = torch.cat([order + part * cached for part in range(len(self.prompts))])
            self._cache.reorder_cache(cast("torch.LongTensor", order))
        if surplus:
            self._cache.crop(-surplus)
        return kept

    def _keep(self, state: object, rows: Tensor, continuation: Tensor) -> None:
        if isinstance(state, Cache):
            self._cache, self._cached_rows, self._cached_tokens = state, rows, continuation

    def _forward(self, whole: Prompt, read: int, cache: Cache | None) -> Any:
        """Run the model on all columns of `whole` but the first `read`, which `cache` holds."""
        arguments: dict[str, Any] = dict(self._only_last)
        if self._takes_positions:
            arguments["position_ids"] = positions(whole.mask)[:, read:]
        if not self._takes_positions or not bool(whole.mask.all()):
            arguments["attention_mask"] = whole.mask
        if self._takes_cache:
            arguments |= {"past_key_values": cache, "use_cache": True}
        ids = whole.ids[:, read:]
        self.tokens_fed += ids.numel() if read else int(whole.mask.sum())
        with few_rows(ids):
            return self.model(input_ids=ids, **arguments)
