"""Rows of a corpus: every row gets its verdict, and a bad one costs only itself."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.tables import tabled

from groundrail import Guard
from groundrail.corpus.folder import score_corpus
from groundrail.corpus.rows import COLUMNS, scored_rows
from groundrail.entailment.base import JudgeMetadata
from groundrail.errors import InputError, ScoringError
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerMetadata
from groundrail.scoring.scale import ScaleScorer
from groundrail.testing import FakeEntailment
from groundrail.types import Source

SOURCE = "The rent is due in march. Keys were lost. Cats are not allowed."
ROWS: list[dict[str, Any]] = [
    {"id": "a", "claim": "Keys were lost.", "source": SOURCE},
    {"id": "b", "claim": "Dogs are allowed.", "source": SOURCE},
    {"id": "c", "claim": "Cats are not allowed.", "source": ["Nothing here.", SOURCE]},
    {"id": "d", "claim": " ", "source": SOURCE},
    {"id": "e", "claim": "Keys were lost.", "source": " "},
    {"id": "f", "claim": "Keys were lost.", "source": None},
    {"id": "g", "source": SOURCE},
    {"id": "h", "claim": "Keys were lost.", "source": SOURCE},
]
VERDICTS = ["supported", "unsupported", "supported", "error", "error", "error", "error", "supported"]


def scorer() -> ScaleScorer:
    return ScaleScorer(FakeEntailment())


class Giving(Scorer):
    """Gives the scores of a function."""

    def __init__(self, scores: Callable[[Sequence[str]], list[Score]], *judges: JudgeMetadata) -> None:
        self._scores, self._judges = scores, judges

    @property
    def metadata(self) -> ScorerMetadata:
        return ScorerMetadata("giving", judges=self._judges)

    def read(self, source: Source) -> Reader:
        return Prepared(lambda claims, _: self._scores(claims), None)


def test_every_row_has_a_verdict_and_a_citation_that_is_in_its_source() -> None:
    found = scored_rows(scorer(), ROWS)
    assert [row["verdict"] for row in found] == VERDICTS
    assert [row["id"] for row in found] == [row["id"] for row in ROWS]
    assert all(tuple(row) == COLUMNS for row in found)
    assert (found[0]["citation"], SOURCE[found[0]["start"] : found[0]["end"]]) == ("Keys were lost.",) * 2
    assert found[2]["document_id"] == "source-2"
    assert [row["reason"] for row in found[3:7]] == [
        "the row has no claim",
        "the row's source is blank",
        "the row has no source: it is text, or a list of texts",
        "the row has no claim",
    ]


def test_a_claim_that_breaks_the_model_is_an_error_row_and_its_neighbours_are_not() -> None:
    def judge(premise: str, claim: str) -> float:
        if claim.startswith("Dogs"):
            raise ScoringError("no dogs")
        return 0.9

    found = scored_rows(ScaleScorer(FakeEntailment(judge)), ROWS[:2])
    assert [(row["verdict"], row["reason"]) for row in found] == [("supported", None), ("error", "no dogs")]


def test_rows_without_ids_or_with_equal_ones_are_refused_before_any_work(tmp_path) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / "corpus.jsonl"
    for lines, told in (('{"claim": "a", "source": "b"}\n', "no id"), ('{"id": 1}\n{"id": 1}\n', "row 2")):
        file.write_text(lines)
        with pytest.raises(InputError, match=told):
            score_corpus(file, tmp_path / "out", scorer)
    file.write_text("no json")
    with pytest.raises(InputError, match="neither JSON lines nor Parquet"):
        score_corpus(file, tmp_path / "out", scorer)
    with pytest.raises(InputError, match="no such file"):
        score_corpus(tmp_path / "missing.jsonl", tmp_path / "out", scorer)


def test_a_word_that_the_judge_has_no_token_for_is_refused_whatever_its_value() -> None:
    judge = JudgeMetadata("sure", 512, unread=lambda text: [word for word in text.split() if word.startswith("Zz")])
    always = Giving(lambda claims: [Score(0.9)] * len(claims), judge)
    refused, sure = scored_rows(always, [{**ROWS[0], "claim": "Keys were lost. Zzyx paid."}, ROWS[0]])
    assert (refused["verdict"], refused["score"]) == ("unsupported", 0.0)
    assert refused["reason"] == "“Zzyx” cannot be read by the judge"
    assert (sure["verdict"], sure["score"]) == ("supported", 0.9)


def test_a_row_with_half_a_character_costs_the_others_nothing() -> None:
    rows = [{**ROWS[0], "claim": "Keys \ud800"}, {**ROWS[0], "source": ["\udfff", SOURCE]}, ROWS[0]]
    assert [row["verdict"] for row in scored_rows(scorer(), rows)] == ["error", "error", "supported"]


def test_a_score_counts_by_the_threshold_of_whoever_gave_it() -> None:
    values = {"Keys were lost.": Score(0.6, threshold=0.8), "Cats are not allowed.": Score(0.55)}
    claims = ["Keys were lost.", "Cats are not allowed.", "Cats are not allowed. Keys were lost."]
    rows = [{"id": claim, "claim": claim, "source": SOURCE} for claim in claims]
    found = scored_rows(Giving(lambda claims: [values[claim] for claim in claims]), rows, threshold=0.5)
    assert [(row["verdict"], row["score"]) for row in found] == [
        ("unsupported", 0.6),
        ("supported", 0.55),
        ("unsupported", 0.6),
    ]


@tabled("claim")
def test_a_claim_has_the_verdict_that_a_guard_gives_it_as_an_answer(claim) -> None:
    source = "The rent is 950 euros. Cash is accepted."
    kind = ScaleScorer(FakeEntailment(lambda premise, claim: float(claim in premise)))
    (row,) = scored_rows(kind, [{"id": 1, "claim": claim, "source": source}])
    checked = Guard(scorer=kind).check(claim, source)
    if checked.supported:
        assert row["verdict"] == ("no_claim" if claim == "Thank you!" else "supported")
    else:
        assert row["verdict"] == "unsupported"
    refused = [sentence.reason for sentence in checked.sentences if sentence.score is None and sentence.reason]
    assert row["reason"] == (refused[0] if refused else None)


def test_what_a_reader_does_not_see_is_neither_claim_nor_source() -> None:
    rows = [{"id": 1, "claim": "\u200b", "source": SOURCE}, {"id": 2, "claim": "Keys were lost.", "source": ["\ufeff"]}]
    assert [row["reason"] for row in scored_rows(scorer(), rows)] == ["the row has no claim", "the row's source is blank"]


def test_the_sentences_of_all_claims_of_a_source_are_one_call() -> None:
    model = FakeEntailment()
    some = [{"id": n, "claim": f"Keys were lost. Cat {n} is not allowed.", "source": "Keys were lost."} for n in (1, 2)]
    scored_rows(ScaleScorer(model), some)
    assert len(model.calls) == 1
    assert {claim for _, claim in model.calls[0]} == {"Keys were lost.", "Cat 1 is not allowed.", "Cat 2 is not allowed."}


def test_a_scorer_that_gives_another_number_of_scores_is_an_error_of_every_row() -> None:
    generous = Giving(lambda claims: [Score(1.0)] * (len(claims) + 1))
    assert [row["verdict"] for row in scored_rows(generous, ROWS[:2])] == ["error", "error"]
