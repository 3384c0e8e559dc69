"""How a claim's figure is computed from figures that were read: "4,350 euros" is "3 months x 1,450 euros".

Among many figures some sum comes near any other. So a computation is shown only if it is exact, if its units make it
plausible, and if no other computation fits; roughly, any one will do. A judge decides whether the claim is true: a premise may
hold both numbers and mean something else by them. `groundrail.facts.derived` finds the candidates.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groundrail.facts.derived import CLOSE, MOST, Way, is_finite, value_of, ways
from groundrail.facts.mentions import Mention, mentions, opens
from groundrail.facts.missing import is_stated
from groundrail.text.english.words import FUNCTION

_NEXT_WORD = re.compile(r"[ \u00a0]([^\W\d_]{2,})")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s", re.MULTILINE)
_SERIES = re.compile(r",\s+(?:and\s+|or\s+)?|\s+and\s+|\s+or\s+")
_CLAUSE_END = re.compile(r"[.;:!?]\s|\n")

Unit = tuple[str, object]
"""("family", number) of a quantity; ("noun", word) of a number, by the word that follows it."""


class Operand(NamedTuple):
    """A figure of a computation: `premises[premise][start:end]`."""

    premise: int
    start: int
    end: int


class Computation(NamedTuple):
    """`words` take the operands in the premises' spelling, as "3 months x 1,450 euros" does."""

    words: str
    operands: tuple[Operand, ...]


def computation(figure: Mention, claim: str, premises: Sequence[str], *, roughly: bool = False) -> Computation | None:
    """The only plausible computation that gives `figure`, one of the claim's, exactly; None if a premise states the figure.

    roughly: any computation that comes within 0.5 % of the figure, or a count of listed items, of the first 40 figures.

    None too if the premises hold more than 40 figures: not all of them are combined, so another computation may fit.

    Two operands are tried first, then all figures of the same unit in one premise. A plausible computation is

    - a sum or a difference of one unit, or a share of two figures of one unit,
    - a count times an amount that a premise gives for each ("3 months", "1,450 euros a month"),
    - an amount by a count in the same premise,
    - a per cent of an amount, or an amount with a per cent of the same premise added or taken off,
    - a span between two dates or times, or a date or time a span later or earlier.

    A number without a unit has the word behind it as its unit, and takes no part if there is none.

    >>> claim, lease = "Three months cost 4,350 euros.", ["The rent is 1,450 euros a month.", "Notice is 3 months."]
    >>> computation(mentions(claim)[-1], claim, lease).words
    '3 months x 1,450 euros'
    """
    if roughly:
        return _rough(figure, premises)
    if any(is_stated(figure, premise) for premise in premises):
        return None
    given = _Given([[each for each in mentions(premise) if not opens(each, premise)] for premise in premises], premises)
    if len(given.places) > MOST:
        return None
    unit = _unit(figure, claim)
    found: dict[tuple[object, ...], Way] = {}
    for way in ways(figure, list(given.places)):
        if len(way.operands) == 2 and given.is_plausible(way, unit):
            found.setdefault((way.form, frozenset(each.meaning for each in way.operands)), way)
    for way in given.sums(figure, unit) if not found else ():
        found[way.form, way.operands] = way
    return given.worded(next(iter(found.values()))) if len(found) == 1 else None


def _rough(figure: Mention, premises: Sequence[str]) -> Computation | None:
    given = _Given([mentions(premise) for premise in premises], premises)
    if way := next(ways(figure, list(given.places), CLOSE), None):
        return given.worded(way)
    counts = (_counted(figure, number, premise) for number, premise in enumerate(premises))
    return next(filter(None, counts), None)


def _counted(figure: Mention, number: int, premise: str) -> Computation | None:
    """Count of the items of a list, or of a series within a sentence; `number` is the premise's."""
    if figure.meaning[0] != "number" or not is_finite(figure) or not 2 <= value_of(figure) <= 20:
        return None
    items = tuple(Operand(number, match.start(), match.end()) for match in _ITEM.finditer(premise))
    if len(items) == value_of(figure):
        return Computation(f"{len(items)} items", items)
    start = 0
    for end in [*(match.end() for match in _CLAUSE_END.finditer(premise)), len(premise)]:
        if len(_SERIES.split(premise[start:end])) == value_of(figure) > 2:
            return Computation(f"{int(value_of(figure))} items", (Operand(number, start, end),))
        start = end
    return None


class _Given:
    """The figures of the premises. Each has a place of its own among all, so that equal figures differ."""

    def __init__(self, figures: Sequence[Sequence[Mention]], premises: Sequence[str]) -> None:
        self.premises = premises
        self.places: dict[Mention, tuple[int, Mention]] = {}
        before = 0
        for number, (same, premise) in enumerate(zip(figures, premises, strict=True)):
            for figure in same:
                apart = figure._replace(start=figure.start + before, end=figure.end + before)
                self.places[apart] = (number, figure)
            before += len(premise) + 1

    def is_plausible(self, way: Way, unit: Unit | None) -> bool:
        """Whether the units of two operands lead to `unit`, the figure's."""
        a, b = way.operands
        first, second = self._unit(a), self._unit(b)
        if a.meaning == b.meaning:
            return False
        match way.form:
            case "from {0} to {1}":
                return True
            case "{0} + {1}" | "{0} - {1}" if a.meaning[0] in ("date", "time"):
                return True
            case "{0} + {1}" | "{0} - {1}":
                return None is not first == second == unit
            case "{0} of {1}":
                return None is not second == unit
            case "{1} + {0}" | "{1} - {0}":
                return None is not second == unit and self.places[a][0] == self.places[b][0]
            case "{0} x {1}":
                return None is not second == unit and self._is_count(a) and self._is_for_each(b, a)
            case "{1} / {0}":
                return None is not second == unit and self._is_count(a) and self.places[a][0] == self.places[b][0]
        return None is not first == second  # shares

    def sums(self, figure: Mention, unit: Unit | None) -> Iterator[Way]:
        """Sums of three or more: all figures of the unit that one premise gives."""
        for number in range(len(self.premises)):
            same = [each for each, (place, _) in self.places.items() if place == number and self._unit(each) == unit]
            for way in ways(figure, same) if unit and len(same) > 2 else ():
                if len(way.operands) == len(same):
                    yield way

    def worded(self, way: Way) -> Computation:
        """The computation in the premises' words."""
        places = [self.places[each] for each in way.operands]
        words = way.form.format(*(self.premises[number][each.start : each.end] for number, each in places))
        return Computation(words, tuple(Operand(number, each.start, each.end) for number, each in places))

    def _unit(self, figure: Mention) -> Unit | None:
        number, place = self.places[figure]
        return _unit(place, self.premises[number])

    def _is_count(self, figure: Mention) -> bool:
        """Whether it counts whole things or whole spans of time, two or more."""
        return self._unit(figure) is not None and figure.numbers[0] >= 2 and figure.numbers[0].is_integer()

    def _is_for_each(self, amount: Mention, count: Mention) -> bool:
        """Whether the amount's premise gives it for each of what is counted: "a month", "per month", "each month"."""
        number, place = self.places[count]
        counted = _noun(place, self.premises[number])
        if counted is None:
            return False
        each = rf"\b(?:an?|per|each|every)\s+{re.escape(counted)}\b"
        return re.search(each, self.premises[self.places[amount][0]], re.IGNORECASE) is not None


def _unit(figure: Mention, text: str) -> Unit | None:
    if figure.meaning[0] == "quantity":
        return ("family", figure.meaning[1])
    noun = _noun(figure, text)
    return None if noun is None or figure.meaning[0] != "number" else ("noun", noun)


def _noun(figure: Mention, text: str) -> str | None:
    """The word that a figure counts, without a final s: a quantity's own last word, or the word behind a number."""
    if figure.meaning[0] == "quantity":
        found = _LAST_WORD.search(text[figure.start : figure.end])
        word = found[0].lower() if found else None
    else:
        behind = _NEXT_WORD.match(text, figure.end)
        word = behind[1].lower() if behind else None
    return None if word is None or word in FUNCTION else word.removesuffix("s")
