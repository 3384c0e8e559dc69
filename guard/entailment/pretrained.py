"""What entailment asks of any Hugging Face model and tokenizer: tokens, offsets, limits.

Loading them is `groundrail.runtime.hub`. Which head a model needs, and what its outputs mean, belongs to the
classes that use it.
"""

from collections.abc import Sequence
from functools import partial

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from groundrail.entailment.base import JudgeFacts, Pair
from groundrail.entailment.batching import Encoding
from groundrail.errors import ClaimTooLongError, InputError, ModelError

SEAMS = 8
"""Tokens kept free because premise and claim may tokenize a little longer inside a prompt than alone."""

_UNLIMITED = 1_000_000
"""Tokenizers that know no limit say a number far above this."""


def require_fast(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """Raises: ModelError for a tokenizer that cannot say where in the text its tokens are."""
    if not tokenizer.is_fast:
        raise ModelError(
            f"{type(tokenizer).__name__} is a slow tokenizer and knows no character offsets; load it with "
            f"AutoTokenizer, or convert it to a fast one"
        )
    return tokenizer


def facts(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    max_tokens: int,
    threshold: float,
    english_only: bool = False,
) -> JudgeFacts:
    """The facts about a judge of this model. Its config may give `entailment_identity` (else the identity is the name or
    folder that it was loaded by, or its class), `entailment_chunk_tokens` and `entailment_english_only`."""
    config = model.config
    chunk_tokens = getattr(config, "entailment_chunk_tokens", None)
    english_only = english_only or bool(getattr(config, "entailment_english_only", False))
    name = str(getattr(config, "entailment_identity", None) or config.name_or_path or type(model).__name__)
    return JudgeFacts(name, max_tokens, threshold, chunk_tokens, english_only, partial(_unread, tokenizer), model)


def encode(
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str] | Sequence[Pair],
    limit: int,
    *,
    claim_mask: str | None = None,
) -> list[Encoding]:
    """Token ids and masks of texts or text pairs with special tokens, never cut.

    `claim_mask` names one more mask: 1 at the tokens of a pair's second text.

    Raises: InputError for one that has more than `limit` tokens.
    """
    found = tokenizer(list(texts), truncation=False, padding=False, verbose=False)
    encodings: list[Encoding] = [{name: values[index] for name, values in found.items()} for index in range(len(texts))]
    if claim_mask is not None:
        masks = [[int(text == 1) for text in found.sequence_ids(index)] for index in range(len(texts))]
        encodings = [{**encoding, claim_mask: mask} for encoding, mask in zip(encodings, masks, strict=True)]
    longest = max((len(encoding["input_ids"]) for encoding in encodings), default=0)
    if longest > limit:
        raise InputError(
            f"premise and claim have {longest} tokens with the prompt, and the model reads {limit}; cut the "
            f"premise into chunks, as groundrail.scoring does"
        )
    return encodings


def offsets(tokenizer: PreTrainedTokenizerBase, text: str) -> list[tuple[int, int]]:
    """Character span of every token of `text`, however long, without special tokens."""
    found = tokenizer(
        text,
        add_special_tokens=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
        return_token_type_ids=False,
        truncation=False,
        padding=False,
        verbose=False,
    )
    spans: list[tuple[int, int]] = found["offset_mapping"]
    return spans


def _unread(tokenizer: PreTrainedTokenizerBase, text: str) -> list[str]:
    """The words that the tokenizer gives its unknown token for."""
    if tokenizer.unk_token_id is None:
        return []
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False)
    spans = zip(found["input_ids"], found["offset_mapping"], strict=True)
    return [text[start:end] for token, (start, end) in spans if token == tokenizer.unk_token_id]


def refuse_long_claims(tokenizer: PreTrainedTokenizerBase, pairs: Sequence[Pair], max_tokens: int) -> None:
    """Raises: ClaimTooLongError for a claim that leaves no room for a premise."""
    for claim in dict.fromkeys(claim for _, claim in pairs):
        needed = len(offsets(tokenizer, claim))
        if needed >= max_tokens:
            raise ClaimTooLongError(
                f"a claim of {needed} tokens leaves no room for a premise in {max_tokens}; "
                f"split it into sentences: {claim[:80]!r}"
            )


def longest_input(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Tokens the model reads at once, special ones included; None where neither model nor tokenizer says.

    The least of the tokenizer's limit, the rows of absolute position embeddings (some models start counting
    after the padding index) and, where there are neither, `max_position_embeddings`.
    """
    limits = [
        module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
        for name, module in model.named_modules()
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding)
    ]
    if 0 < tokenizer.model_max_length < _UNLIMITED:
        limits.append(tokenizer.model_max_length)
    if not limits:
        limits.append(getattr(model.config, "max_position_embeddings", None) or 0)
    return min(limits) or None
