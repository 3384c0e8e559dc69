"""The default scorer with the built-in judge on the development claims: by kind of error, no worse than it was.

Floors lie some claims below what `groundrail eval` printed when the weights were made (docs/benchmarks.md), as
processors round differently.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from groundrail.evaluation.loaders import load
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.summary import Summary, summarise
from groundrail.scoring.registry import DEFAULT, load_scorer

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
FLOORS = {
    "written_dev": {
        "absent caught": 11,
        "cause caught": 29,
        "comparative caught": 12,
        "conclusion caught": 10,
        "condition caught": 28,
        "detail caught": 19,
        "join caught": 24,
        "modality caught": 21,
        "negation caught": 13,
        "order caught": 17,
        "overclaim caught": 17,
        "quantifier caught": 26,
        "role caught": 23,
        "superseded caught": 13,
        "implied passed": 57,
        "instruction passed": 20,
        "merged passed": 19,
        "paraphrase passed": 49,
        "pronoun passed": 8,
        "reformatted passed": 11,
        "voice passed": 7,
    },
    "challenge": {
        "absent caught": 9,
        "condition caught": 10,
        "date caught": 6,
        "false join caught": 14,
        "name caught": 7,
        "negation caught": 16,
        "number caught": 11,
        "role exchange caught": 11,
        "unit caught": 7,
        "merged passed": 3,
        "paraphrase passed": 48,
        "reformatted passed": 25,
        "shortened passed": 10,
        "voice passed": 9,
    },
}
AUC = {"written_dev": 81.0, "challenge": 73.0}


@pytest.fixture(scope="module")
def summaries() -> dict[str, Summary]:
    scorer = load_scorer(DEFAULT)
    documents = BENCHMARKS.parent / "examples" / "documents"
    both_halves = load(BENCHMARKS / "challenge" / "challenge.jsonl", documents=documents)
    examples = [
        *load(BENCHMARKS / "claims" / "written_dev.jsonl"),
        *(replace(example, dataset="challenge") for example in both_halves),
    ]
    results = evaluate(scorer, examples, units="whole")
    return {summary.dataset: summary for summary in summarise(examples, results, threshold=scorer.threshold)}


@pytest.mark.parametrize("dataset", FLOORS)
def test_errors_by_kind(summaries: dict[str, Summary], dataset: str) -> None:
    found = {f"{kind.name} {'passed' if kind.label else 'caught'}": kind.right for kind in summaries[dataset].kinds}
    low = {kind: (found.get(kind), floor) for kind, floor in FLOORS[dataset].items() if found.get(kind, 0) < floor}
    assert not low, f"decided rightly, and at least: {low}"


@pytest.mark.parametrize("dataset", AUC)
def test_true_claims_score_higher(summaries: dict[str, Summary], dataset: str) -> None:
    auc = summaries[dataset].auc
    assert auc is not None
    assert 100 * auc.value >= AUC[dataset]
