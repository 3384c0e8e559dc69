import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.guard.parts import Scoring
from tests.hashed import HashedYesNo

import groundrail
from groundrail import Guard
from groundrail.errors import InputError, ScoringError
from groundrail.evaluation import metrics
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.kept import read_kept
from groundrail.evaluation.run import Result, code, evaluate, fingerprint
from groundrail.evaluation.summary import match, summarise
from groundrail.papers.decomposed import SentencePairScorer, SentliScorer, TopKScorer
from groundrail.papers.overlap import OverlapScorer
from groundrail.scoring.base import Score, Scorer
from groundrail.scoring.scale import ScaleScorer
from groundrail.testing import FakeEntailment
from groundrail.types import Document, Span

LEASE = Document(text="The rent is 900 euros. Pets are not allowed. The keys are returned in June.")


def example(number, claim, label=1.0, source=(LEASE,), **fields):
    return Example(str(number), "lease", source, claim, label, **fields)


EXAMPLES = [
    example(1, "The rent is 900 euros."),
    example(2, "The rent is 700 euros. Pets are allowed.", 0.0),
    example(3, "   "),
    example(4, "The keys are returned in June.", None),
    example(5, "Nothing was said.", 0.0, source=(Document(text=""),)),
    example(6, "Pets are not allowed.", 1.0, source=(Document(text="No pets."),)),
]


@pytest.fixture
def lines(tmp_path):
    """Where results go, and how many lines there are."""
    path = tmp_path / "out" / "results.jsonl"
    return path, lambda: len(path.read_text().splitlines())


def test_values_are_the_mean_over_sentences_in_order_and_empty_claims_are_left_out(hashed_yes_no):
    scorer = SentencePairScorer(hashed_yes_no(1))
    results = evaluate(scorer, EXAMPLES, batch=2)
    assert [result.id for result in results] == ["1", "2", "4", "5", "6"]
    first, second = scorer.score(["The rent is 700 euros.", "Pets are allowed."], LEASE)
    assert results[1].value == pytest.approx((first.value + second.value) / 2)
    assert results[3].value is None
    (whole,) = evaluate(scorer, EXAMPLES[1:2], units="whole")
    assert whole.value == scorer.score([EXAMPLES[1].claim], LEASE)[0].value
    (least,) = evaluate(scorer, EXAMPLES[1:2], aggregate="minimum")
    assert least.value == min(first.value, second.value)


def test_a_second_run_scores_nothing_and_says_the_same(hashed_yes_no, lines):
    path, count = lines
    counter = CountingEntailment(hashed_yes_no(1))
    scorer = SentencePairScorer(counter)
    first, before = evaluate(scorer, EXAMPLES, results=path, counter=counter), counter.pairs
    assert evaluate(scorer, EXAMPLES, results=path, counter=counter) == first
    assert counter.pairs - before < before
    assert evaluate(SentencePairScorer(hashed_yes_no(1)), EXAMPLES, results=path) == first
    assert count() == 5


def test_an_interrupted_run_is_continued(hashed_yes_no, lines):
    path, count = lines
    scorer = SentencePairScorer(hashed_yes_no(1))
    whole = evaluate(scorer, EXAMPLES)
    evaluate(scorer, EXAMPLES[:2], results=path)
    with path.open("a") as file:
        file.write('{"key": "torn')
    continued = evaluate(scorer, EXAMPLES, results=path)
    assert [(r.id, r.value, r.citations) for r in continued] == [(r.id, r.value, r.citations) for r in whole]
    assert count() == len(read_kept(path, Result)) == 5


def test_another_model_setting_claim_or_source_is_scored_anew(hashed_yes_no, lines):
    path, count = lines
    one, other = EXAMPLES[:1], (Document(text="Other."),)
    variants: list[tuple[Scorer, list[Example], dict[str, Any]]] = [
        (SentencePairScorer(hashed_yes_no(1)), one, {}),
        (SentencePairScorer(hashed_yes_no(2)), one, {}),
        (TopKScorer(hashed_yes_no(1)), one, {}),
        (TopKScorer(hashed_yes_no(1), k=6), one, {}),
        (SentencePairScorer(hashed_yes_no(1)), one, {"aggregate": "minimum"}),
        (SentencePairScorer(hashed_yes_no(1)), one, {"units": "whole"}),
        (SentencePairScorer(hashed_yes_no(1)), one, {"settings": {"note": 1}}),
        (SentencePairScorer(hashed_yes_no(1)), [example(1, "The rent is 9.")], {}),
        (SentencePairScorer(hashed_yes_no(1)), [example(1, one[0].claim, source=other)], {}),
    ]
    for number, (scorer, examples, settings) in enumerate([*variants, *variants], start=1):
        evaluate(scorer, examples, results=path, **settings)
        assert count() == min(number, len(variants))


def test_weights_that_change_under_one_name_are_noticed(lines):
    path, count = lines

    class Named(HashedYesNo):
        __dict__: Any = property(lambda self: {})

    for seed, expected in [(1, 1), (2, 2), (1, 2)]:
        evaluate(SentencePairScorer(Named(seed)), EXAMPLES[:1], results=path)
        assert count() == expected


def test_a_claim_that_fails_is_reported_alone_and_tried_again(lines):
    path, _ = lines
    refused = ["Pets"]

    def judge(claims):
        if any(word in claim for claim in claims for word in refused):
            raise ScoringError("no pets here")
        return [Score(0.5) for _ in claims]

    scorer = Scoring(judge)
    results = evaluate(scorer, EXAMPLES, results=path)
    assert [result.error for result in results] == [None, "no pets here", None, None, "no pets here"]
    assert [result.value for result in results] == [0.5, None, 0.5, 0.5, None]
    (summary,) = summarise(EXAMPLES, results, resamples=20)
    assert summary.failed == 2
    assert summary.mean_score == 0.5
    refused.clear()
    assert [result.error for result in evaluate(scorer, EXAMPLES, results=path)] == [None] * 5


def test_a_claim_is_read_as_the_guard_reads_it():
    claims = [
        "Pets are not allowed.",
        "Pets are not allowed, see http://evil.example/pets.",
        "- **Pets** are not allowed [1].",
        "Thank you! Pets are not allowed.",
        "Thank you!",
        "Keys are returned. Pets are ~~not~~ allowed.",
    ]
    judge = FakeEntailment(lambda premise, claim: 1.0 if "Pets are not allowed" in claim else 0.5)
    scorer = ScaleScorer(judge)
    values = [result.value for result in evaluate(scorer, [example(n, claim) for n, claim in enumerate(claims)])]
    assert values == [1.0, 0.0, 1.0, 1.0, None, 0.0]
    for claim, value in zip(claims, values, strict=True):
        checked = Guard(scorer=scorer).check(claim, LEASE).sentences
        assert min((s.score or 0.0 for s in checked if s.verdict != "no_claim"), default=None) == value


def test_a_bare_answer_is_judged_together_with_its_prompt():
    judge = FakeEntailment()
    question = "Are pets allowed?"
    evaluate(ScaleScorer(judge), [example(1, "Yes, they are.", question=question)])
    claims = {claim for call in judge.calls for _, claim in call}
    assert any(question in claim and "they are" in claim for claim in claims)


@pytest.mark.parametrize("units", ["sentences", "subsentences", "whole"])
def test_no_unit_is_scored_of_a_claim_that_is_refused(units):
    judge = FakeEntailment()
    (result,) = evaluate(ScaleScorer(judge), [example(1, "Pets are ⊘ allowed.")], units=units, counter=None)
    assert result.value == 0.0
    assert not [claim for call in judge.calls for _, claim in call if "Pets" in claim]


def test_a_results_file_that_is_something_else_is_refused(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"text": "my notes"}) + "\n")
    with pytest.raises(InputError, match="line 1: expected a result"):
        evaluate(OverlapScorer(), EXAMPLES, results=path)
    assert "my notes" in path.read_text()


def test_pairs_and_calls_are_counted_and_a_model_keeps_its_classes(hashed_yes_no, hashed_nli):
    counter = CountingEntailment(hashed_yes_no(1))
    results = evaluate(SentencePairScorer(counter), EXAMPLES[:2], counter=counter)
    assert sum(result.pairs for result in results) == 3 * 3
    assert sum(result.calls for result in results) == 1
    assert vars(counter.model)["seed"] == 1
    nli = CountingEntailment(hashed_nli(1))
    evaluate(SentliScorer(nli), EXAMPLES[:1], counter=nli)
    assert nli.calls > 0


def test_progress_counts_up_to_all_claims(hashed_yes_no):
    seen = []
    scorer = SentencePairScorer(hashed_yes_no(1))
    evaluate(scorer, EXAMPLES, batch=1, progress=lambda *counts: seen.append(counts))
    assert seen == [(number, 5) for number in range(1, 6)]


def test_a_summary_counts_what_it_leaves_out_and_explains_what_is_missing():
    results = evaluate(OverlapScorer(), EXAMPLES)
    (summary,) = summarise(EXAMPLES, results, resamples=50)
    assert (summary.claims, summary.empty, summary.unscored, summary.measured) == (6, 1, 1, 3)
    assert summary.auc is not None
    assert summary.notes == ()
    only = [row for row in EXAMPLES if row.label == 1]
    (summary,) = summarise(only, evaluate(OverlapScorer(), only), resamples=50)
    assert summary.auc is None
    assert any("ROC-AUC needs both classes" in note for note in summary.notes)
    with pytest.raises(InputError, match="not of these examples"):
        match(EXAMPLES[:1], results)


def test_evidence_and_kinds_are_summarised():
    rows = [
        example(1, "The rent is 900 euros.", kind="copied", group="a", evidence=((span(0, 22),),)),
        example(2, "The dog may stay out.", 0.0, kind="made up", group="a", evidence=((span(23, 44),),)),
    ]
    (summary,) = summarise(rows, evaluate(OverlapScorer(), rows), threshold=0.9, resamples=20)
    assert summary.with_evidence == 2
    assert summary.evidence_hit == 0.5
    assert summary.best_of_group == 1.0
    assert [(kind.name, kind.right, kind.total) for kind in summary.kinds] == [("made up", 1, 1), ("copied", 1, 1)]


def test_scores_by_kind_and_by_system_and_margins_of_log_probabilities():
    rows = [
        example(number, f"c{number}", float(number % 2), kind="odd" if number % 2 else "even", system=f"s{number // 4}",
                group=str(number // 2))
        for number in range(12)
    ]  # fmt: skip
    values = [-9.0, -1.0, -3.0, -2.0, -8.0, -2.5, -6.0, -5.5, -7.0, -6.5, -4.0, -6.0]
    results = [Result(key=r.id, dataset="lease", id=r.id, value=value) for r, value in zip(rows, values, strict=True)]
    (summary,) = summarise(rows, results, threshold=-5, resamples=20)
    even, odd = summary.kinds
    assert (even.right, even.total, odd.right, odd.total) == (4, 6, 3, 6)
    assert even.quartiles == tuple(np.quantile(values[::2], [0.25, 0.5, 0.75]))
    assert summary.systems is None  # every system has the same mean label
    assert any("every label is 0.5" in note for note in summary.notes)
    assert summary.best_of_group == 5 / 6
    assert summary.margins == ((math.log(100), 2 / 6), (math.log(1000), 1 / 6))
    assert summary.auc_difference is None
    assert summary.tuned_balanced_accuracy is None
    shares = [Result(key=row.key, dataset="lease", id=row.id, value=0.5) for row in results]
    assert summarise(rows, shares, resamples=20)[0].margins == ()


def test_another_scorers_results_and_a_tuned_threshold():
    results = evaluate(OverlapScorer(), EXAMPLES)
    others = [result.model_copy(update={"value": 0.5, "key": "x"}) for result in results]
    (summary,) = summarise(EXAMPLES, results, resamples=20, tuned={"lease": 0.9}, against=others)
    assert summary.auc_difference.value == pytest.approx(summary.auc.value - 0.5)
    assert summary.tuned_threshold == 0.9
    labels, scores = zip(*[(1.0, 1.0), (0.0, results[1].value), (1.0, results[4].value)], strict=True)
    assert summary.tuned_balanced_accuracy.value == metrics.balanced_accuracy(labels, scores, 0.9)
    (summary,) = summarise(EXAMPLES, results, resamples=20, against=others[:1])
    assert summary.auc_difference is None
    assert any("a score for 1 of the 3 claims" in note for note in summary.notes)
    with pytest.raises(InputError, match="several runs"):
        summarise(EXAMPLES, results, resamples=20, against=others + results)


def span(start, end):
    return Span(document_id="source", start=start, end=end)


@pytest.mark.parametrize(("one", "other"), [([1, 2], [1, 3]), ({"a": 1}, {"a": 2}), ({"a", "b"}, {"a"})])
def test_settings_that_are_collections_tell_scorers_apart(one, other):
    class Weighted(OverlapScorer):
        def __init__(self, weights):
            super().__init__()
            self.weights = weights
            self.seen = []

    first, second = Weighted(one), Weighted(other)
    assert fingerprint(first) != fingerprint(second)
    first.seen.append("a claim")
    assert fingerprint(first) == fingerprint(Weighted(one))


@pytest.mark.parametrize("changed", ["types.py", "text/english/words.py", "entailment/builtin/model.safetensors"])
def test_the_fingerprint_covers_the_whole_package(changed, tmp_path, monkeypatch):
    copy = tmp_path / "groundrail"
    left_out = shutil.ignore_patterns("__pycache__", "*.safetensors")
    shutil.copytree(Path(groundrail.__file__).parent, copy, ignore=left_out)
    (copy / "entailment/builtin/model.safetensors").write_bytes(b"weights")
    monkeypatch.setattr(groundrail, "__file__", str(copy / "__init__.py"))
    before = code.__wrapped__()
    with (copy / changed).open("ab") as file:
        file.write(b"\n")
    assert code.__wrapped__() != before
