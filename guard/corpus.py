"""A corpus file to a folder of verdicts, in parts, so that a second run goes on where the first stopped.

Tables are Arrow's. What becomes of a row is `groundrail.rows`'s; the engine for many machines is
`groundrail.integrations.ray`.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from groundrail.errors import InputError, MissingExtraError
from groundrail.rows import COLUMNS, Row, scored_rows
from groundrail.scoring.base import Scorer

if TYPE_CHECKING:
    import pyarrow as pa

Engine: TypeAlias = Literal["local", "ray"]
_BATCH = 64
"""Rows scored at a time."""


def score_corpus(
    rows: str | Path,
    out: str | Path,
    scorer: Callable[[], Scorer],
    *,
    engine: Engine = "local",
    threshold: float | None = None,
    workers: int = 1,
    gpus: float = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Counter[str]:
    """Score the rows of a JSON-lines or Parquet file into Parquet files in `out`; count the verdicts there.

    Rows have an `id`, a `claim` and a `source` (text, or a list of texts). Rows whose id is in `out` already are left
    alone, ERROR rows included. `scorer` builds the scorer, in every worker. `progress` gets rows done and rows in
    all, from the local engine.

    Raises: InputError for a file that is no corpus, MissingExtraError where Arrow or Ray is not installed.
    """
    arrow = _arrow()
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    done = {str(row["id"]) for row in results(folder)}
    waiting = [row for row in _with_ids(_rows(arrow, Path(rows))) if row["id"] not in done]
    if waiting and engine == "ray":
        _score_on_ray(waiting, folder, scorer, threshold, workers, gpus)
    elif waiting:
        _score_here(waiting, folder, scorer(), threshold, progress)
    return Counter(str(row["verdict"]) for row in results(folder))


def results(folder: str | Path) -> Iterator[Row]:
    """The rows of every part in a folder."""
    arrow = _arrow()
    for part in sorted(Path(folder).glob("*.parquet")):
        yield from arrow.parquet.read_table(part).to_pylist()


def as_table(rows: Sequence[Row]) -> "pa.Table":
    """Rows of `groundrail.rows.COLUMNS` as an Arrow table, typed even where a column is empty."""
    arrow = _arrow()
    number, flag, text = arrow.float64(), arrow.bool_(), arrow.string()
    kinds = {"score": number, "exact": flag, "start": arrow.int64(), "end": arrow.int64()}
    return arrow.Table.from_pylist(list(rows), arrow.schema([(name, kinds.get(name, text)) for name in COLUMNS]))


def _score_here(
    rows: Sequence[Mapping[str, Any]],
    folder: Path,
    scorer: Scorer,
    threshold: float | None,
    progress: Callable[[int, int], None] | None,
) -> None:
    arrow, done = _arrow(), 0
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        unfinished = folder / f".{uuid.uuid4().hex}"
        arrow.parquet.write_table(as_table(scored_rows(scorer, batch, threshold)), unfinished)
        unfinished.rename(folder / f"part-{unfinished.name[1:]}.parquet")
        done += len(batch)
        if progress is not None:
            progress(done, len(rows))


def _score_on_ray(
    rows: Sequence[Mapping[str, Any]],
    folder: Path,
    scorer: Callable[[], Scorer],
    threshold: float | None,
    workers: int,
    gpus: float,
) -> None:
    try:
        from ray import data
    except ImportError as error:
        raise MissingExtraError('engine="ray"', "ray") from error
    from groundrail.integrations.ray import score_dataset

    dataset = data.from_arrow(_arrow().Table.from_pylist(list(rows)))
    scored = score_dataset(
        dataset.repartition(max(workers, len(rows) // _BATCH)), scorer, threshold=threshold, workers=workers, gpus=gpus
    )
    scored.write_parquet(str(folder.resolve()))


def _rows(arrow: Any, path: Path) -> list[Row]:
    """Raises: InputError for a file that cannot be read."""
    try:
        if path.suffix == ".parquet":
            return list(arrow.parquet.read_table(path).to_pylist())
        return list(arrow.json.read_json(path).to_pylist())
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except arrow.ArrowInvalid as error:
        raise InputError(f"{path} is neither JSON lines nor Parquet: {error}") from error


def _with_ids(rows: Sequence[Row]) -> list[Row]:
    """Id, claim and source of each row. Raises: InputError where ids are missing or shared."""
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        name = row.get("id")
        if name is None or str(name) in seen:
            told = "no id" if name is None else f"the id {name!r} of a row before it"
            raise InputError(f"row {number} has {told}; results are found again by the id, so give each row its own")
        seen.add(str(name))
    return [{"id": str(row["id"]), "claim": row.get("claim"), "source": row.get("source")} for row in rows]


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.json
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Scoring a corpus", "corpus") from error
    return pyarrow
