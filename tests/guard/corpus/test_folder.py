"""A corpus is read, scored and written in blocks, and what failed is tried again."""

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.tables import json_lines

pyarrow = pytest.importorskip("pyarrow")

from pyarrow import parquet  # noqa: E402

from groundrail.cli.main import main  # noqa: E402
from groundrail.corpus.files import blocks, rows  # noqa: E402
from groundrail.corpus.folder import results, score_corpus  # noqa: E402
from groundrail.corpus.rows import Row, scored_rows  # noqa: E402
from groundrail.errors import InputError, ScoringError  # noqa: E402
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerMetadata  # noqa: E402
from groundrail.scoring.scale import ScaleScorer  # noqa: E402
from groundrail.testing import FakeEntailment  # noqa: E402
from groundrail.types import Source  # noqa: E402

SUFFIXES = pytest.mark.parametrize("suffix", ["jsonl", "parquet"])


class Lengths(Scorer):
    """The share of a claim's length in its source's: takes no memory, and notes the most that Arrow has taken."""

    metadata = ScorerMetadata("lengths")

    def __init__(self) -> None:
        self.arrow = 0

    def read(self, source: Source) -> Reader:
        self.arrow = max(self.arrow, pyarrow.total_allocated_bytes())
        return Prepared(lambda claims, kept: [Score(len(claim) / len(kept)) for claim in claims], str(source))


def written(path: Path, some: Sequence[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(list(some)), path, row_group_size=100)
        return path
    return json_lines(path, some)


@SUFFIXES
def test_memory_is_that_of_a_block_however_long_the_corpus(suffix, tmp_path) -> None:
    def peak(count: int) -> int:
        file = tmp_path / f"corpus-{count}.{suffix}"
        written(file, [{"id": n, "claim": "a", "source": f"{n} " + "x" * 10_000} for n in range(count)])
        scorer, before = Lengths(), pyarrow.total_allocated_bytes()
        tracemalloc.start()
        try:
            score_corpus(file, tmp_path / f"out-{count}", lambda: scorer)
            return tracemalloc.get_traced_memory()[1] + scorer.arrow - before
        finally:
            tracemalloc.stop()

    peak(100)  # what is loaded once
    assert peak(1000) < 0.35 * 1000 * 10_000


@SUFFIXES
def test_errors_of_an_earlier_run_are_tried_again_and_no_row_is_there_twice(suffix, tmp_path, capsys) -> None:
    source = [f"Room {n} is let." for n in range(10)]
    some: list[Row] = [{"id": str(n), "claim": f"Room {n} is let.", "source": source} for n in range(80)]
    file, out = written(tmp_path / f"corpus.{suffix}", some), tmp_path / "out"
    broken = {f"Room {n} is let." for n in (3, 70, 71, 79)}
    asked: list[str] = []

    def judge(premise: str, claim: str) -> float:
        asked.append(claim)
        if claim in broken:
            raise ScoringError("out of memory")
        return float(claim in premise)

    def build() -> ScaleScorer:
        return ScaleScorer(FakeEntailment(judge))

    first = score_corpus(file, out, build)
    assert (first.verdicts["error"], first.verdicts.total(), first.retried) == (4, 80, 0)
    assert first.errors == {"out of memory": 4}
    asked.clear()
    broken -= {"Room 3 is let.", "Room 79 is let."}
    some.append({"id": "new", "claim": "Room 200 is let.", "source": source})
    written(file, some)
    second = score_corpus(file, out, build)
    assert (second.verdicts["error"], second.verdicts.total(), second.retried) == (2, 81, 4)
    rivals = set(source)  # a claim with another room's number is asked of the source's own rooms, too
    assert set(asked) - rivals == {f"Room {n} is let." for n in (70, 71, 79, 200)}
    assert "Room 3 is let." in asked
    assert sorted(row["id"] for row in results(out)) == sorted(row["id"] for row in some)
    found = {row["id"]: row for row in results(out)}
    assert [found[name]["verdict"] for name in ("3", "79", "70")] == ["supported", "unsupported", "error"]
    assert found == {row["id"]: row for row in scored_rows(build(), some)}

    written(file, [{"id": "70", "claim": " ", "source": "b"}])
    assert score_corpus(file, out, build).retried == 1
    assert main(["score", str(file), "--out", str(out)]) == 1
    assert "81 rows" in (shown := capsys.readouterr().out)
    assert "(1 that were errors before were tried again)" in shown
    assert "1 error: " in shown
    assert sorted(row["id"] for row in results(out)) == sorted(row["id"] for row in some)


def test_a_run_that_ends_half_way_goes_on_where_it_stopped(tmp_path) -> None:
    file = written(tmp_path / "c.jsonl", [{"id": n, "claim": "a", "source": "a b"} for n in range(200)])

    def stop(done: int, total: int) -> None:
        assert total == 200
        if done > 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_corpus(file, tmp_path / "out", Lengths, progress=stop)
    seen = []
    score_corpus(file, tmp_path / "out", Lengths, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(64, 72), (72, 72)]
    assert sorted(int(row["id"]) for row in results(tmp_path / "out")) == list(range(200))


def test_lines_are_read_whatever_their_columns_hold(tmp_path) -> None:
    file = tmp_path / "c.jsonl"
    file.write_text(
        '\ufeff{"id": 1, "claim": "2024-01-31", "source": "2024-01-31", "more": 1}\n\n'
        '{"id": "b", "claim": 5, "source": ["a", "c"], "more": "x"}\n{"id": 2.5, "source": [1]}\n',
        encoding="utf-8",
    )
    assert list(rows(file)) == [
        {"id": "1", "claim": "2024-01-31", "source": "2024-01-31"},
        {"id": "b", "claim": None, "source": ["a", "c"]},
        {"id": "2.5", "claim": None, "source": None},
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"id": 1}\n[2]\n', "line 2 is no object"),
        ('{"id": 1}\n{"id": \n', "line 2: "),
        ('{"id": 1, "claim": "\\ud800"}\n', "line 1 of .* half of a surrogate pair"),
    ],
)
def test_a_line_that_is_no_row_is_named(text, told, tmp_path) -> None:
    (tmp_path / "c.jsonl").write_text(text)
    with pytest.raises(InputError, match=told):
        score_corpus(tmp_path / "c.jsonl", tmp_path / "out", Lengths)


def test_a_parquet_file_without_ids_and_a_part_that_is_cut_short_are_named(tmp_path) -> None:
    with pytest.raises(InputError, match="no column 'id'"):
        score_corpus(written(tmp_path / "c.parquet", [{"claim": "a"}]), tmp_path / "out", Lengths)
    (tmp_path / "out" / "part-1.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"part-1\.parquet cannot be read"):
        score_corpus(written(tmp_path / "c.parquet", [{"id": "a"}]), tmp_path / "out", Lengths)


def test_a_block_holds_so_many_rows_and_letters_and_a_shared_source_counts_once(tmp_path) -> None:
    some = [{"id": n, "claim": "a", "source": text} for n, text in enumerate(["aaaa"] * 5 + ["bbb", "c" * 20, "d"])]
    file = written(tmp_path / "c.jsonl", some)
    found = [[row["id"] for row in block] for block in blocks(rows(file), 4, 7)]
    assert found == [["0", "1", "2", "3"], ["4", "5"], ["6"], ["7"]]


def test_a_second_run_on_a_folder_says_that_the_first_is_at_work(tmp_path: Path) -> None:
    file = written(tmp_path / "corpus.jsonl", [{"id": 1, "claim": "a", "source": "a b"}])
    out = tmp_path / "out"

    def second() -> Scorer:
        with pytest.raises(InputError, match="another run scores into"):
            score_corpus(file, out, Lengths)
        return Lengths()

    assert score_corpus(file, out, second).verdicts.total() == 1
    assert score_corpus(file, out, Lengths).verdicts.total() == 1
