"""The real thing: SmolLM2 writes, the built-in judge decides, on the documents of `examples/`."""

import json
from pathlib import Path

import pytest
from tenacity import stop_after_attempt

from groundrail import Document, Guard, GuardResult, Policy, Verdict
from groundrail.decoding import PMI, HFGenerator, Sampling
from groundrail.generators.smollm2 import smollm2
from groundrail.scoring import Scorer

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parent.parent / "examples"


def document(name: str) -> Document:
    return Document(text=(EXAMPLES / "documents" / f"{name}.txt").read_text(encoding="utf-8"), id=name)


@pytest.fixture(scope="module")
def writer() -> HFGenerator:
    return HFGenerator(*smollm2(), sampling=Sampling(max_new_tokens=48))


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return Guard().scorer


@pytest.fixture(scope="module")
def planted(scorer: Scorer) -> dict[str, tuple[GuardResult, list[dict[str, object]]]]:
    checked = {}
    for name in ("lease", "manual", "meeting"):
        answer = (EXAMPLES / "answers" / f"{name}_planted.txt").read_text(encoding="utf-8")
        rows = json.loads((EXAMPLES / "answers" / f"{name}_planted.json").read_text(encoding="utf-8"))
        checked[name] = Guard(scorer=scorer).check(answer, document(name)), rows
    return checked


def test_planted_errors_are_caught_and_true_sentences_pass(planted) -> None:
    caught = passed = wrong = true = 0
    for result, rows in planted.values():
        for sentence, row in zip(result.sentences, rows, strict=True):
            assert sentence.text.strip() == row["text"]
            if row["label"]:
                true += 1
                passed += sentence.released
            else:
                wrong += 1
                caught += not sentence.released
    assert caught / wrong >= 0.8
    assert passed / true >= 0.8


def test_a_supported_sentence_cites_the_sentence_that_says_so(planted) -> None:
    hits = total = 0
    for name in ("lease", "manual"):
        result, rows = planted[name]
        text = document(name).text
        for sentence, row in zip(result.sentences, rows, strict=True):
            if not row["label"] or not sentence.released:
                continue
            (citation,) = sentence.citations
            assert text[citation.start : citation.end] == citation.text
            start = text.index(str(row["evidence"]))
            hits += citation.start < start + len(str(row["evidence"])) and start < citation.end
            total += 1
    assert hits / total >= 0.9


def test_the_model_answers_and_nothing_unsupported_comes_out(writer, scorer) -> None:
    guard = Guard(writer, scorer=scorer, policy=Policy(stop=stop_after_attempt(2)))
    stream = guard.stream("When does the lease end?", document("lease"))
    text = "".join(stream)
    result = stream.result
    assert text == result.text
    assert "28 February 2026" in result.text
    assert "28 February 2026" in result.sentences[0].citations[0].text
    assert result.generation["tokens_generated"] >= result.generation["tokens_kept"] > 0
    for sentence in result.sentences:
        assert sentence.released == (sentence.verdict in (Verdict.SUPPORTED, Verdict.NO_CLAIM))


def test_a_real_hallucination_is_caught(writer, scorer) -> None:
    result = Guard(writer, scorer=scorer, policy=Policy(stop=stop_after_attempt(2))).generate(
        "What happens if the rent is late?", document("lease")
    )
    rejected = [a.text for s in result.sentences for a in s.attempts if a.verdict is Verdict.UNSUPPORTED]
    assert rejected
    assert "250 euros" not in result.text


def test_a_wrong_date_is_refused_and_the_retry_is_right(writer, scorer) -> None:
    source = (
        "Invoices are sent on the fifth of the month and are due on the twentieth. Reminders go out on the twenty-fifth."
    )
    result = Guard(writer, scorer=scorer).generate("When are invoices due?", source)
    refused, *_, accepted = result.sentences[0].attempts
    assert refused.verdict is Verdict.UNSUPPORTED
    assert "sixteenth" in refused.text
    assert accepted.verdict is Verdict.SUPPORTED
    assert "due on the twentieth" in accepted.text
    assert "sixteenth" not in result.text
    assert result.generation["tokens_generated"] > result.generation["tokens_kept"]


def test_a_steered_session_reports_its_grounding_gain(scorer) -> None:
    steered = HFGenerator(*smollm2(), sampling=Sampling(max_new_tokens=24), steering=PMI(0.3))
    session = steered.start("How large is the deposit?", [document("lease")])
    text = "".join(session.propose())
    session.accept(len(text))
    assert "2,900" in text
    assert session.gains[0] > 0


@pytest.mark.parametrize(
    ("rule", "right", "wrong", "question"),
    [
        ("The tenant may keep a bicycle in the cellar.", "keep a bicycle", "keep a car", "What may I keep in the cellar?"),
        (
            "Guests may use the pool until 10 pm.",
            "use the pool until 10 pm",
            "use the pool until 11 pm",
            "How long is it open?",
        ),
        (
            "Customers can return items within 30 days.",
            "return items within 30 days",
            "return items within 60 days",
            "Any returns?",
        ),
    ],
)
def test_you_is_whom_the_source_speaks_of(scorer, rule, right, wrong, question) -> None:
    place = " in the cellar" if "cellar" in rule else ""
    source = f"{rule} The office is closed on Sundays. Parking costs 4 euros a day."
    sentences = Guard(scorer=scorer).check(f"You may {right}{place}. You may {wrong}{place}.", source, question).sentences
    assert [sentence.verdict for sentence in sentences] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]
