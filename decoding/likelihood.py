"""Next-token distributions along a given continuation, to score a text without generating.

The context is read once, and its cache serves all continuations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from groundrail.decoding.prompts import Prompt, TokenInputs, as_prompt, left_padded, positions, require_fit, takes
from groundrail.errors import InputError, ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BATCH = 8
"""Maximum number of continuations of a context that are scored together."""


@torch.no_grad()
def continuation_log_probs(
    model: PreTrainedModel, context: Sequence[int], continuations: Sequence[Sequence[int]]
) -> Iterator[Tensor]:
    """Yield log P(t | context, tokens so far) for each continuation: (tokens, vocabulary), float32.

    The tensors are large and therefore yielded one by one.

    Raises: InputError for an empty context or continuation; ModelError for a model with an encoder or without a cache;
        SourceTooLongError if a continuation does not fit the model behind the context.
    """
    if model.config.is_encoder_decoder:
        raise ModelError("texts are scored by decoder-only models, this one has an encoder")
    if not takes(model, "past_key_values"):
        raise ModelError("texts are scored by models with a key-value cache, this one has none")
    if not context or not all(continuations):
        raise InputError("context and continuations need at least one token each")
    longest = max(map(len, continuations), default=0)
    require_fit(model, len(context) + longest, "the context with its continuation")
    only_last: dict[str, Any] = {"logits_to_keep": 1} if takes(model, "logits_to_keep") else {}
    ids = torch.tensor([list(context)], device=model.device)
    prefix = model(input_ids=ids, use_cache=True, **only_last)
    first = prefix.logits[:, -1:].float()
    for start in range(0, len(continuations), BATCH):
        batch = [list(continuation) for continuation in continuations[start : start + BATCH]]
        cache = deepcopy(prefix.past_key_values)
        cache.batch_repeat_interleave(len(batch))
        width = max(map(len, batch))  # padded on the right, where no token attends to it
        rows = torch.tensor([[*row, *[0] * (width - len(row))] for row in batch], device=model.device)
        rest = model(input_ids=rows, past_key_values=cache, use_cache=True).logits.float()
        logits = torch.cat([first.expand(len(batch), 1, -1), rest], dim=1)
        for row, continuation in enumerate(batch):
            yield torch.log_softmax(logits[row, : len(continuation)], dim=-1)


@torch.no_grad()
def token_gains(
    model: PreTrainedModel,
    grounded: TokenInputs,
    ungrounded: TokenInputs,
    continuation: Tensor,
    *,
    ungrounded_model: PreTrainedModel | None = None,
) -> Tensor:
    """s_pmi of every token of `continuation` (rows, n) after its prompts, (rows, n) in nats; decoder-only models.

    The prompts are tokenizer outputs or ids, with a row for every row of `continuation`. For beams that were finished
    early, and for any other text.
    """
    estimator = model if ungrounded_model is None else ungrounded_model
    found = []
    for reader, inputs, name in ((model, grounded, "grounded"), (estimator, ungrounded, "ungrounded")):
        prompt = left_padded(as_prompt(inputs, f"the {name} prompt", reader.device))
        if len(prompt.ids) != len(continuation):
            raise InputError(f"the {name} prompt has {len(prompt.ids)} rows, the continuation {len(continuation)}")
        require_fit(reader, prompt.longest + continuation.shape[1], f"the {name} prompt with its continuation")
        found.append(_chosen_log_probs(reader, prompt, continuation.to(reader.device)).to(continuation.device))
    return found[0] - found[1]


def _chosen_log_probs(model: PreTrainedModel, prompt: Prompt, continuation: Tensor) -> Tensor:
    whole = prompt.followed_by(continuation)
    arguments: dict[str, Any] = {"position_ids": positions(whole.mask)} if takes(model, "position_ids") else {}
    output = model(input_ids=whole.ids, attention_mask=whole.mask, use_cache=False, **arguments)
    log_p = torch.log_softmax(output.logits[:, -continuation.shape[1] - 1 : -1].float(), dim=-1)
    return log_p.gather(2, continuation[:, :, None]).squeeze(2)
