"""Read the rows of a corpus file one by one: JSON lines by lines, Parquet by batches of a row group.

Only one row or batch is in memory. `groundrail.corpus.folder` scores the rows and knows which are done.
"""

import codecs
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundrail.corpus.rows import COLUMNS, Row
from groundrail.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa

_PARQUET_ROWS = 64
"""Number of rows of a Parquet file that are decoded at a time."""

_COLUMNS = ("id", "claim", "source")


def rows(path: Path) -> Iterator[Row]:
    """Yield each row with `id` (text), `claim` (text or None) and `source` (text, a list of texts, or None).

    Neighbouring rows with equal sources share one object.

    Raises: InputError for a file that cannot be read, and for a row without an id or with half of a surrogate pair;
        MissingExtraError if Arrow is not installed.
    """
    last: Any = None
    for number, row in enumerate(_read(path, _COLUMNS), start=1):
        source = _source(row.get("source"))
        last = last if last == source else source
        claim = row.get("claim")
        yield {"id": _name(number, row), "claim": claim if isinstance(claim, str) else None, "source": last}


def ids(path: Path) -> Iterator[str]:
    """Yield the ids of the rows without the texts. Raises: the errors of `rows`."""
    for number, row in enumerate(_read(path, ("id",)), start=1):
        yield _name(number, row)


def as_table(rows: Sequence[Row]) -> "pa.Table":
    """Rows of `groundrail.corpus.rows.COLUMNS` as an Arrow table, typed even where a column is empty."""
    number, flag, text = arrow().float64(), arrow().bool_(), arrow().string()
    kinds = {"score": number, "exact": flag, "start": arrow().int64(), "end": arrow().int64()}
    return arrow().Table.from_pylist(list(rows), arrow().schema([(name, kinds.get(name, text)) for name in COLUMNS]))


def blocks(some: Iterable[Row], most_rows: int, most_letters: int) -> Iterator[list[Row]]:
    """Divide rows into blocks of at most `most_rows` rows and at most `most_letters` characters of sources.

    A source that neighbours share counts once. A single row with a longer source is a block.
    """
    block: list[Row] = []
    letters = 0
    for row in some:
        shared = bool(block) and row["source"] is block[-1]["source"]
        more = 0 if shared else _letters(row["source"])
        if block and (len(block) == most_rows or letters + more > most_letters):
            yield block
            block, letters, more = [], 0, _letters(row["source"])
        block.append(row)
        letters += more
    if block:
        yield block


def json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield the number of each line, from 1, with its object; blank lines are left out. Raises: InputError."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            bare = (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).strip()
            if not bare:
                continue
            try:
                row = json.loads(bare)
                if b"\\u" in bare:
                    json.dumps(row, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                raise InputError(f"line {number} of {path} has half of a surrogate pair, which is no text") from None
            except ValueError as error:
                raise InputError(f"{path} is neither JSON lines nor Parquet: line {number}: {error}") from error
            if not isinstance(row, dict):
                raise InputError(f"{path} is neither JSON lines nor Parquet: line {number} is no object")
            yield number, row


def arrow() -> Any:
    """Import Arrow. Raises: MissingExtraError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Scoring a corpus", "corpus") from error
    return pyarrow


def _read(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    try:
        yield from _parquet(path, columns) if path.suffix == ".parquet" else (row for _, row in json_lines(path))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    try:
        with arrow().parquet.ParquetFile(path) as file:
            known = [name for name in columns if name in file.schema_arrow.names]
            if "id" not in known:
                raise InputError(f"{path} has no column 'id'; results are found again by it")
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(batch_size=_PARQUET_ROWS, row_groups=[group], columns=known):
                    yield from batch.to_pylist()
    except arrow().ArrowInvalid as error:
        raise InputError(f"{path} is neither JSON lines nor Parquet: {error}") from error


def _letters(source: str | list[str] | None) -> int:
    return len(source) if isinstance(source, str) else sum(map(len, source or ()))


def _source(found: object) -> str | list[str] | None:
    if isinstance(found, str):
        return found
    return found if isinstance(found, list) and all(isinstance(text, str) for text in found) else None


def _name(number: int, row: Row) -> str:
    if row.get("id") is None:
        raise InputError(f"row {number} has no id; results are found again by it, so give each row its own")
    return str(row["id"])
