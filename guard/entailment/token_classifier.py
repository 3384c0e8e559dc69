"""Support from a token classifier that marks the words of an answer which its source does not support (LettuceDetect)."""

from collections.abc import Sequence

import torch
from transformers import AutoModelForTokenClassification, BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from groundrail.entailment.base import BinaryEntailment, FloatArray, Pair, Template
from groundrail.entailment.batching import Encoding
from groundrail.entailment.pretrained import PretrainedJudge
from groundrail.errors import InputError

_CLAIM = "claim_mask"


class TokenEntailment(PretrainedJudge, BinaryEntailment):
    """1 - the highest P(unsupported) among the claim's tokens: a claim is supported as far as its weakest word is.

    The model reads `template` with the premise in it as first text and the claim as second. `unsupported` is the
    place of that class among the model's outputs. `max_length` is the longest input the model reads.

    Raises: ModelError for a slow tokenizer or an unknown longest input; InputError for a template without
    `{premise}`, or a class that the model does not have.
    """

    auto_class = AutoModelForTokenClassification

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
        self._prompt = Template(template, places=["premise"])
        super().__init__(model, tokenizer, self._prompt, threshold, max_length, batch_tokens)
        classes = model.config.num_labels or 0
        if not 0 <= unsupported < classes:
            raise InputError(f"unsupported is {unsupported}, and the model has {classes} classes, counted from 0")
        self.unsupported = unsupported

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """1 - max P(unsupported) over the claim's tokens, shape (n,); 1 for a claim without tokens."""
        return self._batched(pairs)[:, 0]

    def _text(self, pair: Pair) -> Pair:
        return self._prompt.fill(pair[0]), pair[1]

    def _encoding(self, found: BatchEncoding, index: int) -> Encoding:
        return {**super()._encoding(found, index), _CLAIM: [int(text == 1) for text in found.sequence_ids(index)]}

    def _forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        of_claim = inputs.pop(_CLAIM).bool()
        wrong = torch.softmax(self.model(**inputs).logits.float(), dim=-1)[..., self.unsupported]
        return 1 - wrong.masked_fill(~of_claim, 0.0).amax(dim=-1, keepdim=True)
