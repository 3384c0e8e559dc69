"""Rates of logged answers: every sentence counts once, in its day and for its sources, and a bad line is named."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guard.report.conftest import Told
from tests.tables import json_lines, tabled

from groundrail import Guard, InputError, Verdict
from groundrail.cli.main import main
from groundrail.corpus.logged import logged, rates
from groundrail.report.rates import Judged, Outcome, Rates

LEASE = "The rent is 950 euros. Pets are forbidden."
SCORER = Told({"950": (0.9, "The rent is 950 euros.", ""), "Pets": (0.05, "The rent is 950 euros.", "Pets are forbidden.")})
ANSWER = "Hello! The rent is 950 euros. Pets are welcome. The roof is green."
"""One sentence that is talk, and three claims: supported, contradicted, not stated."""
COUNTS = {"sentences": 4, "released": 2, "held_back": 2, "supported": 1, "contradicted": 1, "not_stated": 1, "talk": 1}


def guard() -> Guard:
    return Guard(scorer=SCORER)


def unused() -> Guard:
    raise AssertionError("no answer is to be checked")


def log(folder: Path, *rows: Mapping[str, Any]) -> Path:
    return json_lines(folder / "answers.jsonl", rows)


def times(number: int, answers: int = 1) -> dict[str, int]:
    """The counts of so many answers that are `ANSWER`, beside others without a sentence."""
    return {"answers": answers, **{name: number * count for name, count in COUNTS.items()}}


def test_answers_are_counted_by_day_and_by_source(tmp_path) -> None:
    chunks = [{"id": "lease.txt", "text": LEASE}, {"id": "lease.txt", "text": "Blue."}, {"id": 7, "text": "Red."}]
    found = rates(
        log(
            tmp_path,
            {"time": "2026-03-02T23:30:00-05:00", "answer": ANSWER, "source": LEASE, "source_name": "lease.txt"},
            {"date": "2026-03-01", "answer": ANSWER, "source": chunks, "question": "?"},
            {"date": "2026-03-01", "answer": ANSWER, "source": [LEASE, "Red."], "document_ids": [7], "prompt": "?"},
            {"answer": "", "source": chunks[0]},
            {"answer": ANSWER, "source": LEASE, "time": None},
        ),
        guard,
    )
    assert found.total == times(4, 5)
    assert found.days() == [(date(2026, 3, 1), times(2, 2)), (date(2026, 3, 2), times(1)), (None, times(1, 2))]
    assert dict(found.sources()) == {"lease.txt": times(2, 3), "7": times(2, 2), None: times(1)}


def test_an_answer_without_documents_is_not_checked(tmp_path) -> None:
    found = rates(log(tmp_path, {"answer": "The rent is 950 euros.", "source": []}), guard)
    assert found.total == {"answers": 1, "sentences": 1, "held_back": 1, "not_checked": 1}


def test_logged_results_count_as_answers_that_are_checked_now(tmp_path) -> None:
    result = guard().check(ANSWER, LEASE)
    checked = rates(log(tmp_path, {"answer": ANSWER, "source": LEASE, "source_name": "source"}), guard)
    assert rates(log(tmp_path, result.model_dump(mode="json")), unused) == checked


def test_scored_rows_tell_no_contradiction(tmp_path) -> None:
    rows = [{"id": str(n), "verdict": verdict, "document_id": "a"} for n, verdict in enumerate(Verdict)]
    found = rates(log(tmp_path, *rows, {"verdict": "unsupported", "released": True, "conflict": None}), unused)
    assert found.total == {
        "answers": 8,
        "sentences": 8,
        "released": 4,
        "held_back": 4,
        "supported": 1,
        "known": 1,
        "unsupported": 1,
        "not_stated": 1,
        "talk": 1,
        "not_checked": 3,
    }
    assert {name: counts["answers"] for name, counts in found.sources()} == {"a": 7, None: 1}


def test_a_folder_of_verdicts_is_read(tmp_path, capsys) -> None:
    pytest.importorskip("pyarrow")
    claims = [{"id": n, "claim": text, "source": "Dogs are fine."} for n, text in enumerate(["Dogs are fine.", "Hi!"])]
    assert main(["score", str(log(tmp_path, *claims)), "--out", str(tmp_path / "out"), "--scorer", "overlap"]) == 0
    found = rates(tmp_path / "out", unused)
    assert found.total == {"answers": 2, "sentences": 2, "released": 2, "supported": 1, "talk": 1}


@tabled("line, told")
def test_a_bad_line_is_named_before_any_answer_is_checked(line: str, told: str, tmp_path) -> None:
    path = log(tmp_path, {"answer": ANSWER, "source": LEASE})
    path.write_text(path.read_text() + f"\n{line}\n")
    with pytest.raises(InputError) as error:
        rates(path, unused)
    assert "line 3" in str(error.value)
    assert str(path) in str(error.value)
    assert told in str(error.value)


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_an_empty_log_is_an_error(text, tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl holds no answers.*'answer' and 'source'"):
        rates(tmp_path / "a.jsonl", unused)


def test_a_log_that_is_not_there_and_one_of_parquet_are_errors(tmp_path) -> None:
    with pytest.raises(InputError, match="no such file"):
        rates(tmp_path / "a.jsonl", unused)
    with pytest.raises(InputError, match="the folder that groundrail score wrote"):
        rates(tmp_path / "a.parquet", unused)
    with pytest.raises(InputError, match="holds no answers"):
        rates(tmp_path, unused)


_ANSWERS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from(Outcome), st.booleans()).map(lambda pair: Judged(*pair)), max_size=5),
        st.none() | st.dates(date(2026, 3, 1), date(2026, 3, 4)),
        st.lists(st.sampled_from(["a", "b", "<i>c</i>"]), max_size=3),
    ),
    max_size=12,
)


def added(answers: Sequence[tuple[list[Judged], date | None, list[str]]]) -> Rates:
    found = Rates()
    for answer in answers:
        found.add(*answer)
    return found


@given(_ANSWERS)
def test_the_object_holds_what_is_counted_anew(answers) -> None:
    def counted(own: Sequence[tuple[list[Judged], date | None, list[str]]]) -> dict[str, Any]:
        every = [sentence for sentences, _, _ in own for sentence in sentences]
        numbers = {"released": sum(released for _, released in every)}
        numbers["held_back"] = len(every) - numbers["released"]
        numbers |= {kind.value: sum(outcome is kind for outcome, _ in every) for kind in Outcome}
        shares = {name: count / len(every) if every else None for name, count in numbers.items()}
        return {"answers": len(own), "sentences": len(every), **numbers, "rates": shares}

    days = sorted({str(day) for _, day, _ in answers if day}) + [None] * any(day is None for _, day, _ in answers)
    by_day = [[answer for answer in answers if (answer[1] and str(answer[1])) == day] for day in days]
    names = {name for *_, sources in answers for name in sources or [None]}
    by_name = {name: [answer for answer in answers if name in (answer[2] or [None])] for name in names}
    told = json.loads(json.dumps(added(answers).as_object()))
    assert told["total"] == counted(answers)
    assert told["by_day"] == [{"day": day, **counted(own)} for day, own in zip(days, by_day, strict=True)]
    assert {group.pop("source"): group for group in told["by_source"]} == {n: counted(own) for n, own in by_name.items()}


class Tags(HTMLParser):
    """The tags of a page, its security policy, its table rows as texts, and the heights of its bars by class."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.addresses: list[str] = []
        self.policy = ""
        self.rows: list[list[str]] = []
        self.heights: dict[str, list[float]] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]
        self.addresses += [value for name, value in found.items() if name in ("src", "href", "style", "onload")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag == "rect" and found["class"].startswith("bar "):
            self.heights.setdefault(found["class"][4:], []).append(float(found["height"]))

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip()


@settings(max_examples=25)
@given(_ANSWERS)
def test_the_page_loads_nothing_and_shows_the_counts(answers) -> None:
    found = added(answers)
    tags = Tags(found.page())
    assert not tags.addresses
    assert not {"script", "img", "link", "i"} & tags.tags.keys()
    assert "default-src 'none'" in tags.policy
    assert "script-src 'none'" in tags.policy
    shown = {row[0]: row[1:3] for row in tags.rows}
    for label, counts in (*found.days(), *found.sources()):
        if label is not None:
            assert shown[str(label)] == [str(counts["answers"]), str(counts["sentences"])]
    days = [counts for day, counts in found.days() if day is not None]
    for name, heights in tags.heights.items():
        shares = [counts[name] / max(1, counts["sentences"]) for counts in days]
        assert len(heights) == len(days)
        by_share = [height for _, height in sorted(zip(shares, heights, strict=True))]
        assert by_share == sorted(heights)
    assert set(tags.heights) == ({"held_back", "contradicted", "not_stated", "talk"} if days else set())


def test_the_command_prints_writes_and_refuses(tmp_path, capsys) -> None:
    def row(verdict: str, released: bool) -> dict[str, Any]:
        return {"verdict": verdict, "released": released, "conflict": None, "date": "2026-03-01"}

    path = log(tmp_path, row("supported", True), row("unsupported", False), row("no_claim", True))
    assert main(["report", str(path), "--html", str(tmp_path / "page.html")]) == 0
    told = capsys.readouterr().out
    assert "3 answers, 3 sentences" in told
    assert "33.3%  held back (1)" in told
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == rates(path, unused).page()
    assert main(["report", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == rates(path, unused).as_object()
    assert main(["report", str(path), "--html", str(tmp_path / "none" / "page.html")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    path.write_text('{"answer": "a"}')
    assert main(["report", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_checks_what_has_no_verdict(tmp_path, capsys) -> None:
    path = log(tmp_path, {"answer": "Dogs are fine. Cats are blue.", "source": "Dogs are fine."})
    assert main(["report", str(path), "--json", "--scorer", "overlap", "--threshold", "0.9"]) == 0
    total = json.loads(capsys.readouterr().out)["total"]
    assert (total["supported"], total["not_stated"], total["held_back"]) == (1, 1, 1)


def test_a_long_log_is_read_line_by_line(tmp_path) -> None:
    read = logged(log(tmp_path, {"answer": "a", "source": "b", "question": "c"}, {"answer": "a"}))
    first = next(read)
    assert (first.answer, first.question, [document.text for document in first.documents]) == ("a", "c", ["b"])
    with pytest.raises(InputError, match="line 2"):
        next(read)
