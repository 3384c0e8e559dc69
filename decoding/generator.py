"""A Hugging Face causal language model as a groundrail generator: sentence sessions with rollback.

A session keeps the caches of the grounded prompt and, when steering, of the same prompt without its
source. A rejected sentence costs only its own tokens: the caches go back to the last accepted character,
and the refused tokens are ruled out. Whether a sentence is good enough is the guard's business.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from groundrail.decoding.contexts import CachedContext
from groundrail.decoding.prompts import takes
from groundrail.decoding.steering import PMI, combine
from groundrail.errors import GenerationError, InputError, ModelError
from groundrail.sentences import STOPS

if TYPE_CHECKING:
    from transformers import LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase

    from groundrail.types import Document

INSTRUCTION = (
    "Answer the question in one to three short sentences, using only facts from the document."
    "\n\nDocument:\n{source}\n\nQuestion: {prompt}"
)
"""Filled in by replacement, so braces in a source or prompt are safe."""

_LONGEST_TOKEN = 32
"""Characters of a refused sentence that may still be missing when its last token is looked for."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn; greedy where `temperature` is 0.

    A retry never repeats a refused sentence. The first one is steered harder if steering is on, and from
    the second on tokens are drawn with at least `retry_temperature`.
    """

    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    seed: int = 0
    retry_alpha: float = 2.0
    retry_temperature: float = 0.7

    def __post_init__(self) -> None:
        warmth = (self.temperature, self.retry_temperature, self.retry_alpha)
        if not all(0 <= value < math.inf for value in warmth) or not 0 < self.repetition_penalty < math.inf:
            raise InputError(
                f"{self}: temperature, retry_temperature and retry_alpha are finite numbers from 0, "
                f"repetition_penalty is one above 0"
            )
        if self.max_new_tokens < 1 or not 0 < self.top_p <= 1 or self.top_k < 0:
            raise InputError(f"{self}: max_new_tokens >= 1, 0 < top_p <= 1 and top_k >= 0 are needed")


class HFGenerator:
    """Writes answers with a decoder-only model, sentence by sentence, with rollback.

    The prompt is `instruction` with `{source}` and `{prompt}` filled in, put through the tokenizer's chat
    template if it has one. `steering` is PMI decoding against the same prompt with an empty source.
    `logits_processor` runs on the steered scores, as in `generate`.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        steering: PMI | None = None,
        sampling: Sampling | None = None,
        instruction: str = INSTRUCTION,
        logits_processor: LogitsProcessorList | None = None,
    ) -> None:
        if getattr(model.config, "is_encoder_decoder", False):
            raise ModelError("HFGenerator continues from its own text and needs a decoder-only model")
        if not takes(model, "past_key_values"):
            raise ModelError(f"{type(model).__name__} has no key-value cache, which HFGenerator rewinds")
        if "{source}" not in instruction or "{prompt}" not in instruction:
            raise InputError("instruction must contain {source} and {prompt}")
        self.model, self.tokenizer = model, tokenizer
        self.steering, self.sampling = steering, sampling or Sampling()
        self.instruction, self.logits_processor = instruction, logits_processor
        self._vocabulary: list[str] | None = None

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype = "auto",
        steering: PMI | None = None,
        sampling: Sampling | None = None,
        **hub: Any,
    ) -> Self:
        """Load model and tokenizer by hub id or folder; `hub` goes to transformers as it is.

        Raises: ModelError where there is no causal language model by that name.
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(name_or_path, **hub)
            model = AutoModelForCausalLM.from_pretrained(name_or_path, dtype=dtype, **hub)
        except (OSError, ValueError) as error:
            raise ModelError(
                f"cannot load {name_or_path!r}: {' '.join(str(error).split())}. Pass a folder with a causal "
                f"language model, or a hub id that can be reached from here"
            ) from error
        model.requires_grad_(False).train(False)
        if device is not None:
            model.to(torch.device(device))  # type: ignore[arg-type]
        return cls(model, tokenizer, steering=steering, sampling=sampling)

    def start(self, prompt: str, documents: Sequence[Document]) -> HFSession:
        """Raises: SourceTooLongError if the prompt does not fit the model together with the answer."""
        source = "\n\n".join(document.text.strip() for document in documents)
        room = self.sampling.max_new_tokens
        grounded = CachedContext(self.model, self.encode(prompt, source), room, "the prompt with its source")
        ungrounded = None
        if self.steering is not None:
            ungrounded = CachedContext(self.model, self.encode(prompt, ""), room, "the prompt without its source")
        return HFSession(self, grounded, ungrounded)

    def encode(self, prompt: str, source: str) -> list[int]:
        """Token ids of the whole prompt, chat template included."""
        head, _, rest = self.instruction.partition("{source}")
        text = head.replace("{prompt}", prompt) + source + rest.replace("{prompt}", prompt)
        if not getattr(self.tokenizer, "chat_template", None):
            return list(self.tokenizer(text)["input_ids"])
        messages = [{"role": "user", "content": text}]
        ids: Any = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        return list(ids)

    @property
    def stop_ids(self) -> set[int]:
        """Tokens that end an answer."""
        ids = self.model.generation_config.eos_token_id if self.model.generation_config else None
        ids = self.tokenizer.eos_token_id if ids is None else ids
        return set() if ids is None else set(ids if isinstance(ids, list) else [ids])

    def vocabulary(self) -> list[str]:
        """What every token adds to a text, by id."""
        if self._vocabulary is None:
            anchor = self.tokenizer("a", add_special_tokens=False)["input_ids"]
            size: int = self.model.get_input_embeddings().num_embeddings  # type: ignore[assignment]
            known = min(size, len(self.tokenizer))
            texts = self.tokenizer.batch_decode(
                [[*anchor, i] for i in range(known)],
                skip_special_tokens=True,
                clean_up_tokenization_spaces=False,
            )
            start = len(self.tokenizer.decode(anchor))
            self._vocabulary = [text[start:] for text in texts] + [""] * (size - known)
        return self._vocabulary


@dataclass(slots=True)
class _Token:
    """One token of the answer: `end` is where its text ends, `margin` how clearly it won, in nats."""

    id: int
    margin: float
    gain: float | None
    end: int = 0


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A refused sentence: its tokens, the index of the one that won by least (there the retry turns off), and
    its text without its full stop."""

    ids: tuple[int, ...]
    turn: int
    text: str


class HFSession:
    """One answer; see `groundrail.generators.Session` for the rules.

    `gains` is the mean s_pmi of every accepted sentence when steering, in nats. `stats` counts tokens.
    """

    def __init__(self, generator: HFGenerator, grounded: CachedContext, ungrounded: CachedContext | None) -> None:
        self._generator, self._grounded, self._ungrounded = generator, grounded, ungrounded
        self._tokens: list[_Token] = []
        self._text = ""
        self._accepted = 0
        self._refusals: list[_Refusal] = []
        self._random = torch.Generator().manual_seed(generator.sampling.seed)
        self._started = time.monotonic()
        self._generated = 0
        self._first_accepted: float | None = None
        self.gains: list[float] = []

    @property
    def stats(self) -> dict[str, float]:
        """Tokens generated in all, kept, and fed through the model; seconds to the first accepted sentence."""
        fed = self._grounded.tokens_fed + (self._ungrounded.tokens_fed if self._ungrounded else 0)
        kept = sum(token.end <= self._accepted for token in self._tokens)
        stats: dict[str, float] = {
            "tokens_generated": self._generated,
            "tokens_kept": kept,
            "tokens_fed": fed,
        }
        if self._first_accepted is not None:
            stats["seconds_to_first_sentence"] = self._first_accepted
        return stats

    @property
    def cut_off(self) -> str:
        limit = self._generator.sampling.max_new_tokens
        return f"the answer was cut off at max_new_tokens={limit}" if len(self._tokens) >= limit else ""

    def propose(self) -> Iterator[str]:
        owed = self._rewind()
        start = len(self._tokens)
        clean = len(self._tokens)  # tokens whose text is complete; a character may take several
        while len(self._tokens) < self._generator.sampling.max_new_tokens:
            token = self._draw(start, owed)
            self._generated += 1
            if token.id in self._generator.stop_ids:
                break
            self._tokens.append(token)
            added = self._added_text(clean)
            token.end = len(self._text) + len(added) + 1
            if added.endswith("\ufffd"):
                continue
            common = min(len(owed), len(added))
            owed, added = owed[common:], added[common:]
            self._text += added
            for waiting in self._tokens[clean:]:
                waiting.end = len(self._text) - len(owed)
            clean = len(self._tokens)
            if added:
                yield added
        if clean < len(self._tokens):
            self._text += self._added_text(clean)
            yield self._added_text(clean)

    def accept(self, n_chars: int) -> None:
        before, self._accepted = self._accepted, self._accepted + n_chars
        gains = [t.gain for t in self._tokens if before < t.end <= self._accepted and t.gain is not None]
        if gains:
            self.gains.append(sum(gains) / len(gains))
        if self._first_accepted is None:
            self._first_accepted = time.monotonic() - self._started
        self._refusals = []

    def reject(self, n_chars: int) -> None:
        refused = [t for t in self._tokens if t.end > self._accepted]
        ends = [t.end for t in refused if t.end < self._accepted + n_chars]
        refused = refused[: len(ends) + 1]
        if refused:
            turn = min(range(len(refused)), key=lambda i: refused[i].margin)
            text = self._text[self._accepted : self._accepted + n_chars].strip().rstrip(STOPS)
            self._refusals.append(_Refusal(tuple(t.id for t in refused), turn, text))
        self._rewind()

    def _rewind(self) -> str:
        """Forget what was not accepted; returns accepted characters that no kept token covers.

        A token may hold the space that ends one sentence and the first letters of the next. It goes, and
        the next tokens must begin with its accepted part, so the text never changes.
        """
        self._tokens = [token for token in self._tokens if token.end <= self._accepted]
        self._text = self._text[: self._accepted]
        return self._text[self._tokens[-1].end if self._tokens else 0 :]

    def _added_text(self, clean: int) -> str:
        """What the tokens from `clean` on add, decoded after a few tokens of context."""
        context = max(0, clean - 4)
        ids = [token.id for token in self._tokens[context:]]
        decode = self._generator.tokenizer.decode
        options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        known = decode(ids[: clean - context], **options)
        return str(decode(ids, **options)[len(known) :])

    def _draw(self, start: int, owed: str) -> _Token:
        ids = [token.id for token in self._tokens]
        log_p = torch.log_softmax(self._grounded.next_logits(ids), dim=-1)
        log_p_without = None
        scores = log_p
        if self._ungrounded is not None:
            log_p_without = torch.log_softmax(self._ungrounded.next_logits(ids), dim=-1)
            scores = combine(log_p, log_p_without, self._steering())
        scores = self._allowed(self._processed(scores, ids), ids[start:], owed)
        if torch.isneginf(scores).all():
            raise GenerationError("no token is left to continue with; allow more, or loosen the logits_processor")
        chosen = self._pick(scores)
        others = scores.clone()
        others[chosen] = -torch.inf
        margin = float(scores[chosen] - others.max())
        gain = None if log_p_without is None else float(log_p[chosen] - log_p_without[chosen])
        return _Token(chosen, margin, gain)

    def _steering(self) -> PMI:
        steering = self._generator.steering
        if steering is None:
            raise GenerationError("a session without steering has no second context")
        if not self._refusals:
            return steering
        alpha = steering.alpha * self._generator.sampling.retry_alpha
        return replace(steering, alpha=min(1.0, alpha) if steering.method == "interpolation" else alpha)

    def _processed(self, scores: Tensor, ids: list[int]) -> Tensor:
        penalty, processors = self._generator.sampling.repetition_penalty, self._generator.logits_processor
        if penalty == 1.0 and processors is None:
            return scores
        from transformers import RepetitionPenaltyLogitsProcessor

        written = torch.tensor([ids], dtype=torch.long, device=scores.device)
        row = scores[None]
        if penalty != 1.0 and ids:
            row = RepetitionPenaltyLogitsProcessor(penalty)(written, row)
        if processors is not None:
            row = processors(written, row)  # type: ignore[arg-type]
        return row[0]

    def _allowed(self, scores: Tensor, written: list[int], owed: str) -> Tensor:
        """Rule out tokens that would finish a refused sentence, or change text that was accepted."""
        scores = scores.clone()
        for refusal in self._refusals:
            at = len(written)
            if (
                at < len(refusal.ids)
                and tuple(written) == refusal.ids[:at]
                and at in (refusal.turn, len(refusal.ids) - 1)
            ):
                scores[refusal.ids[at]] = -torch.inf
            scores[self._completing(refusal.text)] = -torch.inf
        if owed:
            texts = self._generator.vocabulary()
            stops = self._generator.stop_ids
            fits = [
                i in stops or (text != "" and (text.startswith(owed) or owed.startswith(text)))
                for i, text in enumerate(texts)
            ]
            scores[~torch.tensor(fits, device=scores.device)] = -torch.inf
        return scores

    def _completing(self, refused: str) -> list[int]:
        """Tokens that would end the sentence being written with just the refused words, spelt in whatever tokens."""
        written = self._text[self._accepted :].lstrip()
        missing = refused[len(written) :]
        if not refused.startswith(written) or len(missing) > _LONGEST_TOKEN:
            return []
        ending = re.compile(r"\s*" * (not written) + re.escape(missing) + rf" *(?:[^\S ]|[{re.escape(STOPS)}])")
        ends = [i for i, text in enumerate(self._generator.vocabulary()) if ending.match(text)]
        return ends if missing else [*ends, *self._generator.stop_ids]

    def _pick(self, scores: Tensor) -> int:
        sampling = self._generator.sampling
        temperature = sampling.temperature
        if len(self._refusals) > 1:
            temperature = max(temperature, sampling.retry_temperature)
        if temperature == 0:
            return int(scores.argmax())
        from transformers import TopKLogitsWarper, TopPLogitsWarper

        row = scores[None] / temperature
        none = torch.empty(0, dtype=torch.long)
        if sampling.top_k:
            row = TopKLogitsWarper(sampling.top_k)(none, row)
        if sampling.top_p < 1:
            row = TopPLogitsWarper(sampling.top_p)(none, row)
        return int(torch.multinomial(torch.softmax(row[0], dim=-1).cpu(), 1, generator=self._random))
