"""The written material: documents, questions, planted answers and the challenge set are well formed.

Every piece of evidence must be findable, and neither word overlap nor length may give a label away.
Whether a label is right is for the reader of the document to say, not for a test.
"""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CHALLENGE = ROOT / "benchmarks" / "challenge"
NAMES = ("lease", "manual", "meeting")
TEXTS = {f"{name}.txt": (EXAMPLES / "documents" / f"{name}.txt").read_text("utf-8") for name in NAMES}
CLAIMS: list[dict[str, Any]] = [
    json.loads(line) for line in (CHALLENGE / "challenge.jsonl").read_text("utf-8").splitlines()
]
WRONG_KINDS = {
    "number",
    "date",
    "unit",
    "name",
    "negation",
    "role exchange",
    "false join",
    "condition",
    "absent",
    "superseded",
}
TRUE_KINDS = {"paraphrase", "merged", "shortened", "reformatted", "voice", "implied"}


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


@pytest.mark.parametrize(
    ("name", "shortest", "longest"), [("lease", 900, 1300), ("manual", 1000, 1500), ("meeting", 3500, 5000)]
)
def test_document_has_the_intended_length(name: str, shortest: int, longest: int) -> None:
    assert shortest <= len(TEXTS[f"{name}.txt"].split()) <= longest


def test_every_line_of_the_meeting_names_a_speaker_who_is_present() -> None:
    heading, *body = TEXTS["meeting.txt"].split("\n\n")[1:]
    present = {first.upper() for first in re.findall(r"(\w+) \w+ \(", heading)}
    assert {paragraph.split(":")[0] for paragraph in body} == present


def test_questions_have_answers_with_findable_evidence() -> None:
    questions = json.loads((EXAMPLES / "questions.json").read_text("utf-8"))
    assert Counter(row["document"] for row in questions).keys() == TEXTS.keys()
    assert len({row["question"] for row in questions}) == len(questions) >= 30
    for row in questions:
        assert row.keys() == {"document", "question", "answer", "evidence"}
        assert row["question"].endswith("?")
        assert row["answer"].strip()
        assert TEXTS[row["document"]].count(row["evidence"]) == 1, row


@pytest.mark.parametrize("name", NAMES)
def test_planted_answer_is_its_listed_sentences(name: str) -> None:
    answers = EXAMPLES / "answers"
    sentences = json.loads((answers / f"{name}_planted.json").read_text("utf-8"))
    text = (answers / f"{name}_planted.txt").read_text("utf-8")
    assert text == " ".join(row["text"] for row in sentences) + "\n"
    assert 10 <= len(sentences) <= 14
    labels = Counter(row["label"] for row in sentences)
    assert set(labels) == {True, False}
    assert abs(labels[True] - labels[False]) <= 2
    planted = {row["kind"] for row in sentences if not row["label"]}
    assert {"wrong number", "negation", "absent fact"} <= planted
    for row in sentences:
        assert row.keys() == {"text", "label", "kind", "evidence"}
        assert (row["evidence"] is None) == (row["kind"] == "absent fact"), row
        if row["evidence"] is not None:
            assert TEXTS[f"{name}.txt"].count(row["evidence"]) == 1, row


def test_challenge_rows_are_complete_and_their_evidence_findable() -> None:
    assert len({row["id"] for row in CLAIMS}) == len(CLAIMS) >= 180
    assert len({row["claim"] for row in CLAIMS}) == len(CLAIMS)
    for row in CLAIMS:
        fields = {"id", "pair", "document", "split", "label", "kind", "claim", "evidence"}
        assert row.keys() - {"also"} == fields
        assert row["kind"] in (TRUE_KINDS if row["label"] else WRONG_KINDS), row
        assert (row["evidence"] is None) == (row["kind"] == "absent"), row
        assert row["claim"].endswith("."), row
        quoted = [*row.get("also", []), *([row["evidence"]] if row["evidence"] else [])]
        for sentence in quoted:
            assert TEXTS[row["document"]].count(sentence) == 1, (row["id"], sentence)
            assert row["claim"] != sentence


def test_challenge_pairs_hold_one_claim_of_each_label_and_stay_in_one_split() -> None:
    pairs = defaultdict(list)
    for row in CLAIMS:
        pairs[row["pair"]].append(row)
    for rows in pairs.values():
        assert sorted(row["label"] for row in rows) == [0, 1]
        assert len({(row["document"], row["split"]) for row in rows}) == 1


def test_challenge_is_balanced_in_every_document_and_split() -> None:
    counts = Counter((row["document"], row["split"], row["label"]) for row in CLAIMS)
    assert len(counts) == 12
    for document in TEXTS:
        of_document = [counts[document, split, label] for split in ("dev", "test") for label in (0, 1)]
        assert sum(of_document) >= 60
        assert max(of_document) - min(of_document) <= 1
    for split in ("dev", "test"):
        assert {row["kind"] for row in CLAIMS if row["split"] == split} == TRUE_KINDS | WRONG_KINDS


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize("measure", [coverage, best_f1, lambda claim, document: len(claim)])
def test_overlap_and_length_do_not_separate_the_labels(measure: Any, split: str) -> None:
    rows = [row for row in CLAIMS if row["split"] == split]
    values = [measure(row["claim"], TEXTS[row["document"]]) for row in rows]
    assert 0.35 <= roc_auc_score([row["label"] for row in rows], values) <= 0.68


def test_readme_counts_are_those_of_the_file() -> None:
    tables = (CHALLENGE / "README.md").read_text("utf-8")
    stated = {kind: int(count) for kind, count in re.findall(r"^\| `([\w ]+)` \| (\d+) \|", tables, re.M)}
    assert stated == Counter(row["kind"] for row in CLAIMS)
