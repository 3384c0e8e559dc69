"""Scoring a corpus on Ray: one machine or many, each worker with a model of its own."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groundrail.corpus.files import as_table
from groundrail.corpus.rows import scored_rows
from groundrail.errors import MissingExtraError
from groundrail.scoring.base import Scorer

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset


def score_dataset(
    dataset: "Dataset",
    scorer: Callable[[], Scorer],
    *,
    threshold: float | None = None,
    workers: int = 1,
    gpus: float = 0,
    batch_rows: int = 64,
) -> "Dataset":
    """A dataset of rows with `id`, `claim` and `source` -> one of `groundrail.corpus.rows.COLUMNS`, lazily, as Arrow tables.

    `scorer` builds the scorer, once in each of `workers` actors, which take `gpus` each (a fraction shares one). Rows
    of one source belong next to each other: the source is then read once a batch of `batch_rows`. A row that
    cannot be scored is an ERROR row; a batch whose actor died is scored by another.

    Raises: MissingExtraError without Ray.
    """
    try:
        from ray.data import ActorPoolStrategy
    except ImportError as error:
        raise MissingExtraError("score_dataset", "ray") from error
    return dataset.map_batches(
        _Worker,
        fn_constructor_kwargs={"scorer": scorer, "threshold": threshold},
        batch_size=batch_rows,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(size=workers),
        num_gpus=gpus,
    )


class _Worker:
    """The state of an actor: the scorer with its model."""

    def __init__(self, scorer: Callable[[], Scorer], threshold: float | None) -> None:
        self._scorer, self._threshold = scorer(), threshold

    def __call__(self, batch: "pa.Table") -> "pa.Table":
        rows: list[dict[str, Any]] = batch.to_pylist()
        return as_table(scored_rows(self._scorer, rows, self._threshold))
