"""A small model reads a claim more surely in the premise's spelling: "28 February" beside "28 February", not "2026-02-28".

It knows English only: claims in other languages are read as they are.
"""

from collections.abc import Sequence
from dataclasses import replace

from groundrail.entailment.base import FloatArray, JudgeFacts, Pair, Wrapped
from groundrail.text.english.language import is_english
from groundrail.text.facts.spelling import respelled


class Respelled(Wrapped):
    """An entailment model that reads claims in the premise's spelling (`english/spelling.py`); all else is its own."""

    @property
    def facts(self) -> JudgeFacts:
        """The model's, under a name that says how it reads."""
        facts = self.model.facts
        return replace(facts, identity=f"{facts.identity} in the premise's spelling")

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """The model's answers, shape (n, 3), with claims respelled that still fit beside their premises."""
        changed = [(premise, respelled(premise, claim) if is_english(claim) else claim) for premise, claim in pairs]
        return self.model.classify(
            [
                new if new == old or self._length(new) <= self.max_tokens else old
                for old, new in zip(pairs, changed, strict=True)
            ]
        )

    def _length(self, pair: Pair) -> int:
        return sum(len(self.offsets(text)) for text in pair)
