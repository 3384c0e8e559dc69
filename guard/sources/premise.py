"""`Premise`, a place in a source with the words that the judge reads."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundrail.text.sentences import split

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
    """Write each cell of a row that is not empty, behind the section and the first cell, which names the row.

    >>> list(row("Staff", ["Branch", "Headcount 2023", "Manager"], ["Gdansk", "790", ""]))
    ['Staff, Branch Gdansk, Headcount 2023: 790']
    """
    record = ", ".join(filter(None, [section, f"{columns[0]} {cells[0]}".strip()]))
    if cells[0] and not any(cells[1:]):
        yield record
    for column, cell in zip(columns[1:], cells[1:], strict=True):
        yield from field(record, column, cell)


def words(key: str) -> str:
    """Write a key of a record as words.

    >>> words("check_in"), words("outdoorSeating")
    ('check in', 'outdoor Seating')
    """
    return " ".join(_INNER_CAPITAL.sub(" ", key.replace("_", " ")).split())
