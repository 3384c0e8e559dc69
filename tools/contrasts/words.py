"""English spelling: numbers, plurals, articles, times of day, dates and amounts of money.

Each function that has a choice of spellings takes a random generator, so that an equal seed gives equal words.
"""

import re
from random import Random

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_PLURALS = {
    "person": "people",
    "child": "children",
    "man": "men",
    "woman": "women",
    "half": "halves",
    "loaf": "loaves",
    "foot": "feet",
    "fish": "fish",
    "inch": "inches",
}
_MONTHS = (
    "January February March April May June July August September October November December"
).split()  # fmt: skip
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_VOWEL = re.compile(r"(?:[aeiou]|hour|honest|heir|8|11\b|18\b|80)(?<!uni)(?<!use)(?<!euro)", re.IGNORECASE)
_CONSONANT = re.compile(r"(?:uni[ft vq]|use|usu|user|euro|one\b|once)", re.IGNORECASE)


def in_words(number: int) -> str:
    """A number from 0 to 999 in words.

    >>> in_words(42), in_words(110)
    ('forty-two', 'one hundred and ten')
    """
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    hundreds, rest = divmod(number, 100)
    return f"{_ONES[hundreds]} hundred" + (f" and {in_words(rest)}" if rest else "")


def number(value: int, rng: Random) -> str:
    """A number in digits, or now and then in words if it is short."""
    short = value <= 12 or (value < 100 and value % 10 == 0)
    if short and rng.random() < 0.4:
        return in_words(value)
    return f"{value:,}" if value >= 1000 else str(value)


def ordinal(value: int, rng: Random) -> str:
    """A rank as a word or in digits.

    >>> ordinal(3, Random(2)), ordinal(22, Random(0))
    ('3rd', '22nd')
    """
    if value < 20 and rng.random() < 0.6:
        word = in_words(value)
        return _ORDINALS.get(word, f"{word}th")
    ending = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


def plural(noun: str) -> str:
    """The plural of a noun; of several words, the last one.

    >>> plural("free ticket"), plural("box"), plural("entry"), plural("day")
    ('free tickets', 'boxes', 'entries', 'days')
    """
    before, space, last = noun.rpartition(" ")
    if last in _PLURALS:
        last = _PLURALS[last]
    elif re.search(r"[^aeiou]y$", last):
        last = last[:-1] + "ies"
    else:
        last += "es" if re.search(r"(?:s|x|ch|sh)$", last) else "s"
    return before + space + last


def articles(text: str) -> str:
    """The text with "a" or "an" as the next word sounds.

    >>> articles("a hour, an uniform, a apple, a 80-page book, an lift")
    'an hour, a uniform, an apple, an 80-page book, a lift'
    """

    def right(found: re.Match[str]) -> str:
        vowel = not _CONSONANT.match(found[2]) and _VOWEL.match(found[2])
        return found[1] + ("n" if vowel else "") + " " + found[2]

    return re.sub(r"\b([Aa])n? (?!and\b|or\b)([\w€]\w*)", right, text)


def clock(minutes: int, rng: Random) -> str:
    """A time of day, given in minutes after midnight.

    >>> {clock(810, Random(seed)) for seed in range(9)} == {"1:30 pm", "13:30", "1.30 p.m."}
    True
    """
    hour, minute = divmod(minutes, 60)
    half, twelve = ("am", "pm")[hour >= 12], (hour - 1) % 12 + 1
    if not minute:
        return rng.choice((f"{hour}:00", f"{twelve} {half}", f"{twelve} {half[0]}.m.", f"{twelve} o'clock {_PART[half]}"))
    return rng.choice((f"{hour}:{minute:02}", f"{twelve}:{minute:02} {half}", f"{twelve}.{minute:02} {half[0]}.m."))


_PART = {"am": "in the morning", "pm": "p.m."}


def duration(minutes: int, rng: Random) -> str:
    """A length of time, given in minutes.

    >>> duration(90, Random(0)) in {"90 minutes", "1 h 30 min", "1 hour and 30 minutes", "90 min"}
    True
    """
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{minutes} {'minute' if minutes == 1 else 'minutes'}"
    named = f"{hours} {'hour' if hours == 1 else 'hours'}"
    if not rest:
        return rng.choice((f"{minutes} minutes", f"{hours} h", named))
    full = f"{named} and {rest} {'minute' if rest == 1 else 'minutes'}"
    return rng.choice((f"{minutes} minutes", f"{hours} h {rest} min", full, f"{minutes} min"))


def date(day: int, rng: Random) -> str:
    """A day of the year, given as its number from 1 to 365.

    >>> date(60, Random(0)) in {"1 March", "March 1", "1st March", "the 1st of March"}
    True
    """
    month = 0
    while day > _DAYS[month]:
        day -= _DAYS[month]
        month += 1
    name = _MONTHS[month]
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return rng.choice((f"{day} {name}", f"{day} {name}", f"{name} {day}", f"{day}{ending} {name}"))


def money(amount: int, rng: Random) -> str:
    """An amount of euros.

    >>> money(40, Random(0)) in {"€40", "40 euros", "EUR 40"}
    True
    """
    digits = f"{amount:,}" if amount >= 1000 else str(amount)
    return rng.choice((f"€{digits}", f"{digits} euros", f"EUR {digits}"))


def sentence(text: str) -> str:
    """The words as a sentence: a capital first, a full stop last, and the right articles.

    >>> sentence("a hour is enough")
    'An hour is enough.'
    """
    text = articles(" ".join(text.split()))
    if text[0].isdigit():
        digits = re.match(r"\d+(?![\d,.:]| ?[ap]m| ?[ap]\.m| [A-Z])\b", text)
        if digits and int(digits[0]) < 1000 and not re.match(r"\d+ ?(?:%|(?:h|min|kg|km|cm|m|g)\b)", text):
            text = in_words(int(digits[0])) + text[digits.end() :]
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?", "!", '."')) else text + "."
