"""A claim in its premise's spelling: dates, times, quantities and numbers that mean the same are written alike.

A small model knows that `1 March 2025` entails `1 March 2025`, and less surely that it entails
`2025-03-01`. Nothing that differs in meaning is touched; judging is left to the model.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from groundrail.entailment.quantities import CARDINALS, MONTHS, ORDINALS, SCALES, UNITS

Meaning = tuple[str | float | None, ...]

_SMALL = "|".join(sorted((re.escape(word) for word in CARDINALS), key=len, reverse=True))
_SCALE = "|".join(SCALES)
_WORDS = (
    rf"(?:{_SMALL})(?:(?: (?:{_SCALE}))+(?:(?: and)? (?:{_SMALL})(?: (?:{_SCALE}))+)*(?:(?: and)? (?:{_SMALL})\b)?)?"
)
_DIGITS = rf"(?:\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?)(?: (?:{_SCALE})\b)?"
_NUMBER = rf"(?:{_DIGITS}|\b{_WORDS}\b)"
_ORDINAL = "|".join(ORDINALS)
_UNIT = "|".join(sorted((re.escape(unit) for unit in UNITS), key=len, reverse=True))
_MONTH = "|".join([*MONTHS, *(rf"{month[:3]}t?\b\.?" for month in MONTHS)])
_YEAR = r"(?:,? (?P<y{0}>\d{{4}})\b)?"
_MENTION = re.compile(
    rf"(?P<date>\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MONTH}){_YEAR.format(1)}(?!\w)"
    rf"|\b(?P<m2>{_MONTH}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR.format(2)}"
    r"|\b(?P<y3>\d{4})-(?P<m3>\d{2})-(?P<d3>\d{2})\b"
    r"|\b(?P<d4>\d{1,2})\.(?P<m4>\d{1,2})\.(?P<y4>\d{4})\b)"
    rf"|(?P<time>\b(?P<hour>\d{{1,2}}|{_SMALL})(?::(?P<minute>\d\d))?\s?(?P<half>[ap]m\b|[ap]\.m\.|in the (?:morning|afternoon|evening))"
    r"|\b(?P<hour24>\d{1,2}):(?P<minute24>\d\d)\b|\b(?P<clock>noon|midnight)\b)"
    rf"|(?P<sign>[€$£]|\b(?:EUR|USD|GBP)\b)\s?(?P<sum>{_NUMBER})"
    rf"|(?P<half_a>\bhalf an? (?P<halved>{_UNIT})\b)"
    rf"|\b(?:(?P<ordinal>{_ORDINAL})|(?P<nth>\d{{1,2}})(?:st|nd|rd|th))\b"
    rf"|(?P<number>{_NUMBER})(?:[ -]?(?P<unit>%|°(?:\s?C\b)?|degrees(?: Celsius)?|per cent\b|(?:{_UNIT})s?(?![^\W\d_])))?",
    re.IGNORECASE,
)


class Mention(NamedTuple):
    """`text[start:end]` and what it means."""

    start: int
    end: int
    meaning: Meaning


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


@lru_cache(maxsize=4096)
def mentions(text: str) -> tuple[Mention, ...]:
    """What of a text has a meaning that other spellings share."""
    return tuple(_mentions(text))


def _mentions(text: str) -> Iterator[Mention]:
    for match in _MENTION.finditer(text):
        meaning = _meaning(match)
        if meaning is not None:
            yield Mention(match.start(), match.end(), meaning)


def _answers_to(meaning: Meaning) -> Iterator[Meaning]:
    """A date with its year is spelling enough for the same date without."""
    yield meaning
    if meaning[0] == "date" and meaning[3] is not None:
        yield (*meaning[:3], None)


def _meaning(match: re.Match[str]) -> Meaning | None:
    part = match.groupdict()
    if part["date"]:
        number = next(n for n in "1234" if part[f"d{n}"])
        month = part[f"m{number}"].lower()
        index = int(month) if month.isdigit() else [m[:3] for m in MONTHS].index(month[:3]) + 1
        year = part[f"y{number}"]
        return ("date", float(part[f"d{number}"]), float(index), float(year) if year else None)
    if part["time"]:
        return _time(part)
    if part["ordinal"] or part["nth"]:
        return ("ordinal", float(part["nth"] or ORDINALS.index(part["ordinal"].lower()) + 1))
    if part["half_a"]:
        return _quantity(part["halved"], 0.5)
    if part["sum"]:
        return _quantity(part["sign"], _value(part["sum"]))
    value = _value(part["number"])
    unit = part["unit"]
    if unit is None:
        return ("number", value) if value not in (0.5, 1.0) else None  # "one" is as often a pronoun
    return _quantity(unit, value)


def _time(part: dict[str, str | None]) -> Meaning:
    if part["hour24"]:
        return ("time", 60.0 * float(part["hour24"]) + float(part["minute24"] or 0))
    if part["hour"] is None:
        return ("time", 720.0 if (part["clock"] or "").lower() == "noon" else 0.0)
    half = (part["half"] or "").lower()
    later = half.startswith("p") or half.endswith(("afternoon", "evening"))
    return ("time", 60 * (_value(part["hour"]) % 12 + 12 * later) + float(part["minute"] or 0))


def _value(number: str) -> float:
    """`two hundred and fifty`, `1.86 million`, `1,450`: the sum of its parts, each with its scales."""
    total, group = 0.0, 0.0
    for word in number.lower().replace(",", "").split():
        if word == "hundred":
            group *= 100
        elif word in SCALES:
            total, group = total + group * SCALES[word], 0.0
        elif word != "and":
            group += CARDINALS[word] if word in CARDINALS else float(word)
    return total + group


def _quantity(unit: str, value: float) -> Meaning:
    lower = unit.lower()
    if lower.startswith(("°", "degrees")):
        lower = "°"
    elif lower == "per cent":
        lower = "%"
    family, size = UNITS[lower] if lower in UNITS else UNITS[lower.removesuffix("s")]
    return ("quantity", float(family), round(value * size, 6))
