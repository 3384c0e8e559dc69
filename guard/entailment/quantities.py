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
VALUES = CARDINALS | {word: float(n) for n, word in enumerate(ORDINALS, start=1)} | {"noon": 12.0}
_UNIT_FAMILIES = (
    {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0, "fortnight": 1209600.0},
    {"month": 1.0, "year": 12.0},
    {"gram": 1.0, "g": 1.0, "kilogram": 1000.0, "kg": 1000.0},
    {"metre": 1.0, "meter": 1.0, "m": 1.0, "kilometre": 1000.0, "kilometer": 1000.0, "km": 1000.0},
    {"centimetre": 1.0, "centimeter": 1.0, "cm": 1.0, "millimetre": 0.1, "millimeter": 0.1, "mm": 0.1},
    {"millilitre": 1.0, "milliliter": 1.0, "ml": 1.0, "litre": 1000.0, "liter": 1000.0, "l": 1000.0},
    {"bar": 1.0},
    {"euro": 1.0, "eur": 1.0, "€": 1.0},
    {"dollar": 1.0, "usd": 1.0, "$": 1.0},
    {"pound": 1.0, "gbp": 1.0, "£": 1.0},
    {"percent": 1.0, "%": 1.0},
    {"°": 1.0},
    {"volt": 1.0, "v": 1.0},
    {"watt": 1.0, "w": 1.0, "kilowatt": 1000.0, "kw": 1000.0},
    {"mile": 1.0},
    {"foot": 1.0, "feet": 1.0},
    {"inch": 1.0, "inches": 1.0},
)
UNITS = {unit: (family, size) for family, units in enumerate(_UNIT_FAMILIES) for unit, size in units.items()}
SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}
