"""Read benchmark files into `Example`s and guess their format from the content.

`groundrail.evaluation.formats` describes the rows of each format. Rows with an empty claim are kept, and
`groundrail.evaluation.run` counts them.
"""

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from groundrail.errors import InputError, MissingExtraError
from groundrail.evaluation.examples import Example
from groundrail.evaluation.formats import FORMATS
from groundrail.evaluation.places import Place, read_text

_CSV = ("true", "q2", "aggrefact")


def _guess(path: Path, fields: Sequence[str]) -> str:
    for name, (wanted, _) in FORMATS.items():
        if wanted <= set(fields):
            return name
    known = "; ".join(f"{name}: {', '.join(sorted(wanted))}" for name, (wanted, _) in FORMATS.items())
    raise InputError(f"{path}, line 1: fields {', '.join(fields)} fit no known format. Known: {known}")


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        whole = None
    if isinstance(whole, dict):
        yield from enumerate(_records(whole), start=1)
        return
    if isinstance(whole, list):
        for number, row in enumerate(whole, start=1):
            if not isinstance(row, dict):
                raise InputError(f"{path}, item {number}: expected a JSON object, not {type(row).__name__}")
            yield number, row
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}, line {number}: expected a JSON object: {error}") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number}: expected a JSON object, not {type(row).__name__}")
        yield number, row


def _records(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of West et al.'s file, one object that holds records by id; for any other file the object itself."""
    records = list(whole.values())
    nested = all(isinstance(record, dict) and "new_source" in record for record in records)
    return records if records and nested else [whole]


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
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


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("Reading Parquet", "corpus") from error
    try:
        yield from enumerate(parquet.read_table(path).to_pylist(), start=1)
    except pyarrow.ArrowException as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}") from error


def read_rows(path: Path) -> tuple[Literal["CSV", "JSON", "Parquet"], list[tuple[int, dict[str, Any]]]]:
    """The kind of a file, and its rows, each with its line or number in the file.

    Raises: InputError for a file that cannot be read or has no row; MissingExtraError for Parquet without Arrow.
    """
    kind: Literal["CSV", "JSON", "Parquet"]
    if _is_parquet(path):
        kind, rows = "Parquet", list(_parquet_rows(path))
    else:
        text = read_text(path)
        kind = "JSON" if text.lstrip().startswith(("{", "[")) else "CSV"
        rows = list(_json_rows(path, text) if kind == "JSON" else _csv_rows(path, text))
    if not rows:
        raise InputError(f"{path}: expected at least one row")
    return kind, rows


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def load(path: str | Path, format: str | None = None, documents: str | Path | None = None) -> list[Example]:
    """Read a benchmark file.

        examples = load("claims.jsonl")

    Args:
        format: Name of the format; None guesses it from the first row.
        documents: The folder of the documents that a challenge file names; by default the folder of the file.

    Raises: InputError for a file in no known format, and for a bad row, with line and field.
    """
    path = Path(path)
    if format is not None and format not in FORMATS:
        raise InputError(f"no format is called {format!r}; there are {', '.join(FORMATS)}")
    kind, rows = read_rows(path)
    guessed = format or _guess(path, list(rows[0][1]))
    if (guessed in _CSV) != (kind == "CSV"):
        raise InputError(f"{path}: expected {'CSV' if guessed in _CSV else 'JSON'} for format {guessed!r}")
    wanted, read = FORMATS[guessed]
    examples: list[Example] = []
    for line, row in rows:
        place = Place(path, line, None if documents is None else Path(documents))
        missing = sorted(wanted - row.keys())
        if missing:
            raise place.error(missing[0], f"missing; format {guessed!r} has {', '.join(sorted(wanted))}")
        examples.extend(read(place, row, path.stem))
    return examples
