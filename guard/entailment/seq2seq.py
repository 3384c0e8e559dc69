"""Entailment from an encoder-decoder that answers Yes or No: SCALE's P(entail) from Flan-T5 (section 3.1)."""

from collections.abc import Sequence

import torch
from transformers import AutoModelForSeq2SeqLM, PreTrainedModel, PreTrainedTokenizerBase

from groundrail.entailment.base import TEMPLATE, BinaryEntailment, FloatArray, Pair, Template
from groundrail.entailment.pretrained import PretrainedJudge, token_of
from groundrail.errors import InputError, ModelError


class Seq2SeqEntailment(PretrainedJudge, BinaryEntailment):
    """P(premise entails claim) = softmax(logit[Yes], logit[No])[0] at the first decoder position.

    `template` holds `{premise}` and `{claim}` once each; the texts are put in as they are, braces included.
    `answers` are the tokens for supported and for not supported, each a word that is one token, or a token's id.
    A single answer is that of supported, and its probability is taken among all tokens.
    `max_length` is the longest prompt the model reads; None takes what tokenizer or config say, else 512.

    Raises: ModelError for a slow tokenizer, or one in which Yes or No is not a single token; InputError for
    a template that cannot be filled.
    """

    auto_class = AutoModelForSeq2SeqLM
    default_length = 512  # T5's length in training; its relative positions set no limit

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        template: str = TEMPLATE,
        answers: Sequence[str | int] = ("Yes", "No"),
        threshold: float = 0.5,
        max_length: int | None = None,
        batch_tokens: int = 4096,
    ) -> None:
        super().__init__(model, tokenizer, Template(template), threshold, max_length, batch_tokens)
        self.template = template
        if len(answers) not in (1, 2):
            raise InputError(f"answers names {len(answers)} tokens; name that of supported, and that of not supported")
        self._answers = [token_of(tokenizer, answer) for answer in answers]
        start = getattr(model.config, "decoder_start_token_id", None)
        if start is None:
            raise ModelError("the model's config has no decoder_start_token_id, so its decoder cannot start")
        self._decoder_start = int(start)

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim) for each `(premise, claim)`, shape (n,)."""
        return self._batched(pairs)[:, 0]

    def _forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        start = torch.full_like(ids[:, :1], self._decoder_start)
        logits = self.model(input_ids=ids, attention_mask=mask, decoder_input_ids=start).logits[:, 0]
        if len(self._answers) == 1:
            return torch.softmax(logits.float(), dim=-1)[:, self._answers]
        return torch.softmax(logits[:, self._answers].float(), dim=-1)[:, :1]
