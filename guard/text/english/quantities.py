"""Number words, calendar names and units, by what they are worth."""

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
MONTHS = "january february march april may june july august september october november december".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
CARDINALS = (
    {word: float(n) for n, word in enumerate(_ONES)}
    | {word: 10.0 * n for n, word in enumerate(_TENS, start=2)}
    | {f"{tens}-{ones}": 10.0 * t + o for t, tens in enumerate(_TENS, 2) for o, ones in enumerate(_ONES[1:10], 1)}
    | {"half": 0.5, "dozen": 12.0}
)
_UNIT_FAMILIES = (
    {
        "second": 1.0,
        "sec": 1.0,
        "minute": 60.0,
        "min": 60.0,
        "hour": 3600.0,
        "hr": 3600.0,
        "h": 3600.0,
        "day": 86400.0,
        "week": 604800.0,
        "fortnight": 1209600.0,
    },
    {"month": 1.0, "quarter": 3.0, "year": 12.0, "decade": 120.0, "century": 1200.0, "centuries": 1200.0},
    {"milligram": 0.001, "mg": 0.001, "gram": 1.0, "g": 1.0, "kilogram": 1e3, "kilo": 1e3, "kg": 1e3, "tonne": 1e6},
    {
        "millimetre": 1.0,
        "millimeter": 1.0,
        "mm": 1.0,
        "centimetre": 10.0,
        "centimeter": 10.0,
        "cm": 10.0,
        "metre": 1e3,
        "meter": 1e3,
        "m": 1e3,
        "kilometre": 1e6,
        "kilometer": 1e6,
        "km": 1e6,
    },
    {"millilitre": 1.0, "milliliter": 1.0, "ml": 1.0, "litre": 1e3, "liter": 1e3, "l": 1e3},
    {"euro": 1.0, "eur": 1.0, "€": 1.0},
    {"dollar": 1.0, "usd": 1.0, "$": 1.0},
    {"pound": 1.0, "gbp": 1.0, "£": 1.0},
    {"yen": 1.0, "jpy": 1.0, "¥": 1.0},
    {"franc": 1.0, "chf": 1.0},
    {"cent": 1.0},
    {"pence": 1.0},
    {"percent": 1.0, "per cent": 1.0, "%": 1.0},
    {"percentage point": 1.0},
    {"°": 1.0, "degree": 1.0},
    {"°c": 1.0, "degrees celsius": 1.0, "celsius": 1.0},
    {"°f": 1.0, "degrees fahrenheit": 1.0, "fahrenheit": 1.0},
    {"bar": 1.0},
    {"psi": 1.0},
    {"volt": 1.0, "v": 1.0},
    {"watt": 1.0, "w": 1.0, "kilowatt": 1e3, "kw": 1e3, "megawatt": 1e6, "mw": 1e6, "gigawatt": 1e9, "gw": 1e9},
    {"kwh": 1.0, "kilowatt-hour": 1.0, "kilowatt hour": 1.0},
    {"mile": 1.0},
    {"mph": 1.0, "miles per hour": 1.0},
    {"km/h": 1.0, "kph": 1.0, "kilometres per hour": 1.0, "kilometers per hour": 1.0},
    {"foot": 1.0, "feet": 1.0, "ft": 1.0},
    {"inch": 1.0, "inches": 1.0},
    {"kb": 1.0, "mb": 1e3, "gb": 1e6, "tb": 1e9},
    {"mbps": 1.0, "gbps": 1e3},
)
UNITS = {unit: (family, size) for family, units in enumerate(_UNIT_FAMILIES) for unit, size in units.items()}
"""Unit -> (its family, its size in the family's smallest unit)."""

WITH_PLURAL = frozenset(unit for unit in UNITS if (len(unit) > 2 and unit.isalpha()) or " " in unit or "-" in unit) - {
    "feet", "inches", "centuries", "eur", "usd", "gbp", "jpy", "chf", "psi", "mph", "kwh", "kph", "mbps", "gbps",
    "celsius", "fahrenheit", "percent", "per cent", "yen", "pence"
}  # fmt: skip
SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
SCALE_LETTERS = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "tn": 1e12}
"""Beside a sum of money: $1.5m."""
