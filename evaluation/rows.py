"""Read benchmark files in CSV, JSON or Parquet row by row, and guess their format from the fields of the first row.

`groundrail.evaluation.loaders` and `.answers` describe the rows of each format.
"""

import csv
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from groundrail.errors import InputError, MissingExtraError
from groundrail.evaluation.places import Place, read_text

T = TypeVar("T")
Kind: TypeAlias = Literal["CSV", "JSON", "Parquet"]
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Format(Generic[T]):
    """A format of rows: the fields by which it is known, and the function that reads a row of the file with a name."""

    fields: frozenset[str]
    read: Callable[[Place, Mapping[str, Any], str], Iterator[T]]
    csv: bool = False

    def __str__(self) -> str:
        return ", ".join(sorted(self.fields))


def fitting(fields: Collection[str], formats: Mapping[str, Format[Any]]) -> str | None:
    """The name of the first format that a row with these fields fits."""
    return next((name for name, format in formats.items() if format.fields <= set(fields)), None)


def read_file(path: Path, formats: Mapping[str, Format[T]], format: str | None, documents: Path | None, of: str) -> list[T]:
    """Read a file in one of the formats; None guesses which.

    Args:
        documents: The folder of other files that the rows need; by default the folder of the file.
        of: The things that the formats hold, for the message about an unknown format.

    Raises: InputError for a file in no known format, and for a bad row, with line and field.
    """
    if format is not None and format not in formats:
        raise InputError(f"no format of {of} is called {format!r}; there are {', '.join(formats)}")
    kind, rows = read_rows(path)
    name = format or fitting(rows[0][1], formats)
    if name is None:
        known = "; ".join(f"{each}: {known}" for each, known in formats.items())
        raise InputError(f"{path}, line 1: fields {', '.join(rows[0][1])} fit no known format of {of}. Known: {known}")
    wanted = formats[name]
    if wanted.csv != (kind == "CSV"):
        raise InputError(f"{path}: expected {'CSV' if wanted.csv else 'JSON'} for format {name!r}")
    found, files = list[T](), dict[Path, Any]()
    for line, row in rows:
        place = Place(path, line, documents, files)
        place.require(row, wanted.fields, f"format {name!r}")
        found.extend(wanted.read(place, row, path.stem))
    return found


def read_rows(path: Path) -> tuple[Kind, list[tuple[int, Row]]]:
    """The kind of a file, and its rows, each with its line or number in the file.

    Raises: InputError for a file that cannot be read or has no row; MissingExtraError for Parquet without Arrow.
    """
    kind: Kind
    if _is_parquet(path):
        kind, rows = "Parquet", list(_parquet_rows(path))
    else:
        text = read_text(path)
        kind = "JSON" if text.lstrip().startswith(("{", "[")) else "CSV"
        rows = list(_json_rows(path, text) if kind == "JSON" else _csv_rows(path, text))
    if not rows:
        raise InputError(f"{path}: expected at least one row")
    return kind, rows


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, Row]]:
    """The rows of one object, of a list of objects, or of an object on each line."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError as error:
                    raise InputError(f"{path}, line {number}: expected a JSON object: {error}") from error
                for record in _records(row, f"{path}, line {number}"):
                    yield number, record
        return
    if isinstance(whole, list):
        for number, row in enumerate(whole, start=1):
            yield from ((number, record) for record in _records(row, f"{path}, item {number}"))
    else:
        yield from enumerate(_records(whole, str(path)), start=1)


def _records(row: object, place: str) -> list[Row]:
    """The records of an object that holds West et al.'s records by id; for any other object the object itself."""
    if not isinstance(row, dict):
        raise InputError(f"{place}: expected a JSON object, not {type(row).__name__}")
    records = list(row.values())
    nested = all(isinstance(record, dict) and "new_source" in record for record in records)
    return records if records and nested else [row]


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, Row]]:
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        reader = csv.DictReader(StringIO(text, newline=""))
        rows = []
        for row in reader:
            if None in row:
                raise InputError(f"{path}, line {reader.line_num}: more fields than the header names")
            short = [field for field, value in row.items() if value is None]
            if short:
                raise InputError(f"{path}, line {reader.line_num}, field {short[0]!r}: expected a value")
            rows.append((reader.line_num, row))
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: expected CSV: {error}") from error
    finally:
        csv.field_size_limit(limit)
    yield from rows


def _parquet_rows(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("Reading Parquet", "corpus") from error
    try:
        yield from enumerate(parquet.read_table(path).to_pylist(), start=1)
    except pyarrow.ArrowException as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}") from error


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
