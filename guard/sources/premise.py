"""A premise: a place in a source, and the words in which the judge reads it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundrail.text.sentences import split

_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Premise:
    """A place in a text, `text[start:end]`, and the words that say it alone.

    said: None where the place says itself, as a sentence of prose does.

    >>> Premise(30, 52, "Branch Gdansk, Headcount 2023: 790").start
    30
    """

    start: int
    end: int
    said: str | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a text that has a form, and the premises that take the place of its sentences."""

    start: int
    end: int
    premises: tuple[Premise, ...]


def field(record: str, name: str, value: str) -> Iterator[str]:
    """Say a field of a record, each sentence of its value alone.

    >>> list(field("Branch Gdansk", "Headcount 2023", "790"))
    ['Branch Gdansk, Headcount 2023: 790']
    """
    label = ", ".join(filter(None, [record, name]))
    for part in split(value):
        yield ": ".join(filter(None, [label, part.text.strip()]))


def row(section: str, columns: Sequence[str], cells: Sequence[str]) -> Iterator[str]:
    """Say each cell of a row that is not empty, behind the section and the first cell, which names the row.

    >>> list(row("Staff", ["Branch", "Headcount 2023", "Manager"], ["Gdansk", "790", ""]))
    ['Staff, Branch Gdansk, Headcount 2023: 790']
    """
    record = ", ".join(filter(None, [section, f"{columns[0]} {cells[0]}".strip()]))
    if cells[0] and not any(cells[1:]):
        yield record
    for column, cell in zip(columns[1:], cells[1:], strict=True):
        yield from field(record, column, cell)


def words(key: str) -> str:
    """A key of a record in words.

    >>> words("check_in"), words("outdoorSeating")
    ('check in', 'outdoor Seating')
    """
    return " ".join(_INNER_CAPITAL.sub(" ", key.replace("_", " ")).split())
