"""Score a corpus file into a folder of verdicts, in blocks, so that a second run continues where the first stopped."""

import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from groundrail.corpus.files import arrow, as_table, blocks, ids, rows
from groundrail.corpus.rows import COLUMNS, Row, scored_rows
from groundrail.errors import InputError, MissingExtraError
from groundrail.scoring.base import Scorer
from groundrail.types import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

Engine: TypeAlias = Literal["local", "ray"]

_BLOCK_ROWS = 64
"""Maximum number of rows that are read, scored and written at a time."""

_BLOCK_LETTERS = 32_000_000
"""Maximum number of characters of sources in a block of rows."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of rows in the folder by verdict, of rows tried again after an error, and of errors by their reason."""

    verdicts: Counter[str]
    retried: int
    errors: Counter[str]


def score_corpus(
    path: str | Path,
    out: str | Path,
    scorer: Callable[[], Scorer],
    *,
    engine: Engine = "local",
    threshold: float | None = None,
    workers: int = 1,
    gpus: float = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Tally:
    """Score the rows of a JSON-lines or Parquet file into Parquet files in `out`, and count the verdicts in `out`.

        score_corpus("claims.jsonl", "verdicts", NearestScorer)

    Rows have an `id`, a `claim` and a `source` (text, or a list of texts). Rows whose id is in `out` already are not
    scored again, except ERROR rows. The file is read twice: for the ids, which are kept on disk, and then by blocks.

    Args:
        scorer: Builds the scorer in each worker.
        progress: Gets the number of rows done and the number of rows to do; only the local engine calls it.

    Raises: InputError for a file that is no corpus, and while another run scores into `out`; MissingExtraError if Arrow or Ray is not installed.
    """
    arrow()
    file, folder = Path(path), Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder), closing(_Ledger()) as ledger:
        ledger.enter(ids(file))
        retried = _taken_up(folder, ledger)
        waiting = blocks((row for row in rows(file) if ledger.waits(row["id"])), _BLOCK_ROWS, _BLOCK_LETTERS)
        if ledger.waiting and engine == "ray":
            _score_on_ray(waiting, folder, scorer, threshold, workers, gpus)
        elif ledger.waiting:
            done, made = 0, scorer()
            for block in waiting:
                _write(as_table(scored_rows(made, block, threshold)), folder / f"part-{uuid.uuid4().hex}.parquet")
                done += len(block)
                if progress is not None:
                    progress(done, ledger.waiting)
    tally = Tally(Counter(), retried, Counter())
    for row in results(folder, ("verdict", "reason")):
        tally.verdicts[str(row["verdict"])] += 1
        if row["verdict"] == Verdict.ERROR:
            tally.errors[str(row["reason"])] += 1
    return tally


def results(folder: str | Path, columns: Sequence[str] = COLUMNS) -> Iterator[Row]:
    """Yield the rows of all parts in a folder. Raises: InputError for a part that cannot be read."""
    for part in sorted(Path(folder).glob("*.parquet")):
        yield from _table(part, columns).to_pylist()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder while its parts are written; the system lets it go with the process. Raises: InputError if it is held."""
    with closing(sqlite3.connect(folder / ".lock", timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise InputError(
                f"another run scores into {folder} ({error}); wait for its end, or name another folder"
            ) from None
        yield


class _Ledger:
    """The ids of a corpus and their states, in a temporary file because there may be many."""

    def __init__(self) -> None:
        self._rows = sqlite3.connect("")
        self._rows.execute("CREATE TABLE row (id TEXT PRIMARY KEY, done INTEGER) WITHOUT ROWID")
        self.waiting = 0

    def enter(self, names: Iterator[str]) -> None:
        """Add all rows of the corpus as waiting. Raises: InputError if two rows have the same id."""
        for number, name in enumerate(names, start=1):
            try:
                self._rows.execute("INSERT INTO row VALUES (?, 0)", (name,))
            except sqlite3.IntegrityError:
                raise InputError(
                    f"row {number} has the id {name!r} of a row before it; results are found again by the id, so "
                    f"give each row its own"
                ) from None
            self.waiting += 1

    def waits(self, name: str) -> bool | None:
        """Whether the row is still to be scored; None for another corpus's row."""
        found = self._rows.execute("SELECT done FROM row WHERE id = ?", (name,)).fetchone()
        return None if found is None else not found[0]

    def settle(self, name: str) -> None:
        """Mark the row as scored."""
        self._rows.execute("UPDATE row SET done = 1 WHERE id = ?", (name,))
        self.waiting -= 1

    def close(self) -> None:
        """Close and delete the temporary file."""
        self._rows.close()


def _taken_up(folder: Path, ledger: _Ledger) -> int:
    """Mark the rows that an earlier run scored, remove ERROR rows and duplicates; return the number of ERROR rows."""
    retried = 0
    for part in sorted(folder.glob("*.parquet")):
        table = _table(part, COLUMNS)
        kept = []
        for name, verdict in zip(table["id"].to_pylist(), table["verdict"].to_pylist(), strict=True):
            waits, failed = ledger.waits(name), verdict == Verdict.ERROR
            kept.append(waits is None or (waits and not failed))
            if waits:
                retried += failed
                if not failed:
                    ledger.settle(name)
        if not any(kept):
            part.unlink()
        elif not all(kept):
            _write(table.filter(arrow().array(kept)), part)
    return retried


def _score_on_ray(
    waiting: Iterator[list[Row]],
    folder: Path,
    scorer: Callable[[], Scorer],
    threshold: float | None,
    workers: int,
    gpus: float,
) -> None:
    try:
        import ray
        from ray import data
    except ImportError as error:
        raise MissingExtraError('engine="ray"', "ray") from error
    from groundrail.corpus.ray import score_dataset

    blocks: list[Any] = [ray.put(_waiting_table(block)) for block in waiting]  # two names of one class, to mypy
    dataset = data.from_arrow_refs(blocks)
    scored = score_dataset(dataset, scorer, threshold=threshold, workers=workers, gpus=gpus, batch_rows=_BLOCK_ROWS)
    scored.write_parquet(str(folder.resolve()))


def _waiting_table(block: Sequence[Row]) -> "pa.Table":
    """Convert rows to be scored to an Arrow table in which each source is a list of texts."""
    text = arrow().large_string()
    schema = arrow().schema([("id", text), ("claim", text), ("source", arrow().list_(text))])
    listed = [{**row, "source": [row["source"]] if isinstance(row["source"], str) else row["source"]} for row in block]
    return arrow().Table.from_pylist(listed, schema)


def _table(part: Path, columns: Sequence[str]) -> "pa.Table":
    try:
        return arrow().parquet.read_table(part, columns=list(columns))
    except arrow().ArrowInvalid as error:
        raise InputError(f"{part} cannot be read ({error}); take it away, and its rows are scored again") from error


def _write(table: "pa.Table", part: Path) -> None:
    """Write a part completely or not at all."""
    unfinished = part.with_name(f".{uuid.uuid4().hex}")
    arrow().parquet.write_table(table, unfinished)
    unfinished.rename(part)
