"""Logits processors that steer `generate` toward the source: PMI-addition and PMI-interpolation.

West et al. (ACL 2022), section 3.3.2. The processors are exact under greedy search, sampling, beams, several returned
sequences, padded batches, encoder-decoder models and assisted decoding. `groundrail.decoding.steering` has the equations;
`groundrail.decoding.joint` runs both contexts in one forward pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor
from transformers.generation.logits_process import LogitsProcessor

from groundrail.decoding.prompt_cache import PromptCache
from groundrail.decoding.prompts import TokenInputs, as_prompt, require_fit, require_one_each, require_same_vocabulary
from groundrail.decoding.steering import PMI, Steering, combine
from groundrail.errors import InputError, ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


_SAME_PROMPT = 1e-2
"""Maximum difference in nats between the first distributions of two rows with the same encoder prompt."""


class PMILogitsProcessor(LogitsProcessor):
    """Steers by any `Steering`: `PMI`, `CAD` or `AdaCAD`; the two methods of the paper below are this with their own arguments.

    `model`: the one that generates. `ungrounded`: the prompt without its source, a tokenizer's output or
    ids, one row for every grounded prompt; for an encoder-decoder model the encoder's input.
    `ungrounded_model`: another estimate of P(t | context) over the same vocabulary. `renormalize=False`
    returns scores without the final softmax. Raises `ModelError` if the vocabularies differ and
    `SourceTooLongError` if the prompt does not fit.

    A processor sees token rows and nothing else, so the rows of the first call are the prompt. Rows that extend a
    remembered row by one token continue it, also in a new `generate` call. Any other rows are a new prompt, unless they
    extend the old prompt: that could mean either, and is an `InputError` which asks for `prompt_length` (tokens, padding
    included, after which every answer starts) or for `reset()` before the call.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        model: PreTrainedModel,
        ungrounded: TokenInputs,
        steering: Steering,
        *,
        renormalize: bool = True,
        ungrounded_model: PreTrainedModel | None = None,
        prompt_length: int | None = None,
    ) -> None:
        estimator = model if ungrounded_model is None else ungrounded_model
        require_same_vocabulary(model, estimator)
        if prompt_length is not None and prompt_length < 1:
            raise InputError(f"prompt_length is {prompt_length}: it must be at least 1")
        self.model, self.steering, self.renormalize = model, steering, renormalize
        self._context = PromptCache(estimator, as_prompt(ungrounded, "the ungrounded prompt", estimator.device))
        self._fixed_start = prompt_length
        self.reset()

    def reset(self) -> None:
        """Forget the current generation: the next call begins with a new prompt."""
        self._context.reset()
        self._prompt: Tensor | None = None
        self._rows: Tensor | None = None
        self._last: tuple[Tensor, Tensor] | None = None
        self._gains: Tensor | None = None

    @property
    def gains(self) -> Tensor:
        """s_pmi of the tokens chosen so far, (rows, tokens seen) in nats, in the row order of the last call.

        A processor is called before a token is chosen, so the last one is missing: see `gains_of`. P_g is the
        distribution as it reaches this processor, after those that come before it. `InputError` before the first call,
        and after assisted decoding, which takes tokens back.
        """
        if self._gains is None:
            raise InputError("no gains: nothing was generated yet, or assisted decoding took tokens back")
        return self._gains

    def gains_of(self, sequences: Tensor) -> Tensor:
        """s_pmi of every token that `generate` returned, (sequences, new tokens) in nats; padding's means nothing.

        `InputError` for a beam that was finished before the last step, whose last token no processor sees;
        `groundrail.decoding.token_gains` computes it from the text.
        """
        gains = self.gains
        if self._rows is None or self._last is None or sequences.shape[1] != self._rows.shape[1] + 1:
            raise InputError(
                f"sequences have {sequences.shape[1]} tokens but the last step saw "
                f"{0 if self._rows is None else self._rows.shape[1]}: compute the gains with token_gains"
            )
        parents = self._parents(sequences)
        if parents is None:
            raise InputError("a sequence left the beams before the last step: use token_gains")
        return torch.cat([gains[parents], self._gain_of(parents, sequences)], dim=1)

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Steered log-probabilities (rows, vocabulary) of the token after `input_ids` (rows, length)."""
        rows = input_ids.clone()
        log_p_grounded = torch.log_softmax(scores.float(), dim=-1)
        start = self._follow(rows, log_p_grounded)
        continuation = rows if self._context.is_encoder_decoder else rows[:, start:]
        log_p_ungrounded = torch.log_softmax(self._context.next_logits(continuation)[0], dim=-1).to(scores.device)
        if log_p_grounded.shape[-1] != log_p_ungrounded.shape[-1]:
            raise ModelError(
                f"the ungrounded model scores {log_p_ungrounded.shape[-1]} tokens, the generating one "
                f"{log_p_grounded.shape[-1]}: both need the same vocabulary"
            )
        self._rows, self._last = rows, (log_p_grounded, log_p_ungrounded)
        return combine(log_p_grounded, log_p_ungrounded, self.steering, renormalize=self.renormalize)

    def _follow(self, input_ids: Tensor, log_p: Tensor) -> int:
        """Decide whether the rows continue the last prompt or are a new prompt; return the prompt's token count."""
        parents = self._parents(input_ids)
        if parents is not None and self._prompt is not None and self._rows is not None:
            kept, self._gains = self._gains, None
            if kept is not None and input_ids.shape[1] == self._rows.shape[1] + 1:
                self._gains = torch.cat([kept[parents], self._gain_of(parents, input_ids)], dim=1)
            return self._prompt.shape[1]
        start = input_ids.shape[1] if self._fixed_start is None else self._fixed_start
        if input_ids.shape[1] < start:
            raise InputError(f"prompt_length is {start} but the rows have {input_ids.shape[1]} tokens")
        if self._fixed_start is None:
            self._require_new(input_ids)
        self.reset()
        self._begin(input_ids[:, :start], log_p)
        answered = input_ids.shape[1] - start
        self._gains = None if answered else input_ids.new_zeros(input_ids.shape[0], 0, dtype=torch.float32)
        return start

    def _begin(self, prompt: Tensor, log_p: Tensor) -> None:
        """Remember the prompt; `InputError` unless every ungrounded row has one grounded prompt of its own.

        Encoder prompts are not seen here, but different ones show in the first step's distribution.
        """
        if self._context.is_encoder_decoder:
            changes = ((log_p[1:] - log_p[:-1]).nan_to_num().abs() > _SAME_PROMPT).any(dim=1)
        else:
            require_fit(self.model, _certain_tokens(prompt), "the grounded prompt")
            changes = (prompt[1:] != prompt[:-1]).any(dim=1)
        rows = self._context.rows_of(prompt.shape[0])
        require_one_each(changes, self._context.prompts[0], rows)
        self._prompt = prompt

    def _require_new(self, input_ids: Tensor) -> None:
        """Raise `InputError` for rows that extend the remembered prompts, and so could be their answer."""
        if self._prompt is None or self._context.is_encoder_decoder:
            return
        width = self._prompt.shape[1]
        if input_ids.shape[1] > width and torch.equal(input_ids[:, :width], self._prompt):
            raise InputError(
                f"rows of {input_ids.shape[1]} tokens extend the last prompt of {width} by more than one step: call "
                "reset() if this is a new prompt, or give prompt_length if it is the old one with more of its answer"
            )

    def _parents(self, input_ids: Tensor) -> Tensor | None:
        """For each row a remembered one it shares all but its last token with, if all have one."""
        if self._rows is None or self._prompt is None or input_ids.shape[0] % self._context.batch_size:
            return None
        length = input_ids.shape[1]
        if not self._prompt.shape[1] < length <= self._rows.shape[1] + 1:
            return None
        group = self._context.rows_of(input_ids.shape[0]).to(input_ids.device)
        remembered = self._context.rows_of(self._rows.shape[0]).to(input_ids.device)
        same = (input_ids[:, None, : length - 1] == self._rows[None, :, : length - 1]).all(dim=2)
        found, parents = (same & (group[:, None] == remembered[None])).int().max(dim=1)
        return parents if bool(found.all()) else None

    def _gain_of(self, parents: Tensor, rows: Tensor) -> Tensor:
        """s_pmi of the last token of `rows`, (rows, 1), which were chosen after the last call."""
        if self._last is None:
            raise InputError("no gains: nothing was generated yet")
        grounded, ungrounded = self._last
        chosen = rows[:, -1:]
        return grounded[parents].gather(1, chosen) - ungrounded[parents].gather(1, chosen)


def _certain_tokens(prompt: Tensor) -> int:
    """Minimum number of tokens of the longest row, because equal tokens at the start may all be padding."""
    leading = (prompt == prompt[:, :1]).int().cumprod(dim=1).sum(dim=1)
    return int((prompt.shape[1] - leading).max()) + 1


class _OneStrength(PMILogitsProcessor):
    """Steering by one strength `alpha` throughout, as both methods of the paper have it."""

    method: ClassVar[Literal["addition", "interpolation"]]

    def __init__(
        self,
        model: PreTrainedModel,
        ungrounded: TokenInputs,
        alpha: float,
        *,
        floor: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, ungrounded, PMI(alpha, self.method, floor), **options)


class PMIAdditionLogitsProcessor(_OneStrength):
    """Equation 6: softmax(log P_g + alpha * s_pmi), alpha in [0, 1] in the paper, any from 0 here.

    Other arguments: see `PMILogitsProcessor`.

    With `floor` off, the default, a large alpha promotes tokens that are rare in both contexts.
    """

    method = "addition"


class PMIInterpolationLogitsProcessor(_OneStrength):
    """Equation 5: softmax((1 - alpha) * log P_g + alpha * s_pmi), 0 <= alpha <= 1.

    Other arguments: see `PMILogitsProcessor`.
    """

    method = "interpolation"
