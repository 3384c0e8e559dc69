"""Checked sentences as rows that a person labels and `calibrate` and `tune` read."""

import json
from pathlib import Path

from groundrail.cli.main import main
from groundrail.evaluation.loaders import load

ROOT = Path(__file__).parents[3]
LEASE = ROOT / "examples" / "documents" / "lease.txt"


def test_check_gathers_rows_that_read_back_once_they_are_labelled(tmp_path, capsys) -> None:
    answer, rows = tmp_path / "answer.txt", tmp_path / "rows.jsonl"
    answer.write_text("Hello! The lease ends on 28 February 2026. The lease ends on 28 March 2027.", encoding="utf-8")
    for _ in range(2):  # the second run adds to the first
        assert main(["check", str(answer), "--source", str(LEASE), "--rows", str(rows)]) == 1
    found = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    assert [row["verdict"] for row in found] == ["supported", "unsupported"] * 2
    assert found[0]["hypothesis"] == "The lease ends on 28 February 2026."
    assert found[0]["premise"] == LEASE.read_text(encoding="utf-8")
    assert all(example.label is None for example in load(rows))
    for row, label in zip(found, (True, False, True, False), strict=True):
        row["label"] = label
    rows.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    assert [example.label for example in load(rows)] == [1.0, 0.0, 1.0, 0.0]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path, capsys) -> None:
    assert main(["check", str(LEASE), "--source", str(LEASE), "--rows", str(tmp_path)]) == 2
    assert "cannot write" in capsys.readouterr().err
