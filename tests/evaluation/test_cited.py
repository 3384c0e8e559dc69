"""Citation recall and precision: marked documents together support a sentence, and no mark is superfluous."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail.cli.main import app
from groundrail.errors import InputError
from groundrail.evaluation.cited import CitedAnswer, MarkCounts, count_marks, load_cited, summarise_marks
from groundrail.guard import Guard
from groundrail.policy import Policy
from groundrail.scoring.nearest import NearestScorer
from groundrail.testing import FakeEntailment
from groundrail.types import Document

TEXTS = ["The rent is 950 euros a month.", "Pets are allowed.", "Pets are allowed in flats."]
DOCUMENTS = tuple(Document(text=text, id=str(number)) for number, text in enumerate(TEXTS, start=1))
GUARD = Guard(scorer=NearestScorer(FakeEntailment(), rivals=0, invented=0), policy=Policy(fallback="flag"))
ROW: dict[str, Any] = {
    "question": "?",
    "docs": [{"title": "", "text": text} for text in TEXTS],
    "output": "Pets are allowed [2]. The rent is 950 euros a month.",
}


def counted(text: str) -> MarkCounts:
    return count_marks(GUARD, CitedAnswer("set", DOCUMENTS, "", text))


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Pets are allowed [2].", (1, 1, 1, 1)),
        ("Pets are allowed [1].", (1, 0, 1, 0)),
        ("Pets are allowed.", (1, 0, 0, 0)),
        ("Pets are allowed [1][2].", (1, 1, 2, 1)),
        ("Pets are allowed [2][3].", (1, 1, 2, 2)),
        ("Pets are allowed [1][2][3].", (1, 1, 3, 2)),
        ("Pets are allowed [9].", (1, 0, 1, 0)),
        ("Pets are allowed [2], and the rent is 950 euros a month [1].", (1, 1, 2, 2)),
        ("Hello!", (0, 0, 0, 0)),
        ("Pets are allowed [2]. Pets are allowed in flats [1].", (2, 1, 2, 1)),
    ],
)
def test_marks_are_counted_as_alce_counts_them(text: str, counts: tuple[int, ...]) -> None:
    assert counted(text) == counts


@given(st.lists(st.sampled_from(["Pets are allowed", "The rent is 950 euros a month", "Cats fly"]), max_size=3), st.data())
def test_no_more_is_right_than_there_is(claims: list[str], data: st.DataObject) -> None:
    marks = [data.draw(st.sampled_from(["", " [1]", " [2][3]", " [1, 2, 3]"])) for _ in claims]
    counts = counted(" ".join(f"{claim}{mark}." for claim, mark in zip(claims, marks, strict=True)))
    assert counts.sentences == len(claims)
    assert counts.supported <= counts.sentences
    assert counts.needed <= counts.marks


def test_both_of_alces_files_are_read(tmp_path: Path) -> None:
    rows, run = tmp_path / "rows.json", tmp_path / "run.json"
    rows.write_text(json.dumps([ROW]), encoding="utf-8")
    run.write_text(json.dumps({"args": {}, "data": [ROW]}), encoding="utf-8")
    (one,), (other,) = load_cited(rows), load_cited(run)
    assert one._replace(dataset="") == other._replace(dataset="")
    assert [document.text for document in one.documents] == TEXTS
    (summary,) = summarise_marks(GUARD, [one])
    assert (summary.recall, summary.precision, summary.sentences, summary.marks) == (0.5, 1.0, 2, 1)


def test_eval_prints_both_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps([ROW, {**ROW, "output": ""}]), encoding="utf-8")
    given = ["eval", "--scorer", "overlap", "--data", str(path), "--json"]
    assert app(given)(given, exit_on_error=False, print_error=False) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["dataset"], told["answers"], told["marks"]) == ("run", 2, 1)


def test_a_row_without_documents_says_which_field(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps([{**ROW, "docs": "none"}]), encoding="utf-8")
    with pytest.raises(InputError, match="docs"):
        load_cited(path)
