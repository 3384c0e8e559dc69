"""A Hugging Face causal language model as a groundrail generator; `groundrail.decoding.session` writes its answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

import torch
from pydantic import Field, FiniteFloat
from pydantic.dataclasses import dataclass

from groundrail.decoding.growing_cache import can_be_joined
from groundrail.decoding.prompt_cache import PromptCache
from groundrail.decoding.prompts import Prompt, require_fit, require_same_vocabulary, takes
from groundrail.decoding.session import HFSession
from groundrail.errors import InputError, ModelError
from groundrail.generators import Generator
from groundrail.runtime.locks import one_at_a_time

if TYPE_CHECKING:
    from transformers import LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase

    from groundrail.decoding.steering import Steering
    from groundrail.types import Document

INSTRUCTION = (
    "Answer the question in one to three short sentences, using only facts from the document."
    "\n\nDocument:\n{source}\n\nQuestion: {prompt}"
)
"""Template of the prompt. It is filled in by replacement, so that braces in a source or prompt are safe."""


FromZero: TypeAlias = Annotated[FiniteFloat, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Settings for drawing the next token; a `temperature` of 0 is greedy.

    A retry never repeats a refused sentence. Each retry is steered harder if steering is on, and from the second retry
    on tokens are drawn with at least `retry_temperature`. `ValueError` if a number is out of range.
    """

    max_new_tokens: Annotated[int, Field(ge=1)] = 256
    temperature: FromZero = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(ge=0)] = 0
    repetition_penalty: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    seed: int = 0
    retry_alpha: FromZero = 2.0
    retry_temperature: FromZero = 0.7


class HFGenerator(Generator):
    """Write answers with a decoder-only model, sentence by sentence, with rollback.

    instruction: the template of the prompt, with `{source}` and `{prompt}`. The tokenizer's chat template is applied to
        it if there is one.
    steering: `PMI`, `CAD` or `AdaCAD`, against the same prompt with an empty source. One forward pass for each token
        serves both prompts, unless a layer of the model forgets early tokens (sliding windows, recurrent states).
    ungrounded_model: a model that reads the prompt without source, over the same vocabulary and in a separate forward
        pass. In West et al., section 4.1, it is a model tuned without sources.
    logits_processor: runs on the steered scores, as in `generate`.
    writes_ahead: whether greedy decoding continues while a sentence is judged. None: only if the model is not on the
        CPU, where it would compete with the judge. True suits a judge on another machine.

    Raises: ModelError for an encoder-decoder, a model without a cache, or another vocabulary; InputError for an
        instruction without both places, or an `ungrounded_model` without `steering`.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        steering: Steering | None = None,
        ungrounded_model: PreTrainedModel | None = None,
        sampling: Sampling | None = None,
        instruction: str = INSTRUCTION,
        logits_processor: LogitsProcessorList | None = None,
        writes_ahead: bool | None = None,
    ) -> None:
        if getattr(model.config, "is_encoder_decoder", False):
            raise ModelError("HFGenerator continues from its own text and needs a decoder-only model")
        if not takes(model, "past_key_values"):
            raise ModelError(f"{type(model).__name__} has no key-value cache, which HFGenerator rewinds")
        if "{source}" not in instruction or "{prompt}" not in instruction:
            raise InputError("instruction must contain {source} and {prompt}")
        if ungrounded_model is not None:
            if steering is None:
                raise InputError("ungrounded_model is only asked when steering: pass steering=PMI(alpha) too")
            require_same_vocabulary(model, ungrounded_model)
        self.model, self.weights, self.tokenizer = model, model, tokenizer
        self.steering, self.ungrounded_model = steering, ungrounded_model
        self.sampling = sampling or Sampling()
        self.instruction, self.logits_processor = instruction, logits_processor
        self.writes_ahead = model.device.type != "cpu" if writes_ahead is None else writes_ahead
        self._vocabulary: list[str] | None = None

    @classmethod
    @one_at_a_time
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype = "auto",
        steering: Steering | None = None,
        ungrounded_model: PreTrainedModel | None = None,
        sampling: Sampling | None = None,
        **hub: Any,
    ) -> Self:
        """Load by hub id or folder; `hub` goes to transformers, `device` None takes the accelerator if there is one.

            HFGenerator.from_pretrained("HuggingFaceTB/SmolLM2-1.7B-Instruct", dtype="bfloat16", revision="main")

        Raises: ModelError if there is no causal language model of this name; InputError for `trust_remote_code`.
        """
        from transformers import AutoModelForCausalLM

        from groundrail.runtime.hub import load_pretrained

        model, tokenizer = load_pretrained(AutoModelForCausalLM, name_or_path, device=device, dtype=dtype, hub=hub)
        model.requires_grad_(False)
        return cls(model, tokenizer, steering=steering, ungrounded_model=ungrounded_model, sampling=sampling)

    def start(self, prompt: str, documents: Sequence[Document]) -> HFSession:
        """Begin an answer; the model reads the prompt only at the first proposal.

        Raises: SourceTooLongError if the prompt does not fit the model together with the answer.
        """
        source = "\n\n".join(document.text.strip() for document in documents)
        grounded = self._prompt(self.model, prompt, source, "the prompt with its source")
        if self.steering is None:
            return HFSession(self, [PromptCache(self.model, grounded)])
        estimator = self.model if self.ungrounded_model is None else self.ungrounded_model
        ungrounded = self._prompt(estimator, prompt, "", "the prompt without its source")
        if estimator is self.model and can_be_joined(self.model):
            return HFSession(self, [PromptCache(self.model, grounded, ungrounded)])
        return HFSession(self, [PromptCache(self.model, grounded), PromptCache(estimator, ungrounded)])

    def _prompt(self, model: PreTrainedModel, prompt: str, source: str, name: str) -> Prompt:
        ids = torch.tensor([self.encode(prompt, source)], device=model.device)
        room = self.sampling.max_new_tokens
        require_fit(model, ids.shape[1] + room, f"{name} with {room} tokens of answer")
        return Prompt(ids, torch.ones_like(ids), name)

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
        """The text of each token, by id."""
        if self._vocabulary is None:
            anchor = self.tokenizer("a", add_special_tokens=False)["input_ids"]
            size: int = self.model.get_input_embeddings().num_embeddings  # type: ignore[assignment]
            known = min(size, len(self.tokenizer))
            tokens = [[*anchor, token] for token in range(known)]
            options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
            texts = self.tokenizer.batch_decode(tokens, **options)
            start = len(self.tokenizer.decode(anchor))
            self._vocabulary = [text[start:] for text in texts] + [""] * (size - known)
        return self._vocabulary
