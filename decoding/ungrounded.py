"""P(t | context without the source): the second distribution that every PMI step needs.

Finds cached state by looking at the tokens, never by counting steps: whatever rows are asked for, in whatever
order and number, the cache is regrouped and cut back to what they share with it, or computed anew. Where the
continuation starts, and what is done with the distribution, is left to the callers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from groundrail.decoding.contexts import can_be_cut
from groundrail.decoding.prompts import (
    TokenInputs,
    as_prompt,
    left_padded,
    positions,
    require_fit,
    rows_for,
    takes,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class UngroundedContext:
    """Next-token log-probabilities after `inputs` and any continuation of it.

    `inputs`: a tokenizer's output or ids (rows, width), padded on either side. For an encoder-decoder model
    it is the encoder's input, and the continuation is the whole decoder input. `SourceTooLongError` if it
    does not fit the model.
    """

    def __init__(self, model: PreTrainedModel, inputs: TokenInputs) -> None:
        self.model = model
        self.is_encoder_decoder = bool(model.config.is_encoder_decoder)
        prompt = as_prompt(inputs, "the ungrounded prompt", model.device)
        self.prompt = prompt if self.is_encoder_decoder else left_padded(prompt)
        require_fit(model, self.prompt.longest, "the ungrounded prompt")
        self._takes_positions = takes(model, "position_ids")
        self._takes_cache = takes(model, "past_key_values")
        self._only_last = {"logits_to_keep": 1} if takes(model, "logits_to_keep") else {}
        self.reset()

    @property
    def batch_size(self) -> int:
        """Rows of the ungrounded prompt."""
        return self.prompt.ids.shape[0]

    def reset(self) -> None:
        """Forget everything computed so far; what is asked next is computed from the prompt."""
        self.prompt = self.prompt.to(self.model.device)
        self._encoded: Tensor | None = None
        self._cache: Cache | None = None
        self._cached_rows = torch.empty(0, dtype=torch.long)
        self._cached_tokens = torch.empty(0, 0, dtype=torch.long)
        self._opening: Tensor | None = None

    @torch.no_grad()
    def log_probs(self, continuation: Tensor) -> Tensor:
        """log P(t | prompt, continuation), (rows, vocabulary) in float32, for a continuation (rows, n).

        Row i continues prompt row i // (rows / batch size), the order in which `generate` expands a batch.
        `InputError` if rows is no multiple of the batch size.
        """
        continuation = continuation.to(self.model.device)
        rows = self.rows_of(continuation.shape[0])
        if continuation.shape[1] == 0:
            if self._opening is None:
                everyone = torch.arange(self.batch_size, device=rows.device)
                self._opening = self._advance(everyone, continuation.new_empty(self.batch_size, 0), kept=None)
            return self._opening[rows]
        return self._advance(rows, continuation, kept=self._share(rows, continuation))

    def rows_of(self, n: int) -> Tensor:
        """Prompt row of each of `n` rows that `generate` asks about."""
        return rows_for(self.prompt, n)

    def _share(self, rows: Tensor, continuation: Tensor) -> int | None:
        """Regroup the cache to the asked rows, cut to what all share with it: tokens kept, if any."""
        if self._cache is None:
            return None
        most = min(self._cached_tokens.shape[1], continuation.shape[1] - 1)
        agree = continuation[:, None, :most] == self._cached_tokens[None, :, :most]
        common = agree.int().cumprod(dim=2).sum(dim=2)
        common = common.masked_fill(rows[:, None] != self._cached_rows[None], -1)
        lengths, order = common.max(dim=1)
        kept = int(lengths.min())
        surplus = self._cached_tokens.shape[1] - kept
        if kept < 0 or (surplus and not can_be_cut(self._cache)):
            return None
        if not torch.equal(order, torch.arange(len(self._cached_rows), device=order.device)):
            self._cache.reorder_cache(cast("torch.LongTensor", order))
        if surplus:
            self._cache.crop(-surplus)
        return kept

    def _advance(self, rows: Tensor, continuation: Tensor, kept: int | None) -> Tensor:
        """Run the model on what is not cached yet and keep its state."""
        cache, self._cache = (self._cache if kept is not None else None), None
        run = self._decode if self.is_encoder_decoder else self._continue
        output = run(rows, continuation, kept, cache)
        state = getattr(output, "past_key_values", None)
        if isinstance(state, Cache):
            self._cache, self._cached_rows, self._cached_tokens = state, rows, continuation
        return torch.log_softmax(output.logits[:, -1].float(), dim=-1)

    def _continue(self, rows: Tensor, continuation: Tensor, kept: int | None, cache: Cache | None) -> Any:
        whole = self.prompt.select(rows).followed_by(continuation)
        require_fit(self.model, self.prompt.longest + continuation.shape[1], "the ungrounded prompt with its answer")
        new = slice(None) if kept is None else slice(self.prompt.ids.shape[1] + kept, None)
        arguments: dict[str, Any] = dict(self._only_last)
        if self._takes_positions:
            arguments["position_ids"] = positions(whole.mask)[:, new]
        padded = not bool(whole.mask.all())
        if padded or not self._takes_positions:
            arguments["attention_mask"] = whole.mask
        if self._takes_cache:
            arguments |= {"past_key_values": cache, "use_cache": True}
        return self.model(input_ids=whole.ids[:, new], **arguments)

    def _decode(self, rows: Tensor, continuation: Tensor, kept: int | None, cache: Cache | None) -> Any:
        from transformers.modeling_outputs import BaseModelOutput

        if self._encoded is None:
            encoder: Any = self.model.get_encoder()
            encoded = encoder(input_ids=self.prompt.ids, attention_mask=self.prompt.mask)
            self._encoded = encoded.last_hidden_state
        return self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._encoded[rows]),
            attention_mask=self.prompt.mask[rows],
            decoder_input_ids=continuation[:, kept or 0 :],
            past_key_values=cache,
            use_cache=True,
        )
