"""Entailment from any sequence-classification model that reads a text pair: NLI, yes/no, or a reranker.

Which output means entailment is read from the model's config, never assumed.
"""

import re
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from groundrail.entailment.base import FloatArray, Pair, Template, rest_neutral
from groundrail.entailment.pretrained import PretrainedJudge
from groundrail.errors import InputError, ModelError

_ENTAILMENT = frozenset({"entailment", "entails", "entailed", "yes", "true", "supported", "supports", "consistent"})
_NEUTRAL = frozenset({"neutral", "unknown", "undetermined", "notenoughinfo"})
_CONTRADICTION = frozenset({"contradiction", "contradicts", "contradictory", "refuted", "refutes"})


class CrossEncoderEntailment(PretrainedJudge):
    """P(premise entails claim) from a classifier of `(premise, claim)`.

    Three classes (entailment, neutral, contradiction, in any order) and two (entailment and its opposite) are read by
    softmax, a single logit by sigmoid. Logits are divided by `temperature` first; it and `threshold` are the config's
    `entailment_temperature` and `entailment_threshold` where they are not given, else 1 and 0.5. `labels` names the
    outputs in order where the config does not. `max_length` is the longest input the model reads, where config and
    tokenizer do not say or say wrong. A model that reads one text instead of a pair has a `template`.

    Raises: ModelError for labels that cannot be understood, a slow tokenizer, or an unknown longest input;
    InputError for a template that cannot be filled.
    """

    auto_class = AutoModelForSequenceClassification

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        template: str | None = None,
        labels: Sequence[str] | None = None,
        temperature: float | None = None,
        threshold: float | None = None,
        max_length: int | None = None,
        batch_tokens: int = 4096,
        english_only: bool = False,
    ) -> None:
        config = model.config
        prompt = None if template is None else Template(template)
        threshold = float(getattr(config, "entailment_threshold", 0.5) if threshold is None else threshold)
        super().__init__(model, tokenizer, prompt, threshold, max_length, batch_tokens, english_only)
        self.labels = _label_names(config, labels)
        self._order = _label_order(self.labels)
        self.temperature = float(getattr(config, "entailment_temperature", 1.0) if temperature is None else temperature)
        if not self.temperature > 0:
            raise InputError(f"temperature is {self.temperature}; it divides the logits and must be positive")

    @property
    def tells_contradiction(self) -> bool:
        """Whether the model has three classes."""
        return len(self._order) == 3

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Probabilities of entailment, neutral, contradiction, shape (n, 3); of two classes all else is neutral."""
        found = self._batched(pairs, len(self.labels))
        return found[:, self._order] if len(self._order) == 3 else rest_neutral(found[:, self._order[0]])

    def _forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        logits = self.model(**inputs).logits.float() / self.temperature
        if logits.dim() == 3:  # HHEM-2.1-Open classifies the first token's state
            logits = logits[:, 0]
        return torch.sigmoid(logits) if logits.shape[-1] == 1 else torch.softmax(logits, dim=-1)


def _label_names(config: Any, labels: Sequence[str] | None) -> tuple[str, ...]:
    """The name of every output, in order."""
    if labels is not None:
        if len(labels) != config.num_labels:
            raise InputError(f"labels names {len(labels)} outputs, and the model has {config.num_labels}")
        return tuple(labels)
    by_index = dict(config.id2label)
    if all(re.fullmatch(r"LABEL_\d+", name) for name in by_index.values()):
        by_index |= {index: name for name, index in config.label2id.items()}
    return tuple(str(by_index[index]) for index in range(config.num_labels))


def _label_order(names: Sequence[str]) -> list[int]:
    """Where entailment is among the outputs; of three outputs, where neutral and contradiction are too.

    Raises: ModelError naming the labels where they cannot be understood.
    """
    if len(names) == 1:
        return [0]
    plain = [re.sub(r"[\W_]+", "", name.lower()) for name in names]
    wanted = {2: [_ENTAILMENT], 3: [_ENTAILMENT, _NEUTRAL, _CONTRADICTION]}.get(len(names), [])
    found = [[index for index, name in enumerate(plain) if name in meaning] for meaning in wanted]
    if not found or any(len(places) != 1 for places in found):
        raise ModelError(
            f"cannot tell which output means entailment: the labels are {', '.join(names)}. Name the "
            f"outputs in order, as in labels=['contradiction', 'entailment', 'neutral']"
        )
    return [places[0] for places in found]
