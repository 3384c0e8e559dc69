"""InFusE's sub-sentences (section 3), written by any sequence-to-sequence model.

`groundrail.papers.units.clauses` has a splitter that needs no model, `groundrail.evaluation.units` the scorer that joins
the units. Glover et al.'s summary content units are different: there is one for each verb, from a semantic role labeller.
This package has no splitter for them; a class that makes them can implement `groundrail.evaluation.units.Units`.
"""

import difflib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from groundrail.evaluation.units import Unit
from groundrail.papers.pretrained import Writer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_WORD = re.compile(r"\w+")


class Seq2SeqSplitter(Writer):
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
        super().__init__(model, tokenizer)
        self.prefix, self.separator, self.max_new_tokens = prefix, separator, max_new_tokens

    def split(self, claim: str) -> list[Unit]:
        """The units that the model writes, aligned with `claim`.

        Raises: ClaimTooLongError for a claim that the model cannot read at once.
        """
        if not claim.strip():
            return []
        ((written,),) = self.write([self.prefix + claim], self.max_new_tokens)
        if self.separator is None:
            from groundrail.text.sentences import split

            units = [sentence.text.strip() for sentence in split(written)]
        else:
            units = [unit.strip() for unit in written.split(self.separator)]
        return [_aligned(unit, claim) for unit in units if _WORD.search(unit)] or [Unit.whole(claim)]


def _aligned(unit: str, claim: str) -> Unit:
    """The unit with the slice of the claim between the first and the last word that both share in order."""
    ours, theirs = list(_WORD.finditer(claim)), _WORD.findall(unit.lower())
    matcher = difflib.SequenceMatcher(None, [match[0].lower() for match in ours], theirs, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return replace(Unit.whole(claim), text=unit)
    last = blocks[-1]
    return Unit(unit, ours[blocks[0].a].start(), ours[last.a + last.size - 1].end())
