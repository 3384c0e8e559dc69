"""The statement that a value makes in its field: one sentence for the judge, and for a yes or no the opposite one."""

import re
from datetime import datetime
from typing import Any

ENDS_LIKE_SENTENCE = re.compile(r"""[.!?…]["'”’)]*$""")
WHETHER = re.compile(r"(?:whether|if)\s+", re.IGNORECASE)
_YEARS = range(1900, 2101)
"""Range of numbers that may be years and are written without commas."""

_CURRENCIES = {"USD": "dollars", "EUR": "euros", "GBP": "pounds", "CHF": "Swiss francs", "JPY": "yen"}
_UNIT = re.compile(rf"(?i:(?P<name>.+(?<! in)) (?:in (?P<unit>.+)|(?P<code>{'|'.join(_CURRENCIES)})))")
"""A name with its unit: "amount in euros", "amount eur"."""
_AMOUNT = re.compile(
    rf"(?:(?P<before>{'|'.join(_CURRENCIES)})\s*)?(?P<number>-?\d[\d.,]*)(?:\s*(?P<after>{'|'.join(_CURRENCIES)}))?"
)

_STATE = re.compile(r"(?P<subject>.+?)\s+(?P<state>\w+(?:ed|able|ible)|allowed|open|free|due|forbidden)")
"""A thing and what it is: "pets allowed"."""
_ADJECTIVE = re.compile(r"\w+(?:ed|able|ible)")
_WITH_NO = re.compile(r"(?:no|not|non|without)[\s-]+(?P<thing>.+)")
"""Names that hold their own "no": "non smoking"."""
_LACKING = re.compile(
    r"(?P<thing>gluten|sugar|alcohol|lactose|nut|dairy|fat|meat|pet|noise|car|plastic|scent|barrier|step|tax|duty)"
    r"[\s-]+free"
)
_SMOKE_FREE = re.compile(r"smok(?:e|ing)[\s-]+free")
_EXTRA = re.compile(r"(?P<thing>.+?)\s+(?:extra|surcharge)")
_OPPOSITES = dict.fromkeys(("forbidden", "prohibited", "banned"), "allowed")
_VERB = re.compile(r"(?P<verb>is|are|was|were|has|have|can|must|may|will)\s+(?P<rest>.+)")

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?")
_MONTH_FIRST = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d{1,2}\b(?!\s*\d)"
)
_HALF_DAYS = re.compile(r"\d\s*[ap]\.?m\b", re.IGNORECASE)


def statement(label: str, value: str | int | float, *, in_list: bool, source: str = "") -> tuple[str, str]:
    """One sentence that states the value of a field, as the name and the value; dates are as `source` writes them.

    >>> statement("lease start", "2025-03-01", in_list=False)
    ('The lease start is ', '1 March 2025.')
    """
    written = _text(value, source) if isinstance(value, str) else _number(value)
    if not isinstance(value, str) and (measured := _UNIT.fullmatch(label)):
        unit = measured["unit"] or measured["code"]
        label, written = measured["name"], f"{written} {_CURRENCIES.get(unit.upper(), unit)}"
    verb = "is" if not in_list else "include" if label.endswith("s") else "includes"
    return f"The {label} {verb} ", written if ENDS_LIKE_SENTENCE.search(written) else f"{written}."


def truth_of(value: Any) -> bool | None:
    """The answer that a boolean, or a text such as "Yes", gives to its field; None for any other value.

    >>> truth_of(True), truth_of("FALSE"), truth_of("perhaps")
    (True, False, None)
    """
    if isinstance(value, str):
        return {"yes": True, "true": True, "no": False, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def both_ways(label: str) -> tuple[str, str]:
    """The sentences that a field of yes or no says where it is true and where it is false.

    >>> both_ways("pets allowed")
    ('Pets are allowed.', 'Pets are not allowed.')
    """
    outer, _, last = label.rpartition("'s ")
    it = f"the {outer}" if outer else "it"
    if clause := WHETHER.match(label):
        said = label[clause.end() :]
        return _sentence(said), f"It is not true that {said}."
    if found := _WITH_NO.fullmatch(last):
        thing = found["thing"]
        if _ADJECTIVE.fullmatch(thing):
            return _sentence(f"{it} is not {thing}"), _sentence(f"{it} is {thing}")
        return _sentence(f"there is no {thing}"), _sentence(f"there is {_counted(thing)}")
    if _SMOKE_FREE.fullmatch(last):
        return "There is no smoking.", "There is smoking."
    if found := _LACKING.fullmatch(last):
        return _sentence(f"{it} is {found['thing']}-free"), _sentence(f"{it} is not {found['thing']}-free")
    if found := _EXTRA.fullmatch(last):
        return _sentence(f"{found['thing']} costs extra"), _sentence(f"{found['thing']} is included")
    if last.startswith("un") and _ADJECTIVE.fullmatch(last):
        return _sentence(f"{it} is {last}"), _sentence(f"{it} is {last.removeprefix('un')}")
    if found := _VERB.fullmatch(last):
        return _with_verb(it, found["verb"], found["rest"])
    if state := _STATE.fullmatch(last):
        subject = state["subject"] if not outer else f"{outer}'s {state['subject']}"
        verb, said = "are" if subject.endswith("s") else "is", state["state"]
        opposite = f"{subject} {verb} {_OPPOSITES.get(said, f'not {said}')}"
        return _sentence(f"{subject} {verb} {said}"), _sentence(opposite)
    if _ADJECTIVE.fullmatch(last) or (outer and _STATE.fullmatch(f"it {last}")):
        return _with_verb(it, "is", last)
    return _sentence(f"{label}: yes"), _sentence(f"{label}: no")


def _with_verb(subject: str, verb: str, rest: str) -> tuple[str, str]:
    if verb in ("has", "have"):
        return _sentence(f"{subject} {verb} {_counted(rest)}"), _sentence(f"{subject} does not have {_counted(rest)}")
    return _sentence(f"{subject} {verb} {rest}"), _sentence(f"{subject} {verb} not {rest}")


def _counted(thing: str) -> str:
    """A thing with its article: "a lift", "pets", "smoking"."""
    if " " in thing or thing.endswith(("s", "ing")):
        return thing
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


def _sentence(said: str) -> str:
    return f"{said[:1].upper()}{said[1:]}."


def _text(value: str, source: str) -> str:
    said = " ".join(value.split())
    if _DATE.fullmatch(said):
        return _day(said, source)
    if (amount := _AMOUNT.fullmatch(said)) and (code := amount["before"] or amount["after"]):
        return f"{amount['number']} {_CURRENCIES[code]}"
    return said


def _number(value: int | float) -> str:
    number = int(value) if value == int(value) else value
    if number in _YEARS:
        return str(number)
    return f"minus {-number:,}" if number < 0 else f"{number:,}"


def _day(written: str, source: str) -> str:
    """A date, and a time of day where there is one, as the source writes them."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:  # no day of the calendar
        return written
    month, day = moment.strftime("%B"), moment.day
    said = f"{month} {day}, {moment.year}" if _MONTH_FIRST.search(source) else f"{day} {month} {moment.year}"
    if written[:10] in source:
        said = written[:10]
    if not (moment.hour or moment.minute):
        return said
    if _HALF_DAYS.search(source):
        return f"{said} at {moment.hour % 12 or 12}:{moment:%M} {'am' if moment.hour < 12 else 'pm'}"
    return f"{said} at {moment.hour}:{moment:%M}"
