"""Grounding gain: how much more likely a claim becomes once the model has read the source.

The mean over the claim's tokens of log P(t | source, tokens so far) - log P(t | tokens so far), West et al.
(ACL 2022), section 3.3.2, as a score of any text. Needs only the language model that generates. It is a
log-ratio in nats, not a probability: above 0 where the source helps, unbounded on both sides. Steering by
the same number is `groundrail.decoding`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from groundrail.entailment.base import JudgeFacts
from groundrail.errors import ClaimTooLongError, InputError, ModelError
from groundrail.runtime.locks import one_at_a_time
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerFacts
from groundrail.types import Citation, Document, Source, Span, as_documents

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_Tokens: TypeAlias = tuple[Document, list[tuple[int, int]]]
"""A document and where its tokens are."""

_SLACK = 8
"""Tokens by which a chunk, tokenized apart from what surrounds it, may come out longer than counted."""


class GainScorer(Scorer):
    """Scores claims by grounding gain under a causal language model.

    `model`: a decoder-only model with its `tokenizer` (a fast one), or a hub id or folder for both. `chunk_tokens`:
    most tokens of source read at once; by default all that fits beside the longest claim. A longer document
    is read in chunks and the best one counts; nothing is cut off. `separator` stands between source and
    claim, and before the claim alone. The citation is the chunk. `threshold` is the gain from which a claim
    counts as supported: it depends on the model, calibrate it. A claim is read with the blanks that it has: a target of
    factual ablation begins with one, so its separator is empty.

    `reduce`: "mean" is nats a token, so that long and short claims compare; "sum" is the whole claim's log-ratio, of
    which the difference between two sources is factual ablation's (West et al., section 3.2).

    Raises: InputError for another `reduce`, or without a fast tokenizer; ModelError for a model with an encoder.
    """

    def __init__(
        self,
        model: PreTrainedModel | str,
        tokenizer: Any = None,
        *,
        chunk_tokens: int | None = None,
        separator: str = "\n\n",
        threshold: float = 0.5,
        reduce: Literal["mean", "sum"] = "mean",
    ) -> None:
        if reduce not in ("mean", "sum"):
            raise InputError(f"tokens are joined by 'mean' or 'sum', not {reduce!r}")
        loaded, tokenizer = _loaded(model, tokenizer) if isinstance(model, str) else (model, tokenizer)
        if tokenizer is None or not getattr(tokenizer, "is_fast", False):
            raise InputError("GainScorer needs the model's fast tokenizer: pass it beside the model")
        if loaded.config.is_encoder_decoder:
            raise ModelError("GainScorer needs a decoder-only model, this one has an encoder")
        if chunk_tokens is not None and chunk_tokens < 1:
            raise InputError(f"chunk_tokens is {chunk_tokens}: it must be at least 1")
        self.model = loaded
        self.tokenizer = tokenizer
        self.chunk_tokens = chunk_tokens
        self.threshold = threshold
        self.reduce = reduce
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        if start is None:
            raise ModelError("GainScorer needs a tokenizer with a beginning- or end-of-sequence token")
        self._start = [int(start)]
        self._separator = self._encode(separator)

    @property
    def facts(self) -> ScorerFacts:
        """The class, its threshold and its model."""
        from groundrail.decoding.prompts import context_limit

        limit = context_limit(self.model) or sys.maxsize
        judge = JudgeFacts(self.model.config.name_or_path or "", limit, self.threshold, weights=self.model)
        return ScorerFacts(type(self).__name__, self.threshold, judges=(judge,))

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype = "auto",
        hub: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Load by hub id or folder; `hub` goes to transformers (`revision`, ...), `settings` to the constructor.

        Raises: ModelError where there is no causal language model by that name; InputError for `trust_remote_code`.
        """
        return cls(*_loaded(name_or_path, None, device, dtype, hub), **settings)

    def read(self, source: Source) -> Reader:
        """Tokenize every document, to be cut into chunks that fit beside the claims."""
        return Prepared(self._score, [(document, self._spans(document.text)) for document in as_documents(source)])

    def _score(self, claims: Sequence[str], documents: Sequence[_Tokens]) -> list[Score]:
        """One `Score` a claim, in nats, a token's or all tokens'; NaN for a blank claim or where there is no source.

        Raises `ClaimTooLongError` if a claim leaves no room for a source in the model's context.
        """
        tokens = [self._encode(claim) if claim.strip() else [] for claim in claims]
        scored = [index for index, row in enumerate(tokens) if row]
        best = [Score(math.nan) for _ in claims]
        if not scored:
            return best
        rows = [tokens[index] for index in scored]
        size = self._room(max(map(len, rows)))
        alone: list[Tensor] | None = None
        for document, spans in documents:
            for start, end in _chunks(document, spans, size):
                alone = alone or self._log_probs("", rows)
                beside = self._log_probs(document.text[start:end], rows)
                for index, grounded, ungrounded in zip(scored, beside, alone, strict=True):
                    gains = grounded - ungrounded
                    gain = float(gains.mean() if self.reduce == "mean" else gains.sum())
                    if not best[index].value >= gain:
                        best[index] = Score(gain, (_citation(document, start, end, gain),))
        return best

    def _log_probs(self, source: str, claims: Sequence[Sequence[int]]) -> list[Tensor]:
        """log P of every token of every claim after `source`."""
        from groundrail.decoding.likelihood import continuation_log_probs

        context = [*self._start, *self._encode(source), *self._separator]
        found = zip(claims, continuation_log_probs(self.model, context, claims), strict=True)
        return [log_p[range(len(claim)), list(claim)] for claim, log_p in found]

    def _room(self, longest_claim: int) -> int | None:
        """Tokens of source that fit beside the longest claim; `None` where nothing limits them."""
        from groundrail.decoding.prompts import context_limit

        limit = context_limit(self.model)
        if limit is None:
            return self.chunk_tokens
        room = limit - longest_claim - len(self._start) - len(self._separator) - _SLACK
        if room < 1:
            raise ClaimTooLongError(
                f"a claim of {longest_claim} tokens leaves no room for a source in a context of {limit}: "
                "split the claim into sentences"
            )
        return room if self.chunk_tokens is None else min(room, self.chunk_tokens)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        offsets = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        return [(start, end) for start, end in offsets if end > start]

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


@one_at_a_time
def _loaded(
    name_or_path: str,
    tokenizer: PreTrainedTokenizerBase | None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype = "auto",
    hub: Mapping[str, Any] | None = None,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    from transformers import AutoModelForCausalLM

    from groundrail.runtime.hub import load_pretrained

    return load_pretrained(
        AutoModelForCausalLM, name_or_path, device=device, dtype=dtype, hub=hub or {}, tokenizer=tokenizer
    )


def _citation(document: Document, start: int, end: int, gain: float) -> Citation:
    """The chunk without white space at its ends."""
    start, end = Span.trimmed(document.text, start, end)
    return document.cite(start, end, gain)


def _chunks(document: Document, spans: Sequence[tuple[int, int]], size: int | None) -> Iterator[tuple[int, int]]:
    """Character spans of at most `size` tokens that together hold all words of the document.

    A chunk ends with a sentence where one ends in its second half.
    """
    from groundrail.text.sentences import split

    ends = {Span.trimmed(document.text, part.start, part.end)[1] for part in split(document.text)}
    first = 0
    while first < len(spans):
        last = len(spans) if size is None else min(first + size, len(spans))
        if last < len(spans):
            whole = [k + 1 for k in range((first + last) // 2, last) if spans[k][1] in ends]
            last = whole[-1] if whole else last
        if document.text[spans[first][0] : spans[last - 1][1]].strip():
            yield spans[first][0], spans[last - 1][1]
        first = last
