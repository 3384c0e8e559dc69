"""The figures of a text: its dates, times, quantities and numbers, each with its place and its meaning.

English, in words and in digits. `missing.py` compares a claim's figures with a premise's.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from groundrail.text.english.quantities import (
    CARDINALS,
    MONTHS,
    ORDINALS,
    SCALE_LETTERS,
    SCALES,
    UNITS,
    WITH_PLURAL,
)

Meaning: TypeAlias = tuple[str | float | None, ...]
"""A kind, then its values: ("date", day, month, year or None), ("time", minutes), ("quantity", family, value), ..."""

MONTH_STEMS = [month[:3] for month in MONTHS]

_SMALL = "|".join(sorted((re.escape(word) for word in CARDINALS), key=len, reverse=True))
_SCALE = "|".join(SCALES)
_WORDS = rf"(?:{_SMALL})(?:(?: (?:{_SCALE}))+(?:(?: and)? (?:{_SMALL})(?: (?:{_SCALE}))+)*(?:(?: and)? (?:{_SMALL})\b)?)?"
_DIGITS = rf"(?<![\w.,])(?:(?<!\S)[-−](?=\d))?(?:\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?)(?: (?:{_SCALE})\b)?"
_NUMBER = rf"(?:{_DIGITS}|\b{_WORDS}\b)"
_ORDINAL = "|".join(ORDINALS)
_UNIT = "|".join(re.escape(u) + ("s?" if u in WITH_PLURAL else "") for u in sorted(UNITS, key=len, reverse=True))
_NAMES = [month.capitalize() for month in MONTHS]
_MONTH = "(?-i:" + "|".join([*_NAMES, *(rf"{name[:3]}t?\b\.?" for name in _NAMES)]) + ")"
_YEAR = r"(?:,? (?P<y{0}>\d{{4}})\b)?"
_FIGURE = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
_POWERS = "[\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u207a\u207b]"
_FRACTIONS = "[\u00bc-\u00be\u2150-\u215f\u2189]"
_MENTION = re.compile(
    # a root, a power, a power of ten and a mixed fraction are other figures than the digits that they are written with
    rf"(?P<literal>(?:[€$£¥]\s?)?(?:√\s?{_FIGURE}|(?<![\w.,]){_FIGURE}(?:e[+-]?\d+|\^[+-]?\d+|{_POWERS}+|\s?{_FRACTIONS})))"
    rf"|(?P<date>\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MONTH}){_YEAR.format(1)}(?!\w)"
    rf"|\b(?P<m2>{_MONTH}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR.format(2)}"
    r"|\b(?P<y3>\d{4})-(?P<m3>\d{2})-(?P<d3>\d{2})\b"
    r"|\b(?P<d4>\d{1,2})\.(?P<m4>\d{1,2})\.(?P<y4>\d{4})\b)"
    r"|(?P<slashed>\b(?P<n1>\d{1,2})/(?P<n2>\d{1,2})/(?P<n3>\d{4})\b)"
    rf"|(?P<time>\b(?P<hour>\d{{1,2}}|{_SMALL})(?::(?P<minute>\d\d))?\s?(?P<half>[ap]m\b|[ap]\.m\.|in the (?:morning|afternoon|evening))"
    r"|\b(?P<hour24>\d{1,2}):(?P<minute24>\d\d)\b|\b(?P<clock>noon|midnight)\b)"
    rf"|(?P<sign>[€$£¥]|\b(?:EUR|USD|GBP|JPY|CHF)\b)\s?(?P<sum>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?|\b{_WORDS}\b)"
    rf"(?: ?(?P<scale>(?:{_SCALE})|{'|'.join(SCALE_LETTERS)}))?(?![^\W_])"
    rf"|(?P<half_a>\bhalf an? (?P<halved>{_UNIT})\b)"
    rf"|\b(?:(?P<ordinal>{_ORDINAL})|(?P<nth>\d{{1,2}})(?:st|nd|rd|th))\b"
    rf"|(?P<minus>\bminus )?(?P<number>{_NUMBER})(?:[ -]?(?P<unit>°\s?[CF]\b|{_UNIT})(?![^\W\d_]|[23]\b))?",
    re.IGNORECASE,
)
_LOOKS_LIKE = str.maketrans("\u017f\u0131\u0130\u212a", "siIK")
"""Letters that match others where case is ignored, and have no place in a table of words."""


class Mention(NamedTuple):
    """`text[start:end]`, what it means, and the plain numbers that it says."""

    start: int
    end: int
    meaning: Meaning
    numbers: tuple[float, ...]


@lru_cache(maxsize=4096)
def mentions(text: str) -> tuple[Mention, ...]:
    """The parts of a text that have other spellings with the same meaning."""
    return tuple(_mentions(text))


def opens(mention: Mention, text: str) -> bool:
    """Whether it is a number in digits that a line begins with, as clauses and points do: 3.2 says nothing of the rent."""
    return mention.meaning[0] == "number" and text[mention.start].isdigit() and not text[: mention.start].strip()


def _mentions(text: str) -> Iterator[Mention]:
    for match in _MENTION.finditer(text.translate(_LOOKS_LIKE)):
        meaning = _meaning(match)
        if meaning is not None:
            yield Mention(match.start(), match.end(), meaning, tuple(_numbers(match, meaning)))


def _numbers(match: re.Match[str], meaning: Meaning) -> Iterator[float]:
    match meaning:
        case ("date", float(day), _, year):
            yield day
            if isinstance(year, float):
                yield year
        case ("time", float(minutes)):
            yield from (minutes // 60, minutes // 60 % 12 or 12.0, minutes % 60)
        case ("quantity", *_):
            part = match.groupdict()
            if part["sum"]:
                yield _value(part["sum"]) * _scale(part["scale"])
            elif part["number"]:
                yield _value(part["number"])
        case ("number" | "ordinal", float(value)):
            yield value


def _meaning(match: re.Match[str]) -> Meaning | None:
    part = match.groupdict()
    if part["literal"]:
        return ("literal", match[0])
    if part["slashed"]:
        return _slashed(part["slashed"], *(float(part[n] or 0) for n in ("n1", "n2", "n3")))
    if part["date"]:
        number = next(n for n in "1234" if part[f"d{n}"])
        month = part[f"m{number}"].lower()
        index = int(month) if month.isdigit() else MONTH_STEMS.index(month[:3]) + 1
        year = part[f"y{number}"]
        if not 1 <= index <= 12:  # 10.20.2024 is no date
            return ("literal", match[0])
        return ("date", float(part[f"d{number}"]), float(index), float(year) if year else None)
    if part["time"]:
        return _time(part)
    if (part["ordinal"] or "").lower() == "first":  # as often an adverb
        return None
    if part["ordinal"] or part["nth"]:
        return ("ordinal", float(part["nth"] or ORDINALS.index(part["ordinal"].lower()) + 1))
    if part["half_a"]:
        return _quantity(part["halved"], 0.5)
    if part["sum"]:
        return _quantity(part["sign"], _value(part["sum"]) * _scale(part["scale"]))
    value = -_value(part["number"]) if part["minus"] else _value(part["number"])
    unit = part["unit"]
    if unit is not None and unit not in ("M", "G"):  # 5M is millions, 5G a network
        return _quantity(unit, value)
    if part["number"].lower() in ("one", "half"):  # as often a pronoun, and a manner of speaking
        return None
    return ("number", value)


def _time(part: dict[str, str | None]) -> Meaning:
    if part["hour24"]:
        return ("time", 60.0 * float(part["hour24"]) + float(part["minute24"] or 0))
    if part["hour"] is None:
        return ("time", 720.0 if (part["clock"] or "").lower() == "noon" else 0.0)
    half = (part["half"] or "").lower()
    later = half.startswith("p") or half.endswith(("afternoon", "evening"))
    return ("time", 60 * (_value(part["hour"]) % 12 + 12 * later) + float(part["minute"] or 0))


def _slashed(written: str, first: float, second: float, year: float) -> Meaning:
    """15/03/2025 and 03/15/2025 are one date; 03/04/2025 is two, and means what it says, letter by letter."""
    month, day = sorted((first, second))
    if not (1 <= month <= 12 and day <= 31) or month < day <= 12:
        return ("literal", written)
    return ("date", day, month, year)


def _scale(word: str | None) -> float:
    return 1.0 if word is None else (SCALES | SCALE_LETTERS)[word.lower()]


def _value(number: str) -> float:
    """`two hundred and fifty`, `1.86 million`, `1,450`, `-5`: the sum of its parts, each with its scales."""
    total, group = 0.0, 0.0
    for word in number.lower().replace(",", "").replace("−", "-").split():
        if word == "hundred":
            group *= 100
        elif word in SCALES:
            total, group = total + group * SCALES[word], 0.0
        elif word != "and":
            group += CARDINALS[word] if word in CARDINALS else float(word)
    return total + group


def _quantity(unit: str, value: float) -> Meaning:
    lower = unit.lower()
    if lower.startswith("°"):
        lower = "".join(lower.split())
    family, size = UNITS[lower] if lower in UNITS else UNITS[lower.removesuffix("s")]
    return ("quantity", float(family), round(value * size, 6))
