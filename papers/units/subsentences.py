"""Units smaller than a sentence: InFusE's sub-sentences (section 3).

This module has the interface of splitters, the units for `groundrail.papers.units.base`, and a splitter with any
sequence-to-sequence model. `groundrail.papers.units.clauses` has a splitter that needs no model.

Glover et al.'s summary content units are different: there is one for each verb, from a semantic role labeller. This
package has no splitter for them; a class that makes them can implement `SubSentenceSplitter`.
"""

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from groundrail.errors import ClaimTooLongError
from groundrail.papers.units.base import Unit
from groundrail.papers.units.clauses import ClauseSplitter, SubSentence
from groundrail.runtime.locks import one_at_a_time
from groundrail.types import Span

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["ClauseSplitter", "Seq2SeqSplitter", "SubSentence", "SubSentenceSplitter", "SubSentenceUnits"]

_WORD = re.compile(r"\w+")


@runtime_checkable
class SubSentenceSplitter(Protocol):
    """Cut one sentence into statements that can be judged separately."""

    def split(self, claim: str) -> Sequence[SubSentence]:
        """The sub-sentences in order, with offsets into `claim`; at least one if the claim has words."""
        ...


class SubSentenceUnits:
    """Cut a claim into the sub-sentences of all its sentences, for `groundrail.papers.units.base.UnitScorer`.

    Take the minimum over the units: a claim is supported if all its parts are. InFusE takes the minimum within each
    sentence and the mean over sentences: `groundrail.scoring.registry.in_units(scorer, "subsentences")`.
    """

    def __init__(self, splitter: SubSentenceSplitter | None = None) -> None:
        self.splitter: SubSentenceSplitter = ClauseSplitter() if splitter is None else splitter

    def split(self, claim: str) -> Sequence[Unit]:
        """The sub-sentences of all sentences of `claim`, in order, with offsets into it."""
        from groundrail.text.sentences import split

        return [
            SubSentence(part.text, sentence.start + part.start, sentence.start + part.end)
            for sentence in split(claim)
            for part in self.splitter.split(sentence.text)
        ]


class Seq2SeqSplitter:
    """Cut a claim by an encoder-decoder that is trained to split and rephrase.

    InFusE (appendix B) uses a T5-large tuned on WiCE's splits.

        Seq2SeqSplitter.from_pretrained("my/splitter", prefix="split: ")

    The model writes new text. The offsets of a unit cover the claim's words that the unit repeats in order, from the
    first to the last, or the whole claim if it repeats none. A claim stays whole if the model writes no word, or does
    not end within `max_new_tokens` (by default twice the claim's tokens + 32).

    Args:
        prefix: Text before the claim, as in the model's training.
        separator: The text that the model writes between units; None if it writes plain sentences.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        *,
        prefix: str = "",
        separator: str | None = None,
        max_new_tokens: int | None = None,
    ) -> None:
        self.model = model.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = tokenizer
        self.prefix = prefix
        self.separator = separator
        self.max_new_tokens = max_new_tokens

    @classmethod
    @one_at_a_time
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        device: "str | torch.device | None" = None,
        dtype: "str | torch.dtype | None" = None,
        prefix: str = "",
        separator: str | None = None,
        max_new_tokens: int | None = None,
        **hub: Any,
    ) -> Self:
        """Load by hub id or folder. `hub` goes to transformers (`revision`, ...).

        Raises: ModelError if the model cannot be loaded.
        """
        from transformers import AutoModelForSeq2SeqLM

        from groundrail.runtime.hub import load_pretrained

        model, tokenizer = load_pretrained(AutoModelForSeq2SeqLM, name_or_path, device=device, dtype=dtype, hub=hub)
        return cls(model, tokenizer, prefix=prefix, separator=separator, max_new_tokens=max_new_tokens)

    def split(self, claim: str) -> list[SubSentence]:
        """The units that the model writes, aligned with `claim`.

        Raises: ClaimTooLongError for a claim that the model cannot read at once.
        """
        if not claim.strip():
            return []
        written = self._written(claim)
        if self.separator is None:
            from groundrail.text.sentences import split

            units = [sentence.text.strip() for sentence in split(written)]
        else:
            units = [unit.strip() for unit in written.split(self.separator)]
        units = [unit for unit in units if _WORD.search(unit)]
        return [_aligned(unit, claim) for unit in units] or [_whole(claim)]

    def _written(self, claim: str) -> str:
        import torch

        from groundrail.entailment.pretrained import longest_input

        inputs = self.tokenizer(self.prefix + claim, return_tensors="pt", truncation=False, verbose=False)
        tokens, limit = inputs["input_ids"].shape[1], longest_input(self.model, self.tokenizer)
        if limit is not None and tokens > limit:
            raise ClaimTooLongError(
                f"a claim of {tokens} tokens does not fit a splitter that reads {limit}; "
                f"split it into sentences first: {claim[:80]!r}"
            )
        with torch.inference_mode():
            (ids,) = self.model.generate(
                **inputs.to(self.model.device),
                do_sample=False,
                max_new_tokens=self.max_new_tokens or 2 * tokens + 32,
            ).tolist()
        ends = self.model.generation_config.eos_token_id
        ended = ids[-1] in (ends if isinstance(ends, list) else [ends, self.tokenizer.pad_token_id])
        return str(self.tokenizer.decode(ids, skip_special_tokens=True)) if ended else ""


def _whole(claim: str) -> SubSentence:
    return SubSentence(claim.strip(), *Span.trimmed(claim))


def _aligned(unit: str, claim: str) -> SubSentence:
    """The unit with the slice of the claim between the first and the last word that both share in order."""
    ours, theirs = list(_WORD.finditer(claim)), _WORD.findall(unit.lower())
    matcher = difflib.SequenceMatcher(None, [match[0].lower() for match in ours], theirs, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        whole = _whole(claim)
        return SubSentence(unit, whole.start, whole.end)
    last = blocks[-1]
    return SubSentence(unit, ours[blocks[0].a].start(), ours[last.a + last.size - 1].end())
