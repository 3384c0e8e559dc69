"""Read CSV: one premise for each row, with the names of the columns; the row is cited.

A text is a table if each line is a row of the same header: commas, semicolons or tabs separate the fields, and no blank
follows a comma or semicolon outside quotes, so that prose is never read as a table.
"""

import csv
from collections.abc import Iterator
from itertools import pairwise

from groundrail.errors import InputError
from groundrail.sources.premise import Premise, Region, is_label, row
from groundrail.text.ends import line_starts

_DELIMITERS = "\t;,"


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
