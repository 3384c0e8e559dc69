"""`Premise`, a place in a source with the words that the judge reads."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundrail.text.sentences import split

NOT_GIVEN = "not given"
"""The value of an empty cell or field."""

_NOTHING = frozenset("-–—")
_NEGATIVE = re.compile(r"^\(((?:[^\W\d_]{3}|[€$£¥])? ?\d[\d.,]*)\)$")
_WORD = re.compile(r"[^\W\d_]")
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Premise:
    """A place in a text, `text[start:end]`, and words that are understood without the rest of the text.

    said: the words; None if the text of the place is understood alone, for example a sentence of prose.

    >>> Premise(30, 52, "Branch Gdansk, Headcount 2023: 790").start
    30
    """

    start: int
    end: int
    said: str | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a text that has a form, with the premises that replace its sentences."""

    start: int
    end: int
    premises: tuple[Premise, ...]


def field(record: str, name: str, value: str) -> Iterator[str]:
    """Write a field of a record as premises, one for each sentence of the value.

    >>> list(field("Branch Gdansk", "Headcount 2023", "790"))
    ['Branch Gdansk, Headcount 2023: 790']
    """
    label = ", ".join(filter(None, [record, name]))
    for part in split(value):
        yield ": ".join(filter(None, [label, part.text.strip()]))


def row(section: str, columns: Sequence[str], cells: Sequence[str]) -> Iterator[str]:
    """Write each cell of a row behind the section and the first cells up to the first word, which name the row.

    An empty cell is "not given", an amount in brackets is negative.

    >>> list(row("Staff", ["Branch", "Headcount 2023", "Manager"], ["Gdansk", "790", ""]))
    ['Staff, Branch Gdansk, Headcount 2023: 790', 'Staff, Branch Gdansk, Manager: not given']
    """
    cells = [_written(cell) for cell in cells]
    names = [f"{column} {cell}".strip() for column, cell in zip(columns, cells, strict=True)]
    worded = next((place for place, cell in enumerate(cells[:-1]) if _WORD.search(cell)), 0) if cells[0] else 0
    if not any(cells[1:]):
        if cells[0]:
            yield ", ".join(filter(None, [section, names[0]]))
        return
    for place, (column, cell) in enumerate(zip(columns[1:], cells[1:], strict=True), start=1):
        record = ", ".join(filter(None, [section, *names[: 1 if place <= worded else worded + 1]]))
        yield from field(record, column, cell or NOT_GIVEN)


def _written(cell: str) -> str:
    """A cell without a dash that stands for nothing, and an amount in brackets with a minus sign."""
    return "" if cell in _NOTHING else _NEGATIVE.sub(r"-\1", cell)


def is_label(cell: str) -> bool:
    """Whether a cell can be the name of a column: short, with a letter or digit, no sentence."""
    return 0 < len(cell) <= 60 and any(map(str.isalnum, cell)) and cell[-1] not in ".!?:"


def words(key: str) -> str:
    """Write a key of a record as words.

    >>> words("check_in"), words("outdoorSeating")
    ('check in', 'outdoor Seating')
    """
    return " ".join(_INNER_CAPITAL.sub(" ", key.replace("_", " ")).split())
