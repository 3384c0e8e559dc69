"""Checked sentences as rows that a person labels and `calibrate` and `tune` read."""

import json

from tests.tables import json_lines

from groundrail.cli.main import main
from groundrail.evaluation.loaders import load

SOURCE = "The lease ends on 28 February 2026. Pets are not allowed."


def test_check_gathers_rows_that_read_back_once_they_are_labelled(tmp_path, capsys) -> None:
    answer, source, rows = (tmp_path / name for name in ("answer.txt", "source.txt", "rows.jsonl"))
    answer.write_text("Hello! The lease ends on 28 February 2026. Cats sing in March.", encoding="utf-8")
    source.write_text(SOURCE, encoding="utf-8")
    asked = ["check", str(answer), "--source", str(source), "--scorer", "overlap", "--rows"]
    for _ in range(2):  # the second run adds to the first
        assert main([*asked, str(rows)]) == 1
    found = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    assert [row["verdict"] for row in found] == ["supported", "unsupported"] * 2
    assert (found[0]["premise"], found[0]["hypothesis"]) == (SOURCE, "The lease ends on 28 February 2026.")
    assert all(example.label is None for example in load(rows))
    for row, label in zip(found, (True, False, True, False), strict=True):
        row["label"] = label
    json_lines(rows, found)
    assert [example.label for example in load(rows)] == [1.0, 0.0, 1.0, 0.0]
    capsys.readouterr()
    assert main([*asked, str(tmp_path)]) == 2
    assert "cannot write" in capsys.readouterr().err
