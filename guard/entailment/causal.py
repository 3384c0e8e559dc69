"""Entailment from a decoder-only model that answers Yes or No, its premises read once.

SCALE's prompt has the premise first, so that the keys and values of a premise are the same for every claim: they
are kept, and a claim costs its own tokens.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, DynamicCache, PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import DynamicLayer

from groundrail.entailment.base import TEMPLATE, BinaryEntailment, FloatArray, Pair, Template
from groundrail.entailment.batching import by_length, refuse_long, refuse_long_claims
from groundrail.entailment.pretrained import SEAMS, PretrainedJudge, token_of
from groundrail.errors import InputError, ModelError
from groundrail.runtime.progress import step

Tokens: TypeAlias = tuple[int, ...]
Layers: TypeAlias = list[tuple[Tensor, Tensor]]
"""Keys and values of every layer, each of shape (1, heads, tokens, head size)."""


class CausalEntailment(PretrainedJudge, BinaryEntailment):
    """P(premise entails claim) = softmax(logit[Yes], logit[No])[0] at the first token after the prompt.

    `template` holds `{premise}` and then `{claim}`, once each. The part up to the premise's end is tokenized by itself
    and kept: at most `cache_bytes` of keys and values, those not used for the longest time dropped first. `max_length`
    is the longest prompt the model reads. `answers` are the words for supported and for not supported; all tokens that
    spell such a word, whatever their blanks and capitals, count together. None takes one token each for Yes and No.

    Raises: ModelError for a slow tokenizer, one in which Yes or No is not a single token, or a model whose cache
    cannot be cropped; InputError for a template that cannot be filled, or that has the claim first.
    """

    auto_class = AutoModelForCausalLM

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        template: str = TEMPLATE,
        answers: tuple[str, str] | None = None,
        threshold: float = 0.5,
        max_length: int | None = None,
        batch_tokens: int = 16_384,
        cache_bytes: int = 1 << 30,
    ) -> None:
        parts = Template(template)
        if parts.names != ["premise", "claim"]:
            raise InputError(f"this model's template has {{premise}} before {{claim}}, unlike {template!r}")
        super().__init__(model, tokenizer, parts, threshold, max_length, batch_tokens)
        self._before, self._between, self._after = parts.around
        self.template = template
        self._answers = _answers(tokenizer) if answers is None else [_spellings(tokenizer, word) for word in answers]
        self._prefixes = Prefixes(model, cache_bytes)
        self.max_tokens = self.max_length - len(self._prefix("")) - len(self._suffix("")) - SEAMS

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim) for each pair, shape (n,). A premise is read once for its claims, these together."""
        refuse_long_claims(self, pairs)
        results = np.empty(len(pairs))
        of_premise: dict[str, list[int]] = {}
        for index, (premise, _) in enumerate(pairs):
            of_premise.setdefault(premise, []).append(index)
        with torch.inference_mode():
            for premise, indices in of_premise.items():
                prefix = self._prefix(premise)
                suffixes = [self._suffix(pairs[index][1]) for index in indices]
                lengths = [len(prefix) + len(suffix) for suffix in suffixes]
                refuse_long(lengths, self.max_length)
                for batch in by_length(lengths, self.batch_tokens):
                    logits = self._prefixes.last_logits(prefix, [suffixes[place] for place in batch])
                    each = [logits[:, tokens].float().logsumexp(dim=-1) for tokens in self._answers]
                    yes = torch.softmax(torch.stack(each, dim=-1), dim=-1)[:, 0]
                    results[[indices[place] for place in batch]] = yes.double().cpu().numpy()
                    step(len(batch))
        return results

    def _prefix(self, premise: str) -> tuple[int, ...]:
        """Token ids up to the premise's end, with what the tokenizer puts at the beginning of every text."""
        ids = self.tokenizer(self._before + premise, verbose=False)["input_ids"]
        end = self.tokenizer.eos_token_id
        return tuple(ids[:-1] if ids[-1:] == [end] and end != self.tokenizer.bos_token_id else ids)

    def _suffix(self, claim: str) -> tuple[int, ...]:
        text = self._between + claim + self._after
        return tuple(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def _answers(tokenizer: PreTrainedTokenizerBase) -> list[list[int]]:
    """The ids of Yes and No as they follow a question: with the blank before them, where that is one token."""
    try:
        return [[token_of(tokenizer, word)] for word in (" Yes", " No")]
    except ModelError:
        return [[token_of(tokenizer, word)] for word in ("Yes", "No")]


def _spellings(tokenizer: PreTrainedTokenizerBase, word: str) -> list[int]:
    """The ids of all tokens that are `word` but for blanks and capitals. Raises: ModelError where there is none."""
    wanted = word.lower()
    near = sorted(token for text, token in tokenizer.get_vocab().items() if wanted in text.lower())
    found = [token for token in near if str(tokenizer.decode([token])).strip().lower() == wanted]
    if not found:
        raise ModelError(f"the tokenizer has no single token for {word!r}, so its logit cannot be read")
    return found


class Prefixes:
    """A causal model with the keys and values of what it has read: at most `budget` bytes, the least used go first.

    Raises: ModelError for a model whose cache cannot be cropped: one with a state (Mamba) or a sliding window.
    """

    def __init__(self, model: PreTrainedModel, budget: int) -> None:
        if budget < 0:
            raise InputError(f"cache_bytes is {budget}; pass 0 to keep nothing, or more")
        layers = DynamicCache(config=model.config).layers
        if model._is_stateful or any(type(layer) is not DynamicLayer for layer in layers):
            raise ModelError(
                f"{type(model).__name__} keeps a state or a sliding window, which cannot be cut back to the premise; "
                f"pass a model with full attention in every layer"
            )
        self.model: Any = model
        self.budget = budget
        self._kept: OrderedDict[Tokens, Layers] = OrderedDict()
        self._lock = threading.Lock()

    def last_logits(self, prefix: Tokens, suffixes: Sequence[Tokens]) -> Tensor:
        """Logits after prefix and suffix, shape (suffixes, words); only what is not kept of the prefix is read."""
        layers = self._read(prefix)
        longest = max(map(len, suffixes))
        rows = [[*suffix, *[0] * (longest - len(suffix))] for suffix in suffixes]  # no token sees what follows it
        hidden = self._feed(torch.tensor(rows), layers).logits
        ends = torch.tensor([len(suffix) - 1 for suffix in suffixes], device=hidden.device)
        logits: Tensor = hidden[torch.arange(len(suffixes), device=hidden.device), ends]
        return logits

    def _read(self, prefix: Tokens) -> Layers:
        with self._lock:
            nearest = max(self._kept, key=lambda kept: _shared(kept, prefix), default=())
            known = _shared(nearest, prefix)
            layers = [(keys[:, :, :known], values[:, :, :known]) for keys, values in self._kept.get(nearest, [])]
            if known:
                self._kept.move_to_end(nearest)
        if known == len(prefix):
            return layers
        cache = self._feed(torch.tensor([prefix[known:]]), layers if known else [], head=False).past_key_values
        layers = [(layer.keys, layer.values) for layer in cache.layers]
        with self._lock:
            self._kept[prefix] = layers
            while sum(map(_size, self._kept.values())) > self.budget:
                self._kept.popitem(last=False)
        return layers

    def _feed(self, tokens: Tensor, layers: Layers, head: bool = True) -> Any:
        """Read tokens, shape (texts, tokens), after what `layers` holds, which stays as it is; no logits without `head`."""
        cache = DynamicCache(config=self.model.config)
        for number, (keys, values) in enumerate(layers):
            cache.update(keys.expand(len(tokens), -1, -1, -1), values.expand(len(tokens), -1, -1, -1), number)
        read = self.model if head else self.model.base_model
        return read(input_ids=tokens.to(self.model.device), past_key_values=cache, use_cache=True)


def _shared(first: Tokens, second: Tokens) -> int:
    """How many tokens two texts share at their beginnings."""
    if first[: len(second)] == second:
        return len(second)
    return next((place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))


def _size(layers: Layers) -> int:
    return sum(keys.nbytes + values.nbytes for keys, values in layers)
