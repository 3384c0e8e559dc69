"""Support from a token classifier that marks the words of an answer which its source does not support.

LettuceDetect is such a model. Chunking, maxima and citations belong to `groundrail.scoring`.
"""

from collections.abc import Sequence
from typing import Any, Self

import torch
from transformers import AutoModelForTokenClassification, PreTrainedModel, PreTrainedTokenizerBase

from groundrail.entailment import pretrained
from groundrail.entailment.base import EntailmentModel, FloatArray, JudgeFacts, Pair
from groundrail.entailment.batching import Encoding, in_batches
from groundrail.entailment.templates import Template
from groundrail.errors import InputError, ModelError
from groundrail.runtime.hub import load_pretrained

_CLAIM = "claim_mask"


class TokenEntailment(EntailmentModel):
    """1 - the highest P(unsupported) among the claim's tokens: a claim is supported as far as its weakest word is.

    The model reads `template` with the premise in it as first text and the claim as second. `unsupported` is the
    place of that class among the model's outputs. `max_length` is the longest input the model reads.

    Raises: ModelError for a slow tokenizer or an unknown longest input; InputError for a template without
    `{premise}`, or a class that the model does not have.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        template: str = "{premise}",
        unsupported: int = 1,
        threshold: float = 0.5,
        max_length: int | None = None,
        batch_tokens: int = 4096,
    ) -> None:
        self.model = model.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = pretrained.require_fast(tokenizer)
        self._template = Template(template, places=["premise"])
        classes = model.config.num_labels or 0
        if not 0 <= unsupported < classes:
            raise InputError(f"unsupported is {unsupported}, and the model has {classes} classes, counted from 0")
        self.unsupported, self.threshold, self.batch_tokens = unsupported, threshold, batch_tokens
        longest = max_length or pretrained.longest_input(model, tokenizer)
        if longest is None:
            raise ModelError("neither model nor tokenizer says how much it reads; pass max_length")
        self.max_length = longest
        self.max_tokens = longest - len(self._encode([("", "")])[0]["input_ids"]) - pretrained.SEAMS

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype | None = None,
        template: str = "{premise}",
        unsupported: int = 1,
        threshold: float = 0.5,
        max_length: int | None = None,
        batch_tokens: int = 4096,
        **hub: Any,
    ) -> Self:
        """Load by hub id or folder. `hub` goes to transformers (`revision`, `local_files_only`, ...).

        `device` None takes the accelerator if there is one, `dtype` None takes float32.
        """
        model, tokenizer = load_pretrained(
            AutoModelForTokenClassification, name_or_path, device=device, dtype=dtype, hub=hub
        )
        return cls(
            model,
            tokenizer,
            template=template,
            unsupported=unsupported,
            threshold=threshold,
            max_length=max_length,
            batch_tokens=batch_tokens,
        )

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span of every token of `text`, in order."""
        return pretrained.offsets(self.tokenizer, text)

    @property
    def facts(self) -> JudgeFacts:
        """The name and the limits of the model, and the words that its tokenizer does not know."""
        return pretrained.facts(self.model, self.tokenizer, self.max_tokens, self.threshold)

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """1 - max P(unsupported) over the claim's tokens, shape (n,); 1 for a claim without tokens.

        Raises: InputError for a pair that does not fit, ClaimTooLongError where that is the claim's doing.
        """
        pretrained.refuse_long_claims(self.tokenizer, pairs, self.max_tokens)
        return in_batches(
            pairs,
            self._encode,
            self._forward,
            columns=1,
            batch_tokens=self.batch_tokens,
            padding={"input_ids": self.tokenizer.pad_token_id or 0},
            device=self.model.device,
        )[:, 0]

    def _encode(self, pairs: Sequence[Pair]) -> list[Encoding]:
        texts = [(self._template.fill(premise), claim) for premise, claim in pairs]
        return pretrained.encode(self.tokenizer, texts, self.max_length, claim_mask=_CLAIM)

    def _forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        of_claim = inputs.pop(_CLAIM).bool()
        wrong = torch.softmax(self.model(**inputs).logits.float(), dim=-1)[..., self.unsupported]
        return 1 - wrong.masked_fill(~of_claim, 0.0).amax(dim=-1, keepdim=True)
