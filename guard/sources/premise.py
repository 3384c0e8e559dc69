"""A premise: a place in a source, and the words in which the judge reads it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Field: TypeAlias = tuple[str, str]
"""The name of a field and its value, both as a reader sees them."""

_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
_MOST_FIELDS = 12
"""Fields of one premise; a record with more of them becomes several premises, each with the record's name."""


@dataclass(frozen=True, slots=True)
class Premise:
    """A place in a text, `text[start:end]`, and the words that say it alone.

    said: None where the place says itself, as a sentence of prose does.

    >>> Premise(30, 52, "Gdansk: headcount 2023 is 790; headcount 2024 is 481.").start
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


def record(name: str, fields: Sequence[Field]) -> Iterator[str]:
    """Say the fields of a record in as few sentences as hold them, each with the record's name.

    >>> list(record("Gdansk", [("Headcount 2023", "790"), ("Manager", "Oda Reinholt")]))
    ['Gdansk: Headcount 2023 is 790; Manager is Oda Reinholt.']
    """
    told = [f"{label} is {value}" if label else value for label, value in fields if value]
    for first in range(0, len(told), _MOST_FIELDS):
        sentence = "; ".join(told[first : first + _MOST_FIELDS])
        yield f"{name}: {sentence}." if name else f"{sentence}."


def row(heading: str, columns: Sequence[str], cells: Sequence[str]) -> Iterator[str]:
    """Say a row of a table; its first cell names it.

    >>> list(row("Staff", ["Branch", "Headcount 2023"], ["Gdansk", "790"]))
    ['Staff, Branch Gdansk: Headcount 2023 is 790.']
    """
    name = f"{columns[0]} {cells[0]}".strip()
    return record(f"{heading}, {name}" if heading else name, list(zip(columns[1:], cells[1:], strict=True)))


def words(key: str) -> str:
    """A key of a record in words.

    >>> words("check_in"), words("outdoorSeating")
    ('check in', 'outdoor Seating')
    """
    return " ".join(_INNER_CAPITAL.sub(" ", key.replace("_", " ")).split())
