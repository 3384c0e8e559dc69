"""Every way to compute a figure from other figures: "4,350 euros" is "3 x 1,450 euros".

Sums, differences, products, quotients, per cent, spans between dates, and dates some time later.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations
from typing import NamedTuple

from groundrail.facts.mentions import Mention
from groundrail.text.english.quantities import UNITS

_SECONDS, _MONTHS, _PERCENT = (float(UNITS[unit][0]) for unit in ("second", "month", "percent"))
_DAY = 86400
CLOSE = Fraction("0.005")
"""Maximum relative difference of a figure from its computation: figures are often rounded."""
MOST = 40
"""Maximum number of figures of a premise that are combined."""


class Way(NamedTuple):
    """A way to compute a figure: `form` takes the operands' words, as "{0} x {1}" does."""

    form: str
    operands: tuple[Mention, ...]


def ways(figure: Mention, given: Sequence[Mention], within: Fraction = Fraction(0)) -> Iterator[Way]:
    """Every way to compute `figure` from the first 40 of the `given` figures, with a relative difference of `within` at most.

    >>> from groundrail.facts.mentions import mentions
    >>> [way.form for way in ways(mentions("50 euros")[0], mentions("20 euros, 30 euros, 80 euros"))]
    ['{0} + {1}', '{0} - {1}']
    """
    finite = [each for each in given[:MOST] if is_finite(each)]
    if not is_finite(figure):
        return
    if figure.meaning[0] in ("date", "time"):
        yield from _later(figure, finite)
    elif figure.meaning[0] in ("quantity", "number"):
        yield from _computed(figure, finite, within)


def is_product(figure: Mention, a: Mention, b: Mention) -> bool:
    """Whether `figure` is about one of `a` and `b` times the number of the other.

    >>> from groundrail.facts.mentions import mentions
    >>> cost, count, price = mentions("4,350 euros, 3 months, 1,450 euros")
    >>> is_product(cost, count, price), is_product(price, count, cost)
    (True, False)
    """
    return all(map(is_finite, (figure, a, b))) and any(
        _kind(amount) == _kind(figure)
        and _kind(count)[0] in ("number", "quantity")
        and count.numbers
        and _close(value_of(amount) * _exact(count.numbers[0]), value_of(figure), CLOSE)
        for count, amount in ((a, b), (b, a))
    )


def _computed(figure: Mention, given: Sequence[Mention], within: Fraction) -> Iterator[Way]:
    wanted = value_of(figure)
    same = [each for each in given if _kind(each) == _kind(figure)]
    for a, b in combinations(same, 2):
        if _close(value_of(a) + value_of(b), wanted, within):
            yield Way("{0} + {1}", (a, b))
        for more, less in ((a, b), (b, a)):
            if wanted and _close(value_of(more) - value_of(less), wanted, within):
                yield Way("{0} - {1}", (more, less))
    if len(same) > 2 and _close(sum(map(value_of, same), Fraction(0)), wanted, within):
        yield Way(" + ".join(f"{{{number}}}" for number in range(len(same))), tuple(same))
    for a, b in permutations(given, 2):
        if _kind(b) != _kind(figure) or not a.numbers or _kind(a)[0] not in ("number", "quantity"):
            continue
        times = _exact(a.numbers[0])
        if _kind(a) == ("quantity", _PERCENT):
            for form, share in (("{0} of {1}", times), ("{1} + {0}", 100 + times), ("{1} - {0}", 100 - times)):
                if _close(value_of(b) * share / 100, wanted, within):
                    yield Way(form, (a, b))
        elif _close(value_of(b) * times, wanted, within):
            yield Way("{0} x {1}", (a, b))
        elif times and _close(value_of(b) / times, wanted, within):
            yield Way("{1} / {0}", (a, b))
    if _kind(figure) == ("quantity", _PERCENT):
        yield from _shares(wanted, given, within)
    if _kind(figure) in (("quantity", _SECONDS), ("quantity", _MONTHS)):
        yield from _spans(figure, given, within)


def _shares(wanted: Fraction, given: Sequence[Mention], within: Fraction) -> Iterator[Way]:
    for a, b in permutations(given, 2):
        if _kind(a) != _kind(b) or _kind(a)[0] not in ("number", "quantity") or not value_of(b):
            continue
        share = 100 * value_of(a) / value_of(b)
        if _close(share, wanted, within):
            yield Way("{0} / {1}", (a, b))
        elif wanted and _close(abs(share - 100), wanted, within):
            yield Way("({0} - {1}) / {1}" if share > 100 else "({1} - {0}) / {1}", (a, b))


def _spans(figure: Mention, given: Sequence[Mention], within: Fraction) -> Iterator[Way]:
    """Spans between two dates, counted with or without the last day, and between two times of a day."""
    dates = [(each, day) for each in given if (day := _day(each))]
    for (a, first), (b, last) in permutations(dates, 2):
        days = (last - first).days
        if _kind(figure)[1] == _SECONDS:
            spans = [days * _DAY, (days + 1) * _DAY]
        else:
            spans = [whole for whole, over in (_months(first, last), _months(first, last, 1)) if within or not over]
        if days > 0 and any(_close(Fraction(span), value_of(figure), within) for span in spans):
            yield Way("from {0} to {1}", (a, b))
    times = [each for each in given if each.meaning[0] == "time"]
    for a, b in permutations(times, 2):
        if _kind(figure)[1] == _SECONDS and _close((value_of(b) - value_of(a)) % 1440 * 60, value_of(figure), within):
            yield Way("from {0} to {1}", (a, b))


def _months(first: date, last: date, more_days: int = 0) -> tuple[int, int]:
    """Whole months and the days over from one date to another and some more days."""
    end = first.toordinal() + (last - first).days + more_days
    if end > date.max.toordinal():
        return 0, 1
    after = date.fromordinal(end)
    whole = 12 * (after.year - first.year) + after.month - first.month - (after.day < first.day)
    return whole, (after.day - first.day) % 31


def _later(figure: Mention, given: Sequence[Mention]) -> Iterator[Way]:
    """A date or a time that lies a given span after or before another one."""
    for a, b in permutations(given, 2):
        if b.meaning[0] != "quantity" or a.meaning[0] != figure.meaning[0]:
            continue
        for sign, form in ((1, "{0} + {1}"), (-1, "{0} - {1}")):
            if figure.meaning[0] == "time":
                if b.meaning[1] == _SECONDS and (value_of(a) + sign * value_of(b) / 60) % 1440 == value_of(figure):
                    yield Way(form, (a, b))
            elif (start := _day(a)) and _same_day(figure, _shifted(start, b, sign)):
                yield Way(form, (a, b))


def _shifted(day: date, span: Mention, sign: int) -> date | None:
    """The day a span of whole days or whole months later or earlier; None where the calendar has no such day."""
    amount = value_of(span) / _DAY if span.meaning[1] == _SECONDS else value_of(span)
    if amount.denominator != 1:
        return None
    try:
        if span.meaning[1] == _SECONDS:
            return day + sign * timedelta(days=int(amount))
        if span.meaning[1] == _MONTHS:
            months = 12 * day.year + day.month - 1 + sign * int(amount)
            return day.replace(year=months // 12, month=months % 12 + 1)
    except (ValueError, OverflowError):  # 31 January and a month
        return None
    return None


def _same_day(figure: Mention, day: date | None) -> bool:
    if day is None:
        return False
    _, number, month, year = figure.meaning
    return (number, month) == (day.day, day.month) and year in (None, day.year)


def _kind(mention: Mention) -> tuple[object, ...]:
    return mention.meaning[:2] if mention.meaning[0] == "quantity" else mention.meaning[:1]


def is_finite(mention: Mention) -> bool:
    """Whether its value can be computed with: a number of 400 digits cannot."""
    return all(math.isfinite(each) for each in (*mention.meaning[1:], *mention.numbers) if isinstance(each, float))


def value_of(mention: Mention) -> Fraction:
    """Its value in its family's smallest unit, exactly as it is written."""
    return _exact(float(mention.meaning[-1] or 0))


@lru_cache(maxsize=4096)
def _exact(number: float) -> Fraction:
    return Fraction(str(number))


def _day(mention: Mention) -> date | None:
    match mention.meaning:
        case ("date", float(day), float(month), float(year)):
            try:
                return date(int(year), int(month), int(day))
            except ValueError:
                return None
    return None


def _close(computed: Fraction, wanted: Fraction, within: Fraction) -> bool:
    if not within:
        return computed == wanted
    return abs(computed - wanted) <= within * abs(wanted)
