"""A small model reads a claim more surely in the premise's spelling: "28 February" beside "28 February", not "2026-02-28".

The premise is read in the claim's person (`groundrail.entailment.addressed`). Claims in other languages than English are read as
they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from groundrail.entailment.addressed import addressed
from groundrail.entailment.base import FloatArray, JudgeMetadata, Pair, Wrapped
from groundrail.facts.mentions import Meaning, mentions
from groundrail.text.english.language import is_english


class Respelled(Wrapped):
    """An entailment model that reads claims in the premise's spelling; all else is its own."""

    @property
    def metadata(self) -> JudgeMetadata:
        """The model's, under a name that says how it reads."""
        metadata = self.model.metadata
        return replace(metadata, identity=f"{metadata.identity} in the premise's spelling and the claim's person")

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """The model's answers, shape (n, 3), to pairs that are respelled where they still fit."""
        changed = [_changed(premise, claim) if is_english(claim) else (premise, claim) for premise, claim in pairs]
        return self.model.classify([new if self._fits(old, new) else old for old, new in zip(pairs, changed, strict=True)])

    def _fits(self, old: Pair, new: Pair) -> bool:
        return new == old or sum(len(self.offsets(text)) for text in new) <= self.max_tokens


def _changed(premise: str, claim: str) -> Pair:
    return addressed(premise, claim), respelled(premise, claim)


def respelled(premise: str, claim: str) -> str:
    """The claim with every date, time, quantity and number spelt as the premise spells the same one."""
    spellings: dict[Meaning, list[str]] = {}
    for found in mentions(premise):
        for meaning in _answers_to(found.meaning):
            spellings.setdefault(meaning, []).append(premise[found.start : found.end])
    pieces, end = [], 0
    for found in mentions(claim):
        known = spellings.get(found.meaning)
        own = claim[found.start : found.end]
        if known and own.lower() not in {text.lower() for text in known}:
            opens = not claim[: found.start].strip()
            pieces += [claim[end : found.start], known[0][0].upper() + known[0][1:] if opens else known[0]]
            end = found.end
    return "".join([*pieces, claim[end:]])


def _answers_to(meaning: Meaning) -> Iterator[Meaning]:
    """A date with its year is spelling enough for the same date without."""
    yield meaning
    if meaning[0] == "date" and meaning[3] is not None:
        yield (*meaning[:3], None)
