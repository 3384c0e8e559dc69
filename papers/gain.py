"""Grounding gain: how much likelier a claim becomes for a language model that has read the source.

It is the mean over the claim's tokens of log P(t | source, tokens so far) - log P(t | tokens so far), West et al. (ACL
2022), section 3.3.2, used as a score of any text. The language model that writes the answer can compute it. The gain is
a log-ratio in nats and no probability: it is above 0 if the source helps, and has no bounds. `groundrail.decoding`
steers a model by the same number.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from groundrail.entailment.base import JudgeMetadata
from groundrail.errors import ClaimTooLongError, InputError, ModelError
from groundrail.papers.pretrained import Pretrained, load_model
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerMetadata
from groundrail.types import Document, Source, Span, as_documents

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

_Tokens: TypeAlias = tuple[Document, list[tuple[int, int]]]
"""A document and the character spans of its tokens."""

_SLACK = 8
"""Maximum number of tokens that a chunk may grow when it is tokenized without the surrounding text."""


class GainScorer(Pretrained, Scorer):
    """Score claims by their grounding gain under a causal language model.

        Guard(scorer=GainScorer("HuggingFaceTB/SmolLM2-135M-Instruct", threshold=0.8))

    A document that does not fit is read in chunks, and the best chunk counts and is cited; nothing is cut off.

    Args:
        model: A decoder-only model with its fast `tokenizer`, or a hub id or folder for both.
        chunk_tokens: Maximum number of source tokens that are read at once; None fills the room beside the longest
            claim.
        separator: Text between source and claim, and before the claim alone. Blanks at the start of a claim are kept:
            the targets of factual ablation begin with a blank and need an empty separator.
        threshold: The gain from which a claim counts as supported. It depends on the model: calibrate it.
        reduce: "mean": nats for each token, comparable for long and short claims. "sum": the log-ratio of the whole
            claim; its difference between two sources is the measure of factual ablation (West et al., section 3.2).

    Raises: InputError for another `reduce`, or without a fast tokenizer; ModelError for a model with an encoder.
    """

    auto_class, default_dtype = "AutoModelForCausalLM", "auto"

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
        from groundrail.decoding.prompts import context_limit

        if isinstance(model, str):
            model, tokenizer = load_model(self.auto_class, model, tokenizer=tokenizer, dtype=self.default_dtype)
        if tokenizer is None or not getattr(tokenizer, "is_fast", False):
            raise InputError("GainScorer needs the model's fast tokenizer: pass it beside the model")
        if model.config.is_encoder_decoder:
            raise ModelError("GainScorer needs a decoder-only model, this one has an encoder")
        if chunk_tokens is not None and chunk_tokens < 1:
            raise InputError(f"chunk_tokens is {chunk_tokens}: it must be at least 1")
        super().__init__(model, tokenizer)
        self.chunk_tokens, self.threshold, self.reduce = chunk_tokens, threshold, reduce
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        if start is None:
            raise ModelError("GainScorer needs a tokenizer with a beginning- or end-of-sequence token")
        self._start, self._limit = [int(start)], context_limit(model)
        self._separator = self._encode(separator)

    @property
    def metadata(self) -> ScorerMetadata:
        """The identity of the class with its model, and the threshold."""
        name, limit = self.model.config.name_or_path or "", self._limit or sys.maxsize
        judge = JudgeMetadata(name, limit, self.threshold, weights=self.model)
        return ScorerMetadata(type(self).__name__, self.threshold, judges=(judge,))

    def read(self, source: Source) -> Reader:
        """Tokenize every document; chunks are cut when claims come."""
        return Prepared(self._score, [(document, self._spans(document.text)) for document in as_documents(source)])

    def _score(self, claims: Sequence[str], documents: Sequence[_Tokens]) -> list[Score]:
        """Score each claim in nats, by token or in total; NaN for a blank claim or source.

        Raises: ClaimTooLongError if a claim leaves no room for a source in the model's context.
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
            for start, end in chunks(document, spans, size):
                alone = alone or self._log_probs("", rows)
                beside = self._log_probs(document.text[start:end], rows)
                for index, grounded, ungrounded in zip(scored, beside, alone, strict=True):
                    gains = grounded - ungrounded
                    gain = float(gains.mean() if self.reduce == "mean" else gains.sum())
                    if not best[index].value >= gain:
                        best[index] = Score(gain, (document.cite(*Span.trimmed(document.text, start, end), gain),))
        return best

    def _log_probs(self, source: str, claims: Sequence[Sequence[int]]) -> list[Tensor]:
        """log P of each token of each claim after `source`."""
        from groundrail.decoding.likelihood import continuation_log_probs

        context = [*self._start, *self._encode(source), *self._separator]
        found = zip(claims, continuation_log_probs(self.model, context, claims), strict=True)
        return [log_p[range(len(claim)), list(claim)] for claim, log_p in found]

    def _room(self, longest_claim: int) -> int | None:
        """Maximum number of source tokens beside the longest claim; None if there is no limit."""
        if self._limit is None:
            return self.chunk_tokens
        room = self._limit - longest_claim - len(self._start) - len(self._separator) - _SLACK
        if room < 1:
            raise ClaimTooLongError(
                f"a claim of {longest_claim} tokens leaves no room for a source in a context of {self._limit}: "
                "split the claim into sentences"
            )
        return room if self.chunk_tokens is None else min(room, self.chunk_tokens)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        offsets = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        return [(start, end) for start, end in offsets if end > start]

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def chunks(document: Document, spans: Sequence[tuple[int, int]], size: int | None) -> Iterator[tuple[int, int]]:
    """Character spans of at most `size` tokens that together contain all words of the document.

    A chunk ends with a sentence if a sentence ends in its second half.
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
