"""Models from the hub for the papers' scorers: how they are loaded, and how an encoder-decoder writes texts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from groundrail.errors import ClaimTooLongError
from groundrail.runtime.locks import one_at_a_time

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@one_at_a_time
def load_model(
    auto_class: str,
    name_or_path: str,
    *,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    device: "str | torch.device | None" = None,
    dtype: "str | torch.dtype | None" = None,
    hub: Mapping[str, Any] | None = None,
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """Load a model by the name of its class in transformers, with its tokenizer unless one is given.

    Raises: ModelError if there is no such model.
    """
    import transformers

    from groundrail.runtime.hub import load_pretrained

    model_class = getattr(transformers, auto_class)
    return load_pretrained(model_class, name_or_path, device=device, dtype=dtype, hub=hub or {}, tokenizer=tokenizer)


class Pretrained:
    """A class that is made of a model and its tokenizer."""

    auto_class: ClassVar[str]
    default_dtype: ClassVar[str | None] = None

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> None:
        self.model, self.tokenizer = model, tokenizer

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        device: "str | torch.device | None" = None,
        dtype: "str | torch.dtype | None" = None,
        hub: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Load by hub id or folder; `hub` goes to transformers (`revision`, ...), `settings` to the constructor.

        Raises: ModelError if there is no model of this name and kind; InputError for `trust_remote_code`.
        """
        dtype = cls.default_dtype if dtype is None else dtype
        loaded = load_model(cls.auto_class, name_or_path, device=device, dtype=dtype, hub=hub)
        return cls(*loaded, **settings)


class Writer(Pretrained):
    """An encoder-decoder that writes texts."""

    auto_class = "AutoModelForSeq2SeqLM"

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> None:
        super().__init__(model.eval(), tokenizer)  # type: ignore[no-untyped-call]

    def write(self, prompts: Sequence[str], max_new_tokens: int | None = None, beams: int = 1) -> list[list[str]]:
        """For each prompt the texts that the model writes, one a beam; "" for a text without an end.

        A text ends within `max_new_tokens`, by default twice the prompt's tokens + 32.

        Raises: ClaimTooLongError for a prompt that the model cannot read at once.
        """
        import torch

        from groundrail.entailment.pretrained import longest_input

        inputs = self.tokenizer(list(prompts), return_tensors="pt", padding=True, truncation=False, verbose=False)
        tokens, limit = inputs["input_ids"].shape[1], longest_input(self.model, self.tokenizer)
        if limit is not None and tokens > limit:
            raise ClaimTooLongError(
                f"a claim of {tokens} tokens with its prompt does not fit a model that reads {limit}; "
                f"split it into sentences: {prompts[0][:80]!r}"
            )
        generate: Any = self.model.generate  # declared on no class of models
        with torch.inference_mode():
            rows = generate(
                **inputs.to(self.model.device),
                do_sample=False,
                num_beams=beams,
                num_return_sequences=beams,
                no_repeat_ngram_size=3 if beams > 1 else 0,
                early_stopping=beams > 1,
                max_new_tokens=max_new_tokens or 2 * tokens + 32,
            ).tolist()
        written = [self._text(row) for row in rows]
        return [written[start : start + beams] for start in range(0, len(written), beams)]

    def _text(self, ids: list[int]) -> str:
        """The text of what was generated behind the first token, which starts every text."""
        ends = self.model.generation_config.eos_token_id
        ended = set(ends if isinstance(ends, list) else [ends]).intersection(ids[1:])
        return str(self.tokenizer.decode(ids, skip_special_tokens=True)) if ended else ""
