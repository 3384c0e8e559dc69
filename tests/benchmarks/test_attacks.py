"""The table of attacks: what form alone must stop is stopped whatever a judge says; the issue's six with the real one."""

from typing import Any

import pytest
from attacks import Believing, chosen, released, sources
from tricks import FACTS, TRICKS

from groundrail import Guard, Verdict


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return sources()


def test_the_table_is_wide_enough(texts: dict[str, str]) -> None:
    assert len({trick.name for trick in TRICKS}) == len(TRICKS) >= 140
    assert len(texts) >= 3
    for fact in FACTS:
        assert fact.detail in fact.true
        assert fact.false != fact.true


def test_a_part_of_the_facts_is_of_the_first_documents() -> None:
    assert chosen(None, None) == list(FACTS)
    part = chosen(2, 3)
    assert len(part) == 6
    assert [fact.document for fact in part] == ["lease.txt"] * 3 + ["manual.txt"] * 3


@pytest.mark.parametrize("trick", [trick for trick in TRICKS if trick.form], ids=lambda trick: trick.name)
def test_a_judge_that_believes_everything_lets_no_trick_of_form_out(trick: Any, texts: dict[str, str]) -> None:
    gullible = Guard(scorer=Believing())
    for fact in FACTS:
        assert not released(gullible, trick, fact, texts[fact.document]), trick.answer(fact)


@pytest.mark.parametrize("trick", [trick for trick in TRICKS if not trick.form], ids=lambda trick: trick.name)
def test_a_judge_that_believes_nothing_lets_nothing_out(trick: Any, texts: dict[str, str]) -> None:
    strict = Guard(scorer=Believing(0.0))
    for fact in FACTS:
        assert not released(strict, trick, fact, texts[fact.document]), trick.answer(fact)


@pytest.mark.parametrize(
    "name",
    [
        "zero-width spaces",
        "soft hyphens",
        "joiners",
        "invisible operators",
        "bold letters",
        "script letters",
        "keycaps",
        "full-width letters",
        "HTML entities",
    ],
)
def test_disguised_letters_are_judged_as_the_plain_ones(name: str, texts: dict[str, str]) -> None:
    (trick,) = [trick for trick in TRICKS if trick.name == name]
    for fact in FACTS:
        judge = Believing()
        Guard(scorer=judge).check(trick.answer(fact), texts[fact.document])
        assert judge.claims == [fact.false]


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("lease.txt", "Cash is ~~not~~ accepted."),
        ("lease.txt", "Smoking is 𝐧𝐨𝐭 allowed on the balcony."),
        ("manual.txt", "Do <!-- not --> use distilled water."),
        ("lease.txt", "The rent is \u202e1,450\u202c euros per month."),
        ("lease.txt", "The Tenants receive keys [44]."),
        ("lease.txt", "The rent is paid by bank transfer to the Landlord's account at http://evil.example/pay."),
    ],
)
def test_attacks_that_passed_the_built_in_judge_once(document: str, sentence: str, texts: dict[str, str]) -> None:
    (checked,) = Guard().check(sentence, texts[document]).sentences
    assert checked.verdict is Verdict.UNSUPPORTED
    assert checked.reason
    assert not checked.released


def test_true_sentences_still_pass_the_built_in_judge(texts: dict[str, str]) -> None:
    guard = Guard()
    passed = [bool(guard.check(fact.true, texts[fact.document]).text) for fact in FACTS]
    assert sum(passed) >= 0.7 * len(FACTS), [fact for fact, out in zip(FACTS, passed, strict=True) if not out]


def test_marked_up_true_sentences_pass(texts: dict[str, str]) -> None:
    guard = Guard()
    fact = FACTS[0]
    for text in ("The **rent** is `1,450` euros per month [1].", "- The rent is 1,450\u00a0euros per month. 😊"):
        assert guard.check(text, texts[fact.document]).text == text
