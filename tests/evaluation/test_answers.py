"""Whole answers with marked passages: reading RAGTruth and FaithBench, judging, and the measures, recomputed here slowly."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import json_lines

from groundrail.cli.main import app
from groundrail.errors import InputError
from groundrail.evaluation.answer_summary import JudgedAnswer, JudgedSentence, judge_answers, parts_read, summarise_answers
from groundrail.evaluation.answers import MarkedAnswer, load_answers
from groundrail.guard import Guard
from groundrail.papers.overlap import OverlapScorer
from groundrail.policy import Policy
from groundrail.types import Document, Verdict

LEASE = "The rent is 900 euros. Pets are not allowed."
SOURCES: list[dict[str, Any]] = [
    {"source_id": 7, "task_type": "Summary", "source_info": LEASE},
    {"source_id": 8, "task_type": "QA", "source_info": {"question": "how high is the rent", "passages": LEASE}},
    {"source_id": 9, "task_type": "Data2txt", "source_info": {"name": "Café Lind", "attributes": {"WiFi": None}}},
]
TEXT = "The rent is 900 euros. Cats are welcome. Thank you!"
CATS = {"start": 23, "end": 40, "text": "Cats are welcome.", "label_type": "Evident Conflict"}
RESPONSES: list[dict[str, Any]] = [
    {"source_id": 7, "model": "m", "response": TEXT, "labels": [{**CATS, "implicit_true": True}], "split": "test"},
    {"source_id": "8", "id": 3, "response": TEXT, "labels": []},
    {"source_id": 9, "model": "m", "response": TEXT, "labels": [{**CATS, "due_to_null": True}], "split": "test"},
]


@pytest.fixture
def ragtruth(tmp_path: Path) -> Path:
    json_lines(tmp_path / "source_info.jsonl", SOURCES)
    return json_lines(tmp_path / "response.jsonl", RESPONSES)


@pytest.fixture
def faithbench(tmp_path: Path) -> Path:
    def mark(start: int, end: int, *labels: str) -> dict[str, Any]:
        return {"annot_id": 1, "label": labels, "summary_start": start, "summary_end": end, "source_span": None}

    marks = [[mark(0, 3, "Benign")], [mark(0, 3, "Questionable")], [mark(23, 27, "Unwanted", "Unwanted.Intrinsic")]]
    sample = {"source": LEASE, "summary": TEXT}
    samples = [{**sample, "sample_id": n, "annotations": found} for n, found in enumerate(marks)]
    samples.append({**sample, "sample_id": 3})
    path = tmp_path / "batch_5.json"
    path.write_text(json.dumps({"samples": samples}, indent=2))
    return path


def test_ragtruth_joins_responses_with_sources_by_task(ragtruth) -> None:
    answers = load_answers(ragtruth)
    assert [(a.dataset, a.id, a.marked) for a in answers] == [
        ("ragtruth-test-Summary", "7/m", ((23, 40),)),
        ("ragtruth-QA", "3", ()),
        ("ragtruth-test-Data2txt", "9/m", ((23, 40),)),
    ]
    assert (answers[1].source[0].text, answers[1].question) == (LEASE, "how high is the rent")
    assert json.loads(answers[2].source[0].text) == SOURCES[2]["source_info"]
    assert "Café" in answers[2].source[0].text
    assert [bool(a.marked) for a in load_answers(ragtruth, leave_out=["implicit_true"])] == [False, False, True]
    assert [bool(a.marked) for a in load_answers(ragtruth, leave_out=["due_to_null"])] == [True, False, False]


def test_faithbench_counts_unwanted_and_questionable_passages(faithbench) -> None:
    marks = [(), ((0, 3),), ((23, 27),), ()]
    found = [(a.dataset, a.id, a.marked) for a in load_answers(faithbench)]
    assert found == [("faithbench", f"batch_5/{n}", marked) for n, marked in enumerate(marks)]
    assert [bool(a.marked) for a in load_answers(faithbench, leave_out=["questionable"])] == [False, False, True, False]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"source_id": 7, "response": "a"}, "line 1, field 'labels': missing; .* has labels, response, source_id, this"),
        ({"source_id": 5, "response": "a", "labels": []}, r"line 1, field 'source_id': 5 is not in .*source_info\.jsonl"),
        ({"source_id": 7, "response": "abc", "labels": [{"start": 1, "end": 9}]}, r"'labels\.0'.* text of 3 characters"),
        ({"source_id": 7, "response": 4, "labels": []}, "field 'response'"),
    ],
)
def test_a_bad_response_is_named_by_line_and_field(ragtruth, row, message) -> None:
    with pytest.raises(InputError, match=message):
        load_answers(json_lines(ragtruth, [row]), "ragtruth")


def test_files_that_are_something_else_name_the_fields_looked_for_and_found(ragtruth, tmp_path) -> None:
    other = json_lines(tmp_path / "other.jsonl", [{"premise": "a", "hypothesis": "b"}])
    with pytest.raises(
        InputError,
        match=r"fields premise, hypothesis fit no known format of whole answers. Known: ragtruth: labels, response, source_id",
    ):
        load_answers(other)
    with pytest.raises(InputError, match=r"name response\.jsonl"):
        load_answers(tmp_path / "source_info.jsonl")
    with pytest.raises(InputError, match="'magic'; there are implicit_true"):
        load_answers(ragtruth, leave_out=["magic"])
    json_lines(tmp_path / "source_info.jsonl", [{"source_id": 7, "task_type": "QA", "source_info": "text"}])
    with pytest.raises(InputError, match="question and passages"):
        load_answers(ragtruth)
    json_lines(tmp_path / "source_info.jsonl", [{"source_id": 7, "source_info": "text"}])
    with pytest.raises(InputError, match=r"source_info\.jsonl, line 1, field 'task_type': missing"):
        load_answers(ragtruth)


def test_answers_are_judged_as_the_guard_judges_them_and_results_are_found_again(ragtruth, tmp_path) -> None:
    answers = load_answers(ragtruth)
    guard = Guard(scorer=OverlapScorer(), policy=Policy(threshold=0.5, fallback="flag"))
    results = tmp_path / "out" / "answers.jsonl"
    judged = judge_answers(guard, answers, results=results)
    for answer, found in zip(answers, judged, strict=True):
        checked = guard.check(answer.text, answer.source, answer.question).sentences
        assert [s.verdict for s in found.sentences] == [s.verdict for s in checked]
        assert [answer.text[s.start : s.end] for s in found.sentences] == [s.text.strip() for s in checked]
    assert [s.held for s in judged[0].sentences] == [False, True, False]
    assert judged[0].sentences[2].verdict is Verdict.NO_CLAIM
    written = results.read_text()
    assert judge_answers(guard, answers, results=results) == judged
    assert results.read_text() == written
    results.write_text("{}\n")
    with pytest.raises(InputError, match="line 1: expected a result of an earlier run"):
        judge_answers(guard, answers, results=results)


_PASSAGES = st.lists(st.tuples(st.integers(0, 39), st.integers(1, 10)).map(lambda p: (p[0], min(40, sum(p)))), max_size=3)
_ANSWERS = st.lists(st.tuples(_PASSAGES, st.lists(st.booleans(), min_size=4, max_size=4)), min_size=2, max_size=6)


def cases(drawn: list[tuple[list[tuple[int, int]], list[bool]]]) -> tuple[list[MarkedAnswer], list[JudgedAnswer]]:
    """Answers of four sentences, ten characters each, with marks and decisions."""
    answers = [MarkedAnswer(str(n), "d", (Document(text="x"),), "a" * 40, tuple(m)) for n, (m, _) in enumerate(drawn)]
    judged = [
        JudgedAnswer(
            key="",
            seconds=1.0,
            sentences=tuple(
                JudgedSentence(start=10 * n, end=10 * n + 10, verdict=Verdict.UNSUPPORTED if h else Verdict.SUPPORTED)
                for n, h in enumerate(held)
            ),
        )
        for _, held in drawn
    ]
    return answers, judged


def slow(pairs: list[tuple[bool, bool]]) -> tuple[float, float, float, float | None]:
    """Precision, recall, F1 and balanced accuracy from pairs of truth and decision."""
    right = sum(truth and decision for truth, decision in pairs)
    decided, wanted = sum(decision for _, decision in pairs), sum(truth for truth, _ in pairs)
    precision, recall = right / decided if decided else 0.0, right / wanted if wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    others = [not decision for truth, decision in pairs if not truth]
    return precision, recall, f1, (recall + sum(others) / len(others)) / 2 if wanted and others else None


@given(_ANSWERS)
def test_measures_are_those_of_slow_counting(drawn) -> None:
    (summary,) = summarise_answers(*cases(drawn), 0.5, resamples=2)
    sentences = [
        (any(set(range(10 * n, 10 * n + 10)) & set(range(*mark)) for mark in marks), held)
        for marks, decisions in drawn
        for n, held in enumerate(decisions)
    ]
    answers = [(bool(marks), any(decisions)) for marks, decisions in drawn]
    for detection, expected in ((summary.answer_level, slow(answers)), (summary.sentence_level, slow(sentences))):
        found = (detection.precision.value, detection.recall.value, detection.f1.value)
        assert found == pytest.approx(expected[:3])
        balanced = detection.balanced_accuracy
        assert (None if balanced is None else balanced.value) == pytest.approx(expected[3])
    shared = found_characters = marked_characters = 0
    for marks, decisions in drawn:
        red = np.repeat(decisions, 10)
        found_characters += int(red.sum())
        for start, end in marks:  # a character marked twice counts twice, as in the papers' code
            marked_characters += end - start
            shared += int(red[start:end].sum())
    span = summary.span_level
    precision = shared / found_characters if found_characters else 0.0
    recall = shared / marked_characters if marked_characters else 0.0
    assert (span.precision.value, span.recall.value) == pytest.approx((precision, recall))
    assert span.f1.value == pytest.approx(2 * precision * recall / (precision + recall) if shared else 0.0)
    assert span.balanced_accuracy is None


def test_a_guard_that_judges_every_sentence_rightly_has_the_best_span_f1() -> None:
    drawn = [([(2, 6)], [True, False, False, False]), ([(15, 32)], [False, True, True, True]), ([], [False] * 4)]
    (summary,) = summarise_answers(*cases(drawn), 0.5, resamples=20)
    assert summary.sentence_level.f1.value == summary.answer_level.f1.value == 1
    assert summary.span_level.f1.value == summary.best_span_f1 == pytest.approx(2 * 21 / (40 + 21))
    assert (summary.answers, summary.unsupported_answers) == (3, 2)
    assert (summary.sentences, summary.unsupported_sentences) == (12, 4)


def test_several_data_sets_are_also_measured_together(ragtruth) -> None:
    answers = load_answers(ragtruth)
    guard = Guard(scorer=OverlapScorer(), policy=Policy(threshold=0.5, fallback="flag"))
    summaries = summarise_answers(answers, judge_answers(guard, answers), 0.5, resamples=10)
    assert [s.dataset for s in summaries][-1] == "all"
    assert summaries[-1].answers == 3
    assert summaries[-1].sentences == sum(s.sentences for s in summaries[:-1])


def evaluate(*arguments: object) -> int:
    given = ["eval", "--scorer", "overlap", *map(str, arguments)]
    return int(app(given)(given, exit_on_error=False, print_error=False))


@pytest.mark.slow
def test_eval_prints_the_papers_measures(ragtruth, faithbench, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert evaluate("--data", ragtruth, faithbench, "--out", tmp_path / "out", "--threshold", 0.5) == 0
    printed = capsys.readouterr().out
    for row in ("answer: balanced accuracy", "answer: F1", "sentence: recall", "span: precision"):
        assert row in printed
    assert evaluate("--data", faithbench, "--leave-out", "questionable", "--json", "--threshold", 0.5) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["answers"], report["unsupported_answers"]) == (4, 1)
    assert report["sentence_level"]["recall"]["value"] == 1
    assert len(json.loads((tmp_path / "out" / "summary.json").read_text())) == 5


def test_whole_answers_and_single_claims_are_measured_in_two_runs(ragtruth, tmp_path) -> None:
    claims = json_lines(tmp_path / "pairs.jsonl", [{"premise": "a", "hypothesis": "a", "label": 1}])
    with pytest.raises(InputError, match="no known format of whole answers"):
        evaluate("--data", ragtruth, claims)
    with pytest.raises(InputError, match="--plots is for files of single claims"):
        evaluate("--data", ragtruth, "--plots", tmp_path)
    with pytest.raises(InputError, match="--units is for files of single claims"):
        evaluate("--data", ragtruth, "--units", "whole")


PLANTED: dict[str, Any] = {
    "id": "lease-1",
    "source": LEASE,
    "prompt": "What does the lease say?",
    "answer": "Gladly! The rent is 900 euros. Pets are not allowed.",
    "sentences": [
        {"text": "Gladly!", "kind": "talk"},
        {"text": "The rent is 900 euros.", "kind": "close"},
        {"text": "Pets are not allowed.", "kind": "close"},
    ],
    "wrong": [
        {"text": "The rent is 900 euros.", "replace": "The rent is 950 euros.", "kind": "figure"},
        {"text": "Pets are not allowed.", "replace": "Pets are allowed.", "kind": "negation"},
    ],
}


def test_wrong_sentences_are_planted_one_by_one(tmp_path) -> None:
    right, figure, negation = load_answers(json_lines(tmp_path / "planted.jsonl", [PLANTED]))
    assert [right.text[part.start : part.end] for part in right.parts] == [s["text"] for s in PLANTED["sentences"]]
    assert (right.marked, right.question) == ((), PLANTED["prompt"])
    assert figure.text == "Gladly! The rent is 950 euros. Pets are not allowed."
    assert [figure.text[slice(*mark)] for mark in figure.marked] == ["The rent is 950 euros."]
    assert [(part.kind, negation.text[part.start : part.end]) for part in negation.parts] == [
        ("negation", "Pets are allowed.")
    ]


def test_a_label_that_is_judged_with_a_claim_does_not_count(tmp_path) -> None:
    labelled = PLANTED | {
        "answer": "Gladly! Two things: the rent is 900 euros. Pets are not allowed.",
        "sentences": [
            {"text": "Gladly!", "kind": "talk"},
            {"text": "Two things:", "kind": "talk"},
            {"text": "the rent is 900 euros.", "kind": "close"},
            {"text": "Pets are not allowed.", "kind": "close"},
        ],
        "wrong": [],
    }
    (answer,) = load_answers(json_lines(tmp_path / "labelled.jsonl", [labelled]))
    (judged,) = judge_answers(Guard(scorer=OverlapScorer(), policy=Policy(fallback="flag")), [answer])
    read = [(answer.text[part.start : part.end], len(found)) for part, found in parts_read(answer, judged)]
    assert read == [("Gladly!", 1), ("the rent is 900 euros.", 1), ("Pets are not allowed.", 1)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "The rent is 900 euros."}, "field 'sentences': sentence 1 is not in the answer"),
        ({"sentences": PLANTED["sentences"][:2]}, "field 'wrong': number 2 stands for no sentence of the answer"),
    ],
)
def test_sentences_that_are_not_in_the_answer_are_named(tmp_path, change, message) -> None:
    with pytest.raises(InputError, match=message):
        load_answers(json_lines(tmp_path / "planted.jsonl", [PLANTED | change]))


def test_kinds_are_counted_by_what_goes_out(tmp_path) -> None:
    """Words of the source go out; "Gladly!" does not, and neither does the wrong figure."""
    answers = load_answers(json_lines(tmp_path / "planted.jsonl", [PLANTED]))
    guard = Guard(scorer=OverlapScorer(), policy=Policy(fallback="flag", threshold=0.99))
    (summary,) = summarise_answers(answers, judge_answers(guard, answers), 0.99)
    found = {(each.wrong, each.kind): (each.decided_rightly, each.total) for each in summary.kinds}
    assert found == {
        (False, "all"): (2, 3),
        (False, "close"): (2, 2),
        (False, "talk"): (0, 1),
        (False, "whole answers"): (0, 1),
        (True, "all"): (1, 2),
        (True, "figure"): (1, 1),
        (True, "negation"): (0, 1),
    }
