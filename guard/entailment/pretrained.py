"""Judges over Hugging Face models: loading, prompts, tokens, limits.

Subclasses of `PretrainedJudge` know which head a model needs and what its outputs mean.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import torch
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from groundrail.entailment.base import EntailmentModel, FloatArray, JudgeMetadata, Pair, Template
from groundrail.entailment.batching import Encoding, in_batches, padded, refuse_long, refuse_long_claims
from groundrail.errors import ModelError
from groundrail.runtime.hub import load_pretrained

SEAMS = 8
"""Tokens kept free because premise and claim may tokenize a little longer inside a prompt than alone."""

_UNLIMITED = 1_000_000
"""Tokenizers that know no limit say a number far above this."""


class PretrainedJudge(EntailmentModel):
    """A judge over a Hugging Face model and its fast tokenizer.

    A subclass names the `auto_class` that loads its model. The model's config may give `entailment_identity` (else the
    identity is the name or folder that the model was loaded by, or its class), `entailment_chunk_tokens` and
    `entailment_english_only`.

    Raises: ModelError for a slow tokenizer, or an unknown longest input; InputError for a template that cannot be filled.
    """

    auto_class: ClassVar[type]
    default_length: ClassVar[int | None] = None
    """Maximum input of models of this kind that set no limit of their own."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        template: Template | None,
        threshold: float,
        max_length: int | None,
        batch_tokens: int,
        english_only: bool = False,
    ) -> None:
        self.model = model.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = require_fast(tokenizer)
        self.threshold, self.batch_tokens, self._english_only = threshold, batch_tokens, english_only
        longest = max_length or longest_input(model, tokenizer) or self.default_length
        if longest is None:
            raise ModelError("neither model nor tokenizer says how much it reads; pass max_length")
        self.max_length, self._template = longest, template
        prompt = len(self._encode([("", "")])[0]["input_ids"])
        self.max_tokens = longest - prompt - (0 if template is None else SEAMS)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype | None = None,
        **options: Any,
    ) -> Self:
        """Load by hub id or folder, as `google/flan-t5-large`.

        Args:
            device: None takes the accelerator if there is one.
            dtype: None takes float32.
            options: arguments of the class; all others go to transformers (`revision`, `local_files_only`, ...).
        """
        own, hub = cls.own_options(options)
        return cls(*load_pretrained(cls.auto_class, name_or_path, device=device, dtype=dtype, hub=hub), **own)

    @classmethod
    def own_options(cls, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options that are arguments of the class, and the others."""
        own = options.keys() & inspect.signature(cls).parameters
        others = options.keys() - own
        return {name: options[name] for name in own}, {name: options[name] for name in others}

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span of every token of `text`, however long, in order."""
        spans: Sequence[tuple[int, int]] = self._tokens(text)["offset_mapping"]
        return spans

    @property
    def metadata(self) -> JudgeMetadata:
        """The name and the limits of the model, and the words that its tokenizer does not know."""
        config = self.model.config
        fitted = self.threshold == getattr(config, "entailment_threshold", None)
        return JudgeMetadata(
            str(getattr(config, "entailment_identity", None) or config.name_or_path or type(self.model).__name__),
            self.max_tokens,
            self.threshold,
            getattr(config, "entailment_chunk_tokens", None),
            self._english_only or bool(getattr(config, "entailment_english_only", False)),
            self._unread,
            self.model,
            getattr(config, "entailment_thresholds", {}) if fitted else {},
            tells_contradiction=self.tells_contradiction,
        )

    def _batched(
        self,
        pairs: Sequence[Pair],
        columns: int = 1,
        forward: Callable[[dict[str, torch.Tensor]], torch.Tensor] | None = None,
    ) -> FloatArray:
        """The columns that `forward`, by default `_forward`, gives for each pair, shape (n, columns)."""
        refuse_long_claims(self, pairs)
        padding, device = {"input_ids": self.tokenizer.pad_token_id or 0}, self.model.device
        read = forward or self._forward
        return in_batches(
            pairs,
            self._encode,
            lambda encodings: read(padded(encodings, padding, device)),
            columns=columns,
            batch_tokens=self.batch_tokens,
            alike=device.type == "cpu",
        )

    def _forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Probabilities of padded inputs, shape (batch, columns)."""
        raise NotImplementedError

    def _encode(self, pairs: Sequence[Pair]) -> list[Encoding]:
        """Token ids and masks with special tokens, never cut. Raises: InputError for a pair that does not fit."""
        found = self.tokenizer(list(map(self._text, pairs)), truncation=False, padding=False, verbose=False)
        refuse_long(map(len, found["input_ids"]), self.max_length)
        return [self._encoding(found, index) for index in range(len(pairs))]

    def _text(self, pair: Pair) -> str | Pair:
        return pair if self._template is None else self._template.fill(*pair)

    def _encoding(self, found: BatchEncoding, index: int) -> Encoding:
        return {name: values[index] for name, values in found.items()}

    def _tokens(self, text: str) -> BatchEncoding:
        options = {"add_special_tokens": False, "truncation": False, "padding": False, "verbose": False}
        found: BatchEncoding = self.tokenizer(text, return_offsets_mapping=True, **options)
        return found

    def _unread(self, text: str) -> list[str]:
        """The words that the tokenizer gives its unknown token for."""
        found, unknown = self._tokens(text), self.tokenizer.unk_token_id
        spans = zip(found["input_ids"], found["offset_mapping"], strict=True)
        return [text[start:end] for token, (start, end) in spans if token == unknown]


def require_fast(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """Raises: ModelError for a tokenizer that cannot say where in the text its tokens are."""
    if not tokenizer.is_fast:
        raise ModelError(
            f"{type(tokenizer).__name__} is a slow tokenizer and knows no character offsets; load it with "
            f"AutoTokenizer, or convert it to a fast one"
        )
    return tokenizer


def token_of(tokenizer: PreTrainedTokenizerBase, answer: str | int) -> int:
    """The id of an answer. Raises: ModelError where the tokenizer has no single token for a word, or no such id."""
    if isinstance(answer, int):
        if not 0 <= answer < len(tokenizer):
            raise ModelError(f"the tokenizer has {len(tokenizer)} tokens and none with the id {answer}")
        return answer
    ids: list[int] = tokenizer(answer, add_special_tokens=False)["input_ids"]
    if len(ids) != 1 or ids[0] == tokenizer.unk_token_id:
        raise ModelError(f"the tokenizer has no single token for {answer!r}, so its logit cannot be read")
    return ids[0]


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
