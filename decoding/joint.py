"""PMI decoding with both contexts in one forward pass a token: `model.generate(..., custom_generate=...)`.

Grounded and ungrounded rows share one `PromptCache`, and every step appends the same token to both. This serves greedy
search and sampling; the logits processor gives the same tokens and serves everything else.

The loop over tokens is our own: transformers' is a private method that calls the model itself, with one row for each
answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers.generation.utils import GenerateDecoderOnlyOutput

from groundrail.decoding.growing_cache import can_be_joined
from groundrail.decoding.prompt_cache import PromptCache
from groundrail.decoding.prompts import Prompt, TokenInputs, as_prompt, left_padded, require_one_each, rows_for, takes
from groundrail.decoding.steering import Steering, combine
from groundrail.errors import InputError, ModelError

if TYPE_CHECKING:
    from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, StoppingCriteriaList
    from transformers.generation.streamers import BaseStreamer

_KNOWN = set("attention_mask position_ids past_key_values use_cache logits_to_keep cache_position".split())


class PMIDecoding:
    """Steer `generate` by a `Steering`, for example `PMI(0.5)` or `AdaCAD()`; pass the object as `custom_generate`.

    ungrounded: the prompt without its source, as a tokenizer's output or ids, a row for every grounded prompt.
    streamer: gets the tokens; pass it here, because `generate` does not hand its streamer to a custom method.

    After a call `gains` holds the s_pmi of every generated token in nats, (rows, tokens), NaN at the padding of
    finished rows. The steering comes before all other logits processors.

    Raises: InputError or ModelError for a request that only the logits processor can serve.
    """

    def __init__(
        self,
        ungrounded: TokenInputs,
        steering: Steering,
        *,
        renormalize: bool = True,
        streamer: BaseStreamer | None = None,
    ) -> None:
        self.ungrounded, self.steering = ungrounded, steering
        self.renormalize, self.streamer = renormalize, streamer
        self.gains: Tensor | None = None

    @torch.no_grad()
    def __call__(
        self,
        model: PreTrainedModel,
        input_ids: Tensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        synced_gpus: bool = False,
        streamer: BaseStreamer | None = None,
        **model_kwargs: Any,
    ) -> GenerateDecoderOnlyOutput | Tensor:
        """Generate, called by `generate`: the sequences (rows, length), or the output object on request."""
        _require_supported(model, generation_config, model_kwargs, synced_gpus)
        mask = model_kwargs.get("attention_mask")
        cache = _joint_cache(
            model,
            Prompt(input_ids, torch.ones_like(input_ids) if mask is None else mask, "the grounded prompt"),
            left_padded(as_prompt(self.ungrounded, "the ungrounded prompt", input_ids.device)),
        )
        start = input_ids.shape[1]
        streamer = self.streamer or streamer
        if self.streamer is not None:
            self.streamer.put(input_ids.cpu())  # type: ignore[no-untyped-call]
        eos_ends_a_row = any(hasattr(criteria, "eos_token_id") for criteria in stopping_criteria)
        pad = _padding(generation_config) if eos_ends_a_row else None
        kept, gains = _Outputs(generation_config), list[Tensor]()
        unfinished = torch.ones(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)
        while bool(unfinished.any()):
            logits = cache.next_logits(input_ids[:, start:])
            grounded, ungrounded = torch.log_softmax(logits, dim=-1)
            steered = combine(grounded, ungrounded, self.steering, renormalize=self.renormalize)
            scores = logits_processor(input_ids, steered)  # type: ignore[arg-type]
            chosen = _chosen(scores, sampled=bool(generation_config.do_sample))
            gain = grounded.gather(1, chosen) - ungrounded.gather(1, chosen)
            if pad is not None:
                gain = gain.masked_fill(~unfinished[:, None], torch.nan)
                chosen = chosen.where(unfinished[:, None], pad)
            gains.append(gain)
            kept.add(scores, logits[0])
            input_ids = torch.cat([input_ids, chosen], dim=1)
            if streamer is not None:
                streamer.put(chosen.flatten().cpu())  # type: ignore[no-untyped-call]
            unfinished &= ~stopping_criteria(input_ids, kept.scores)
        if streamer is not None:
            streamer.end()  # type: ignore[no-untyped-call]
        self.gains = torch.cat(gains, dim=1)
        return kept.beside(input_ids, cache)


class _Outputs:
    """The outputs of each step that `generate` returns beside the sequences, as its configuration asks for."""

    def __init__(self, config: GenerationConfig) -> None:
        self._in_dict = bool(config.return_dict_in_generate)
        self._scores: list[Tensor] | None = [] if self._in_dict and config.output_scores else None
        self._logits: list[Tensor] | None = [] if self._in_dict and config.output_logits else None

    @property
    def scores(self) -> tuple[Tensor, ...] | None:
        """The scores of the steps so far, None without any."""
        return tuple(self._scores or ()) or None

    def add(self, scores: Tensor, logits: Tensor) -> None:
        """Add a step, each of shape (rows, vocabulary)."""
        for kept, new in ((self._scores, scores), (self._logits, logits)):
            if kept is not None:
                kept.append(new)

    def beside(self, sequences: Tensor, cache: PromptCache) -> GenerateDecoderOnlyOutput | Tensor:
        """The sequences (rows, length), alone or in the output object."""
        if not self._in_dict:
            return sequences
        return GenerateDecoderOnlyOutput(
            sequences=sequences,  # type: ignore[arg-type]
            scores=self.scores,  # type: ignore[arg-type]
            logits=tuple(self._logits or ()) or None,  # type: ignore[arg-type]
            past_key_values=cache.first_rows(*sequences[:, :-1].shape),
        )


def _chosen(scores: Tensor, *, sampled: bool) -> Tensor:
    """The next token of each row, shape (rows, 1), drawn or the likeliest."""
    if sampled:
        return torch.multinomial(scores.softmax(dim=-1), num_samples=1)
    return scores.argmax(dim=-1, keepdim=True)


def _padding(config: GenerationConfig) -> int | None:
    """The token after the end of a row: as in `generate`, the end itself where there is no token for padding."""
    ends = config.eos_token_id
    first: int | None = ends[0] if isinstance(ends, list) else ends
    return first if config.pad_token_id is None else int(config.pad_token_id)


def _joint_cache(model: PreTrainedModel, grounded: Prompt, ungrounded: Prompt) -> PromptCache:
    """A cache of both prompts, each row once, although `generate` repeats grounded rows for several sequences."""
    rows = rows_for(ungrounded, len(grounded.ids))
    require_one_each((grounded.ids[1:] != grounded.ids[:-1]).any(dim=1), ungrounded, rows)
    one_each = torch.arange(0, len(rows), len(rows) // len(ungrounded.ids), device=grounded.ids.device)
    return PromptCache(model, grounded.select(one_each), ungrounded)


def _require_supported(
    model: PreTrainedModel, config: GenerationConfig, model_kwargs: dict[str, Any], synced_gpus: bool
) -> None:
    """Raise InputError or ModelError for a request that a joint pass cannot serve."""
    instead = ": use PMILogitsProcessor"
    if model.config.is_encoder_decoder:
        raise InputError("PMIDecoding is for decoder-only models" + instead)
    if not takes(model, "past_key_values") or not can_be_joined(model):
        raise ModelError("PMIDecoding needs a key-value cache that keeps every token in all layers" + instead)
    if (config.num_beams or 1) > 1:
        raise InputError(f"PMIDecoding has no beam search, num_beams is {config.num_beams}" + instead)
    if synced_gpus or config.output_attentions or config.output_hidden_states:
        raise InputError("PMIDecoding gives no attentions or hidden states and syncs no GPUs" + instead)
    cache = model_kwargs.get("past_key_values")
    if cache is not None and cache.get_seq_length() > 0:
        raise InputError("PMIDecoding starts from tokens: pass no filled past_key_values")
    unknown = sorted(name for name, value in model_kwargs.items() if name not in _KNOWN and value is not None)
    if unknown:
        raise InputError(f"PMIDecoding cannot hand on {unknown}" + instead)
