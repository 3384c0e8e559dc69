"""A claim in its premise's spelling: dates, times, quantities and numbers that mean the same are written alike.

A small model knows that `1 March 2025` entails `1 March 2025`, and less surely that it entails `2025-03-01`. Nothing
that differs in meaning is touched; the model judges.
"""

from collections.abc import Iterator

from groundrail.text.facts.mentions import Meaning, mentions


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
