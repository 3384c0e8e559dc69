"""Find the figures of a claim that the cell of a table or record that it names does not hold.

"Porto had 301 employees in 2023" names the cell "Branch Porto, Headcount 2023: 212"; 301 stands in the cell of 2024. Words and
figures are compared, nothing else: whether the named cell speaks against the claim is a judge's to say.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from typing import NamedTuple

from groundrail.facts.derived import ways
from groundrail.facts.mentions import Mention, mentions, opens
from groundrail.facts.missing import is_stated
from groundrail.text.english.quantities import ORDINALS, SCALES, UNITS
from groundrail.text.english.words import FUNCTION, NEGATIONS, stem, stems

_MOST = 2000
"""Maximum number of premises of a source that are searched: each takes some microseconds for each claim."""

_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
_COMMA = re.compile(r",\d")
_TURNS = re.compile(rf"\b(?:{'|'.join(NEGATIONS)}|than)\b|n't\b", re.IGNORECASE)
_BRACKETS = re.compile(r"\([^()]*\)")
_SCALE = re.compile(rf"\b(?:{'|'.join(SCALES)})\b", re.IGNORECASE)
_UNIT = re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(map(re.escape, UNITS), key=len, reverse=True))})s?(?![^\W_])", re.I)
_SAYS_NOTHING = frozenset(map(stem, (*FUNCTION, *UNITS, *SCALES)))
_ORDINALS = {stem(word): str(number) for number, word in enumerate(ORDINALS, start=1)}


class Misplaced(NamedTuple):
    """A figure of a claim that stands in another cell than the named one.

    cell: the number of the premise of the named cell.
    claim: the claim with the figure of the named cell instead.
    """

    cell: int
    claim: str


class _Cell(NamedTuple):
    """The stems of the names of its row and column, the families of the units in them (`UNITS`), and its value."""

    label: frozenset[str]
    units: frozenset[float]
    value: str


def misplaced(claim: str, premises: Sequence[str]) -> Iterator[Misplaced]:
    """The figures in digits that the claim takes from another cell than the one that it names.

    Premises "row, column: value" are cells; a figure that any other premise states is left out. A claim names a cell against
    another one if it has all the words of the name of its row, or of its column, that the other lacks, none of the other's
    that it lacks, and a word that both names share. A figure that is part of a name, or that follows from the named cells, is
    left out, too. A claim that denies or compares ("not", "than") gives none: its figure may be another's, or a difference.

    >>> table = ["Branch Porto, Headcount 2023: 212", "Branch Porto, Headcount 2024: 301", "Branch Ghent, Headcount 2024: 95"]
    >>> list(misplaced("Porto had 301 employees in 2023.", table))
    [Misplaced(cell=0, claim='Porto had 212 employees in 2023.')]
    """
    if not 2 <= len(premises) <= _MOST or _TURNS.search(claim):
        return
    cells = [_cell(premise) for premise in premises]
    common = reduce(frozenset.intersection, (cell.label for cell in cells if cell.label), cells[0].label)
    labels = [cell.label - common for cell in cells]
    names, words = frozenset().union(*labels), _words(claim)
    for figure in mentions(claim):
        numbers = {word for word in stems(claim[figure.start : figure.end]) if word[0].isdigit()}
        if not numbers or numbers & names or opens(figure, claim) or _COMMA.match(claim, figure.end):
            continue
        holders = [number for number, cell in enumerate(cells) if is_stated(figure, cell.value)]
        named = [_named(words, labels, holder) for holder in holders]
        named = [[number for number in found if _could_say(cells[number], figure, claim)] for found in named]
        given = [mention for found in named for number in found for mention in mentions(cells[number].value)]
        if named and all(named) and next(ways(figure, given), None) is None:
            number = named[0][0]
            yield Misplaced(number, _exchanged(claim, figure, cells[number].value))


@lru_cache(maxsize=65536)
def _cell(premise: str) -> _Cell:
    label, colon, value = premise.partition(": ")
    if not colon:
        return _Cell(frozenset(), frozenset(), premise)
    scale = _SCALE.search(label)
    if scale and value[-1:].isdigit():
        value = f"{value} {scale[0].lower()}"
    units = frozenset(float(UNITS[each][0]) for unit in _UNIT.findall(label) for each in _singular(unit))
    return _Cell(frozenset(stems(_BRACKETS.sub(" ", label))) - _SAYS_NOTHING, units, value)


def _singular(unit: str) -> Iterator[str]:
    yield from (each for each in (unit.lower(), unit.lower().removesuffix("s")) if each in UNITS)


def _words(claim: str) -> frozenset[str]:
    """The stems of a claim, and its figures in digits: "round one" is round 1."""
    found = stems(claim)
    numbers = [str(int(number)) for mention in mentions(claim) for number in mention.numbers if number == int(number)]
    return frozenset([*found, *numbers, *(_ORDINALS[word] for word in found if word in _ORDINALS)])


def _named(words: frozenset[str], labels: Sequence[frozenset[str]], holder: int) -> list[int]:
    """The cells that a claim of these words names against the cell that holds its figure."""
    other = labels[holder]
    return [
        number
        for number, label in enumerate(labels)
        if label - other
        and other - label
        and label - other <= words
        and not (other - label) & words
        and label & other & words
    ]


def _could_say(named: _Cell, figure: Mention, claim: str) -> bool:
    """Whether the named cell holds a figure of this kind, and one that the claim does not say."""
    figures = mentions(named.value)
    alike = any(_is_alike(each, figure, named) for each in figures)
    return alike and not all(is_stated(each, claim) for each in figures)


def _is_alike(given: Mention, figure: Mention, named: _Cell) -> bool:
    if figure.meaning[0] != "quantity":
        return given.meaning[0] == figure.meaning[0]
    return given.meaning[:2] == figure.meaning[:2] or (given.meaning[0] == "number" and figure.meaning[1] in named.units)


def _exchanged(claim: str, figure: Mention, value: str) -> str:
    """The claim with the first figure of a value, in the claim's unit."""
    other = mentions(value)[0]
    said, given = claim[figure.start : figure.end], value[other.start : other.end]
    number = _NUMBER.search(given)
    if number and figure.meaning[0] in ("number", "quantity"):
        given = _NUMBER.sub(number[0], said, count=1)
    return claim[: figure.start] + given + claim[figure.end :]
