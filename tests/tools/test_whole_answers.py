"""Whole answers, silences and kinds of sentences as training reads them: labels and contexts are those of the guard."""

import json
from pathlib import Path
from typing import Any

import pytest
import silence
from pack_claims import Tokens, add_kinds, answers_as_texts
from packed import LABELS, Builder, Packed
from whole_answers import read_answers

ANSWER: dict[str, Any] = {
    "id": "pool-1",
    "source": [{"id": "a", "text": "The Otter Pool opens at 8."}, {"id": "b", "text": "The Seal Pool opens at 10."}],
    "prompt": "When can I swim?",
    "answer": "Happy to help!\n\n**Otter Pool**\n- It opens at 8.\n- No entry fee is mentioned.\n",
    "sentences": [
        {"text": "Happy to help!", "kind": "talk"},
        {"text": "Otter Pool", "kind": "talk"},
        {"text": "It opens at 8.", "kind": "close"},
        {"text": "No entry fee is mentioned.", "kind": "silent"},
    ],
    "wrong": [{"text": "It opens at 8.", "replace": "It opens at 10.", "kind": "who"}],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(ANSWER), encoding="utf-8")
    return path


def test_sentences_are_read_in_their_context(file: Path) -> None:
    ((_, sentences),) = read_answers(file)
    found = [(read.kind, read.context, read.claim) for read in sentences]
    assert found == [
        ("talk", "When can I swim?", "Happy to help!"),
        ("talk", "When can I swim?", "Otter Pool"),
        ("close", "When can I swim? Otter Pool:", "It opens at 8."),
        ("silent", "When can I swim? Otter Pool:", "No entry fee is mentioned."),
        ("wrong", "When can I swim? Otter Pool:", "It opens at 10."),
    ]


def test_a_sentence_that_the_guard_does_not_judge_has_a_context_too(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    greeting = {"answer": "Hello!", "sentences": [{"text": "Hello!", "kind": "talk"}], "wrong": []}
    path.write_text(json.dumps(ANSWER | greeting), encoding="utf-8")
    ((_, (read,)),) = read_answers(path)
    assert (read.kind, read.context, read.claim) == ("talk", "When can I swim?", "Hello!")


def test_talk_is_no_claim_and_silence_is_asked_as_it_is(file: Path) -> None:
    (text,) = answers_as_texts(file)
    assert text["texts"] == ["The Otter Pool opens at 8.", "The Seal Pool opens at 10."]
    assert [(claim["label"], claim["kind"]) for claim in text["claims"]] == [
        ("entailment", "close"),
        ("entailment", "silence"),
        ("not_entailment", "wrong"),
    ]


def test_a_text_is_silent_where_nothing_answers(tmp_path: Path) -> None:
    asked = [
        {"question": f"Question {n}?", "is_impossible": bool(n % 2), "answers": [{"text": "Lind", "answer_start": 4}]}
        for n in range(4)
    ]
    articles = [{"paragraphs": [{"context": f"Mr. Lind of house {n}.", "qas": asked}]} for n in range(4)]
    file = tmp_path / "questions.json"
    file.write_text(json.dumps({"data": articles}), encoding="utf-8")
    training, held_out = (list(silence.of_questions(file, training=training)) for training in (True, False))
    assert {row["text"] for row in training}.isdisjoint(row["text"] for row in held_out)
    for claim in training[0]["claims"]:
        number = int(claim["context"].removeprefix("Question ").removesuffix("?"))
        assert claim["label"] == ("entailment" if number % 2 else "contradiction")


def test_a_claim_is_not_stated_if_its_label_says_so() -> None:
    claims = [{"text": f"The fee is {n} euros.", "label": label} for n in range(99) for label in silence.SHARE]
    (row,) = silence.of_claims([{"text": "Dogs may enter.", "claims": claims}])
    neutral = {claim["text"][1:] for claim in claims if claim["label"] == "neutral"}
    assert all(claim["label"] == "entailment" or "fee is" in claim["text"] for claim in row["claims"])
    assert sum(claim["label"] == "entailment" for claim in row["claims"]) == len(neutral)


def test_kinds_are_packed_without_a_source() -> None:
    builder = Builder()
    add_kinds(builder, [("talk", "May I ask?", "Sure!"), ("claim", "", "Dogs may enter.")], Tokens(), "kinds")
    packed = Packed(builder.arrays())
    assert packed.rows[:, 1].tolist() == [LABELS["talk"], LABELS["claim"]]
    assert [len(packed.text[n]) for n in packed.rows[:, 0]] == [1, 0]
