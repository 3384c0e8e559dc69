"""The written material: every piece of evidence can be found, and neither word overlap nor length gives a label away.

Whether a label is right is for the reader of the document to say, not for a test.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CLAIMS = load(ROOT / "benchmarks" / "challenge" / "challenge.jsonl", documents=EXAMPLES / "documents")
"""Evidence that is not in its document is an error of the loader."""


def text_of(name: str) -> str:
    return (EXAMPLES / "documents" / name).read_text("utf-8")


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def coverage(claim: str, document: str) -> float:
    """Share of the claim's distinct words that occur anywhere in the document."""
    return len(words(claim).keys() & words(document).keys()) / len(words(claim))


def best_f1(claim: str, document: str) -> float:
    """Token F1 of the claim with the most similar sentence of the document."""
    sentences = [words(sentence) for sentence in re.split(r"(?<=[.!?])\s+", document)]
    mine = words(claim)
    return max(2 * (mine & theirs).total() / (mine.total() + theirs.total()) for theirs in sentences if theirs)


def test_the_evidence_of_questions_and_of_planted_answers_stands_once_in_its_document() -> None:
    rows = json.loads((EXAMPLES / "questions.json").read_text("utf-8"))
    for name in ("lease", "manual", "meeting"):
        sentences = json.loads((EXAMPLES / "answers" / f"{name}_planted.json").read_text("utf-8"))
        answer = (EXAMPLES / "answers" / f"{name}_planted.txt").read_text("utf-8")
        assert answer == " ".join(row["text"] for row in sentences) + "\n"
        rows += [{**row, "document": f"{name}.txt"} for row in sentences if row["evidence"] is not None]
    for row in rows:
        assert text_of(row["document"]).count(row["evidence"]) == 1, row


def test_each_pair_of_the_challenge_is_a_true_and_a_wrong_claim_in_one_split() -> None:
    pairs: dict[str | None, list[Example]] = {}
    for claim in CLAIMS:
        pairs.setdefault(claim.group, []).append(claim)
    for rows in pairs.values():
        assert sorted(row.label or 0.0 for row in rows) == [0, 1]
        assert len({(row.source[0].id, row.dataset) for row in rows}) == 1


@pytest.mark.parametrize("split", sorted({claim.dataset for claim in CLAIMS}))
@pytest.mark.parametrize("measure", [coverage, best_f1, lambda claim, document: len(claim)])
def test_overlap_and_length_do_not_separate_the_labels(measure: Any, split: str) -> None:
    rows = [claim for claim in CLAIMS if claim.dataset == split]
    values = [measure(row.claim, row.source[0].text) for row in rows]
    assert 0.35 <= roc_auc_score([row.label for row in rows], values) <= 0.68
