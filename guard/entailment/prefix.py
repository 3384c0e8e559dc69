"""Entailment by an encoder that reads the premise first: its states are computed once and serve every claim.

Premise tokens see each other; a claim's tokens see the premise and the claim (the prefix mask of UniLM and T5).
So a premise costs its tokens once, whatever number of claims is asked about it, and a claim costs only its own.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import MPNetForSequenceClassification, PreTrainedTokenizerBase

from groundrail.entailment import pretrained
from groundrail.entailment.base import FloatArray, NLIModel, Pair

States: TypeAlias = list[tuple[Tensor, Tensor]]
"""Keys and values of every layer, each (heads, tokens, head size)."""

_FIRST = 2
"""MPNet counts positions from its padding index plus one."""


def read(
    model: Any, ids: Tensor, positions: Tensor, visible: Tensor, past: States | None = None
) -> tuple[Tensor, States]:
    """Hidden states of tokens that see `visible` others, (tokens, hidden), and their keys and values.

    ids, positions: (tokens,). visible: (tokens, past tokens + tokens), True where a token is seen; `past` are the
    states of earlier tokens, whose positions are 0, 1, 2, ...
    """
    mpnet = model.mpnet
    embeddings, encoder = mpnet.embeddings, mpnet.encoder
    x = embeddings.LayerNorm(embeddings.word_embeddings(ids) + embeddings.position_embeddings(positions + _FIRST))
    before = torch.arange(past[0][0].shape[1], device=ids.device) if past else positions[:0]
    distance = torch.cat([before, positions])[None, :] - positions[:, None]
    bucket = encoder.relative_position_bucket(distance, num_buckets=model.config.relative_attention_num_buckets)
    bias = encoder.relative_attention_bias(bucket).permute(2, 0, 1).detach()
    bias = bias.masked_fill(~visible, -torch.inf)
    states: States = []
    for number, layer in enumerate(encoder.layer):
        attention = layer.attention.attn
        query, key, value = (_heads(each(x), attention) for each in (attention.q, attention.k, attention.v))
        states.append((key, value))
        if past:
            key, value = (torch.cat([old, new], dim=1) for old, new in zip(past[number], (key, value), strict=True))
        mixed = F.scaled_dot_product_attention(
            query[None], key[None], value[None], attn_mask=bias.to(query.dtype)[None]
        )[0]
        x = layer.attention.LayerNorm(attention.o(mixed.transpose(0, 1).flatten(1)) + x)
        x = layer.output(layer.intermediate(x), x)
    return x, states


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
        names = {str(name).lower(): index for index, name in model.config.id2label.items()}
        self._order = [names[name] for name in ("entailment", "neutral", "contradiction")]

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
        kept = self._cache.get(premise)
        if kept is None:
            ids = self._encoded(premise)
            _refuse_long(len(ids) + longest, self.max_tokens + 4)
            every = torch.ones(len(ids), len(ids), dtype=torch.bool, device=self.model.device)
            _, states = read(self.model, *self._placed(ids, 0), every)
            kept = self._cache[premise] = _Kept(states, len(ids))
            size = sum(key.nbytes + value.nbytes for key, value in states)
            while len(self._cache) > max(1, self.cache_bytes // size):
                self._cache.popitem(last=False)
        _refuse_long(kept.length + longest, self.max_tokens + 4)
        self._cache.move_to_end(premise)
        return kept

    def _claims(self, kept: _Kept, claims: Sequence[list[int]]) -> FloatArray:
        """All claims in one pass, side by side: none sees another."""
        ids = [token for claim in claims for token in claim]
        positions = [kept.length + place for claim in claims for place in range(len(claim))]
        owner = torch.tensor([number for number, claim in enumerate(claims) for _ in claim], device=self.model.device)
        premise = torch.ones(len(ids), kept.length, dtype=torch.bool, device=self.model.device)
        visible = torch.cat([premise, owner[:, None] == owner[None, :]], dim=1)
        at = self.model.device
        x, _ = read(self.model, torch.tensor(ids, device=at), torch.tensor(positions, device=at), visible, kept.states)
        starts = np.cumsum([0, *(len(claim) for claim in claims[:-1])])
        logits = classified(self.model, x[torch.from_numpy(starts)]).float() / self.temperature
        return torch.softmax(logits, dim=-1)[:, self._order].double().cpu().numpy()  # type: ignore[no-any-return]

    def _placed(self, ids: list[int], start: int) -> tuple[Tensor, Tensor]:
        at = self.model.device
        return torch.tensor(ids, device=at), torch.arange(start, start + len(ids), device=at)


def _refuse_long(tokens: int, limit: int) -> None:
    if tokens > limit:
        from groundrail.errors import InputError

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
