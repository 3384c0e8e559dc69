"""Read tables that stand in plain text: one premise for each cell behind the names of its row and column; the row is cited.

CSV is a text of which each line is a row of the same header: commas, semicolons or tabs separate the fields, and no blank
follows a comma or semicolon outside quotes, so that prose is never read as a table.

In other tables columns stand apart by bars, tabs or two blanks, under a line with their names: three columns or more, of
which one holds figures under a word or a year, and two rows or more. The name of the first column may be missing. A text
with markup is not read: markup can hide what stands in a line.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from groundrail.errors import InputError
from groundrail.sources.premise import Premise, Region, is_label, row
from groundrail.text.ends import line_starts, without_mark
from groundrail.types import Span

_DELIMITERS = "\t;,"
_GAP = re.compile(r"\t+| {2,}")
_MARKUP = re.compile(r"<[a-z!/]|\]\(", re.IGNORECASE)
_FIGURE = re.compile(r"[-+−–±~<>(€$£]*\s?\d|[-–—]$")
_SENTENCE = re.compile(r"[.!?](?:\s|$)")
_YEAR = re.compile(r"\d{4}")
_LONGEST_TITLE = 120


def read_csv(text: str) -> list[Region]:
    """The rows of the table if the whole text is a table; otherwise an empty list."""
    if "\r" in text.replace("\r\n", "") or "\x00" in text:
        return []
    start, end = len(text) - len(text.lstrip("\r\n")), len(text.rstrip("\r\n"))
    header = text[start:end].partition("\n")[0]
    delimiter = next((mark for mark in _DELIMITERS if mark in header), None)
    if delimiter is None:
        return []
    try:
        rows = list(_rows(text, start, end, delimiter))
    except (csv.Error, InputError):
        return []
    columns = rows[0][2]
    if len(rows) < 3 or len(set(columns)) < len(columns) or any(not is_label(column) for column in columns):
        return []
    premises = tuple(Premise(first, last, said) for first, last, cells in rows[1:] for said in row("", columns, cells))
    return [Region(0, len(text), premises)] if premises else []


def _rows(text: str, start: int, end: int, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Start, end and cells of each row.

    Raises: InputError for rows of different lengths or with a blank after a delimiter; csv.Error for broken quotes.
    """
    starts = [start, *line_starts(text, start, end), end]
    lines = [text[first:last] for first, last in pairwise(starts)]
    reader = csv.reader(iter(lines), delimiter=delimiter, strict=True)
    width, line = 0, 0
    for cells in reader:
        first = starts[line]
        last = first + len(text[first : starts[reader.line_num]].rstrip("\r\n"))
        line = reader.line_num
        if not width:
            width = len(cells)
        if len(cells) != width or any(cell[:1].isspace() for cell in cells[1:]):
            raise InputError("the rows are no table")
        yield first, last, [" ".join(cell.split()) for cell in cells]


def read_plain_tables(text: str) -> list[Region]:
    """The tables of a text, in order.

    >>> text = "Fares (GHS)\\n       Wash   Iron\\nShirt     6      9\\nSheet    10     13\\n"
    >>> [premise.said for premise in read_plain_tables(text)[0].premises][:2]
    ['Fares (GHS), Shirt, Wash: 6', 'Fares (GHS), Shirt, Iron: 9']
    """
    if _MARKUP.search(text):
        return []
    starts = [0, *line_starts(text, 0, len(text)), len(text)]
    lines = [Span.trimmed(text, start, end) for start, end in pairwise(starts)]
    cells = [_cells(text[start:end]) for start, end in lines]
    found, number, title = [], 0, ""
    while number < len(lines):
        table = cells[number : _end(cells, number)]
        if len(table) > 2:
            end = number + len(table)
            if _is_table(table):
                premises = tuple(_premises(lines[number + 1 : end], table, title))
                found.append(Region(lines[number][0], lines[end - 1][1], premises))
            number, title = end, ""
            continue
        line = text[slice(*lines[number])]
        if line:
            is_title = len(line) <= _LONGEST_TITLE and not _SENTENCE.search(line)
            title = without_mark(line).rstrip(":") if is_title else ""
        number += 1
    return found


def _cells(line: str) -> list[str]:
    line = without_mark(line)
    return [" ".join(cell.split()) for cell in (line.split("|") if "|" in line else _GAP.split(line))]


def _end(cells: Sequence[Sequence[str]], header: int) -> int:
    """The line behind the last row of the table under a header."""
    width = len(cells[header + 1]) if header + 1 < len(cells) else 0
    end = header + 1
    if width >= 3 and len(cells[header]) in (width, width - 1):
        while end < len(cells) and len(cells[end]) == width:
            end += 1
    return end


def _is_table(table: Sequence[Sequence[str]]) -> bool:
    """Whether the first line can be the names of columns, and figures stand under one of them."""
    header, *rows = table
    columns = zip(*(cells[-len(header) :] for cells in rows), strict=True)
    return all(map(is_label, filter(None, header))) and any(
        (not _FIGURE.match(name) or _YEAR.fullmatch(name)) and all(map(_FIGURE.match, filter(None, cells)))
        for name, cells in list(zip(header, columns, strict=True))[1:]
    )


def _premises(lines: Sequence[tuple[int, int]], table: Sequence[list[str]], title: str) -> Iterator[Premise]:
    header, *rows = table
    columns = [""] * (len(rows[0]) - len(header)) + header
    for (start, end), cells in zip(lines, rows, strict=True):
        for said in row(title, columns, cells):
            yield Premise(start, end, said)
