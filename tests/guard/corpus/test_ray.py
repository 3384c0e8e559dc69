"""Scoring on a real local Ray: the same rows as in one process, and a worker that dies loses none."""

import os
from pathlib import Path

import pytest
from tests.tables import json_lines

ray = pytest.importorskip("ray")

from groundrail.corpus.folder import results, score_corpus  # noqa: E402
from groundrail.scoring.scale import ScaleScorer  # noqa: E402
from groundrail.testing import FakeEntailment  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the warnings are Ray's own

SOURCES = [" ".join(f"Room {room} of house {house} is let." for room in range(9)) for house in range(4)]


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    yield
    ray.shutdown()


def corpus(folder: Path) -> Path:
    """150 claims, of which some are true, some false, and three no claims at all."""
    import pyarrow
    from pyarrow import parquet

    claims = [f"Room {n % 13} of house {n % 4} is let." for n in range(150)]
    claims[7] = claims[77] = claims[149] = " "
    rows = [{"id": str(n), "claim": claim, "source": SOURCES[n % 4]} for n, claim in enumerate(claims)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "corpus.parquet")
    return folder / "corpus.parquet"


def test_both_engines_give_the_same_rows_and_a_killed_worker_loses_none(cluster, tmp_path) -> None:
    file, killed = corpus(tmp_path), tmp_path / "killed"

    def build() -> ScaleScorer:
        return ScaleScorer(FakeEntailment())

    def fragile() -> ScaleScorer:
        def judge(premise: str, claim: str) -> float:
            if "Room 5" in claim and not killed.exists():
                killed.touch()
                os._exit(1)
            return float(claim in premise)

        return ScaleScorer(FakeEntailment(judge))

    tally = score_corpus(file, tmp_path / "local", build)
    counts = tally.verdicts
    assert counts["error"] == 3
    assert counts["supported"] > 50 < counts["supported"] + counts["unsupported"]
    assert score_corpus(file, tmp_path / "ray", fragile, engine="ray", workers=1) == tally
    assert killed.exists()
    local, on_ray = (
        {row["id"]: (row["verdict"], row["citation"]) for row in results(tmp_path / engine)} for engine in ("local", "ray")
    )
    assert local == on_ray


def test_ray_tries_errors_again_and_reads_sources_of_both_kinds(cluster, tmp_path) -> None:
    texts = [SOURCES[0], SOURCES, "2024-01-31", None]
    rows = [{"id": n, "claim": "Room 3 of house 0 is let.", "source": texts[n % 4]} for n in range(100)]
    file = json_lines(tmp_path / "corpus.jsonl", rows)

    def build() -> ScaleScorer:
        return ScaleScorer(FakeEntailment())

    score_corpus(file, tmp_path / "local", build)
    for retried in (0, 25):
        tally = score_corpus(file, tmp_path / "ray", build, engine="ray")
        assert (tally.verdicts, tally.retried) == ({"supported": 50, "unsupported": 25, "error": 25}, retried)
        by_id = [{row["id"]: row for row in results(tmp_path / engine)} for engine in ("local", "ray")]
        assert by_id[0] == by_id[1]
        assert len(list(results(tmp_path / "ray"))) == 100
