"""Entailment by an encoder that reads the premise first: its states are computed once and serve every claim.

Premise tokens see each other; a claim's tokens see the premise and the claim (the prefix mask of UniLM and T5).
So a premise costs its tokens once, whatever number of claims is asked about it, and a claim costs only its own.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import MPNetForSequenceClassification, PreTrainedTokenizerBase

from groundrail.entailment import pretrained
from groundrail.entailment.base import FloatArray, NLIModel, Pair
from groundrail.errors import InputError

States: TypeAlias = list[tuple[Tensor, Tensor]]
"""Keys and values of every layer, each (heads, tokens, head size)."""

_BLOCK = 128
"""Claims' tokens that attend together: few enough that little is computed only to be masked."""

_FIRST = 2
"""MPNet counts positions from its padding index plus one."""


@dataclass(frozen=True, slots=True)
class Block:
    """Queries that are read together: tokens `start` to `end`, the numbers of the tokens they may see (earlier ones
    first), and which of these each does see, (queries, keys)."""

    start: int
    end: int
    keys: Tensor
    visible: Tensor


def read(
    model: Any, ids: Tensor, positions: Tensor, blocks: Sequence[Block], past: States | None = None
) -> tuple[Tensor, States]:
    """Hidden states of tokens, (tokens, hidden), and their keys and values.

    ids, positions: (tokens,). blocks: all tokens as queries, in order. `past` are the states of earlier tokens, whose
    positions are 0, 1, 2, ...; keys are numbered from the first of these.
    """
    mpnet = model.mpnet
    embeddings, encoder = mpnet.embeddings, mpnet.encoder
    x = embeddings.LayerNorm(embeddings.word_embeddings(ids) + embeddings.position_embeddings(positions + _FIRST))
    before = torch.arange(past[0][0].shape[1], device=ids.device) if past else positions[:0]
    places = torch.cat([before, positions])
    blocks = [replace(b, keys=b.keys.to(ids.device), visible=b.visible.to(ids.device)) for b in blocks]
    biases = [_bias(encoder, positions[b.start : b.end], places[b.keys], b.visible) for b in blocks]
    states: States = []
    for number, layer in enumerate(encoder.layer):
        attention = layer.attention.attn
        query, key, value = (_heads(each(x), attention) for each in (attention.q, attention.k, attention.v))
        states.append((key, value))
        if past:
            key, value = (torch.cat([old, new], dim=1) for old, new in zip(past[number], (key, value), strict=True))
        mixed = [
            F.scaled_dot_product_attention(
                query[None, :, block.start : block.end],
                key[None, :, block.keys],
                value[None, :, block.keys],
                attn_mask=bias.to(query.dtype)[None],
            )[0]
            for block, bias in zip(blocks, biases, strict=True)
        ]
        x = layer.attention.LayerNorm(attention.o(torch.cat(mixed, dim=1).transpose(0, 1).flatten(1)) + x)
        x = layer.output(layer.intermediate(x), x)
    return x, states


def _bias(encoder: Any, queries: Tensor, keys: Tensor, visible: Tensor) -> Tensor:
    """MPNet's relative position bias with what is not seen ruled out, (heads, queries, keys)."""
    buckets = encoder.relative_attention_bias.num_embeddings
    bucket = encoder.relative_position_bucket(keys[None, :] - queries[:, None], num_buckets=buckets)
    bias: Tensor = encoder.relative_attention_bias(bucket).permute(2, 0, 1).detach()
    return bias.masked_fill(~visible, -torch.inf)


def premise_block(length: int) -> Block:
    """Every token of a premise sees every other."""
    return Block(0, length, torch.arange(length), torch.ones(length, length, dtype=torch.bool))


def claim_blocks(premise: Tensor, first: int, lengths: Sequence[int]) -> Iterator[Block]:
    """Claims side by side from token `first`, some to a block: each sees the premise and itself.

    premise: the numbers of the premise's tokens.
    """
    start, claims = first, list(lengths)
    while claims:
        group = [claims.pop(0)]
        while claims and sum(group) + claims[0] <= _BLOCK:
            group.append(claims.pop(0))
        end = start + sum(group)
        owner = torch.repeat_interleave(torch.arange(len(group)), torch.tensor(group))
        seen = torch.ones(len(owner), len(premise), dtype=torch.bool)
        yield Block(
            start,
            end,
            torch.cat([premise, torch.arange(start, end)]),
            torch.cat([seen, owner[:, None] == owner], dim=1),
        )
        start = end


def classified(model: Any, first: Tensor) -> Tensor:
    """Logits from the state of each claim's first token, (claims, classes)."""
    return model.classifier(first[:, None])  # type: ignore[no-any-return]


def _heads(x: Tensor, attention: Any) -> Tensor:
    return x.view(len(x), attention.num_attention_heads, attention.attention_head_size).transpose(0, 1)


@dataclass(frozen=True, slots=True)
class _Kept:
    states: States
    length: int


class PrefixEntailment(NLIModel):
    """P(premise entails claim), three-way, from an MPNet classifier trained with the prefix mask.

    A premise is read as `<s> premise </s>`, then each claim as `<s> claim </s>` at the positions after it. The
    states of the premises read last are kept, up to `cache_bytes`. `temperature` divides the logits.
    """

    def __init__(
        self,
        model: MPNetForSequenceClassification,
        tokenizer: PreTrainedTokenizerBase,
        *,
        temperature: float = 1.0,
        threshold: float = 0.5,
        chunk_tokens: int | None = None,
        cache_bytes: int = 256 * 2**20,
        batch_tokens: int = 2048,
    ) -> None:
        self.model = model.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = pretrained.require_fast(tokenizer)
        self.temperature, self.threshold, self.chunk_tokens = temperature, threshold, chunk_tokens
        self.cache_bytes, self.batch_tokens = cache_bytes, batch_tokens
        self.max_tokens = int(model.config.max_position_embeddings) - _FIRST - 4
        self._cache: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        names = {str(name).lower(): index for index, name in (model.config.id2label or {}).items()}
        self._order: list[int] = [int(names[name]) for name in ("entailment", "neutral", "contradiction")]

    @property
    def identity(self) -> str:
        """The model's name, or what its config calls it."""
        return pretrained.identity(self.model)

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span of every token of `text`, in order."""
        return pretrained.offsets(self.tokenizer, text)

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim) for each `(premise, claim)`, shape (n,). Raises as `classify`."""
        return self.classify(pairs)[:, 0]

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Probabilities of entailment, neutral, contradiction, in this order, shape (n, 3).

        Raises: InputError for a pair that does not fit, ClaimTooLongError where that is the claim's doing.
        """
        pretrained.refuse_long_claims(self.tokenizer, pairs, self.max_tokens)
        by_premise: dict[str, list[int]] = {}
        for index, (premise, _) in enumerate(pairs):
            by_premise.setdefault(premise, []).append(index)
        results = np.empty((len(pairs), 3))
        claims = {claim: self._encoded(claim) for claim in dict.fromkeys(claim for _, claim in pairs)}
        with torch.inference_mode():
            for premise, indices in by_premise.items():
                kept = self._premise(premise, max(len(claims[pairs[i][1]]) for i in indices))
                for batch in _batched(indices, [len(claims[pairs[i][1]]) for i in indices], self.batch_tokens):
                    results[batch] = self._claims(kept, [claims[pairs[i][1]] for i in batch])
        return results

    def _encoded(self, text: str) -> list[int]:
        """`<s> text </s>` as token ids."""
        ids: list[int] = self.tokenizer(text, truncation=False, verbose=False)["input_ids"]
        return ids

    def _premise(self, premise: str, longest: int) -> _Kept:
        """The states of a premise beside which a claim of `longest` tokens fits, read now or before."""
        with self._lock:
            return self._kept(premise, longest)

    def _kept(self, premise: str, longest: int) -> _Kept:
        kept = self._cache.get(premise)
        if kept is None:
            ids = self._encoded(premise)
            _refuse_long(len(ids) + longest, self.max_tokens + 4)
            at = self.model.device
            tokens = torch.tensor(ids, device=at)
            _, states = read(self.model, tokens, torch.arange(len(ids), device=at), [premise_block(len(ids))])
            kept = self._cache[premise] = _Kept(states, len(ids))
            size = sum(key.nbytes + value.nbytes for key, value in states)
            while len(self._cache) > max(1, self.cache_bytes // size):
                self._cache.popitem(last=False)
        _refuse_long(kept.length + longest, self.max_tokens + 4)
        self._cache.move_to_end(premise)
        return kept

    def _claims(self, kept: _Kept, claims: Sequence[list[int]]) -> FloatArray:
        """All claims in one pass, side by side: none sees another."""
        at = self.model.device
        ids = torch.tensor([token for claim in claims for token in claim], device=at)
        positions = torch.tensor([kept.length + place for claim in claims for place in range(len(claim))], device=at)
        blocks = claim_blocks(torch.arange(kept.length), kept.length, [len(claim) for claim in claims])
        queries = [replace(b, start=b.start - kept.length, end=b.end - kept.length) for b in blocks]
        x, _ = read(self.model, ids, positions, queries, kept.states)
        starts = np.cumsum([0, *(len(claim) for claim in claims[:-1])])
        logits = classified(self.model, x[torch.from_numpy(starts)]).float() / self.temperature
        probabilities: FloatArray = torch.softmax(logits, dim=-1)[:, self._order].double().cpu().numpy()
        return probabilities


def _refuse_long(tokens: int, limit: int) -> None:
    if tokens > limit:
        raise InputError(
            f"premise and claim have {tokens} tokens, and the model reads {limit}; cut the premise into chunks, as "
            f"groundrail.scoring does"
        )


def _batched(indices: Sequence[int], lengths: Sequence[int], most: int) -> list[list[int]]:
    """Runs of indices of at most `most` tokens each, at least one index."""
    batches: list[list[int]] = [[]]
    tokens = 0
    for index, length in zip(indices, lengths, strict=True):
        if batches[-1] and tokens + length > most:
            batches.append([])
            tokens = 0
        batches[-1].append(index)
        tokens += length
    return batches
