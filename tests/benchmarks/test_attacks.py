"""The table of attacks: what form alone must stop is stopped whatever a judge says; the issue's six with the real one."""

from typing import Any

import pytest
from attacks import Believing, Row, chosen, counted, released, rows, slipped, sources, summed, table, tricked
from tricks import FACTS, SLIPS, TRICKS

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
    assert len({slip.name for slip in SLIPS}) == len(SLIPS) >= 12
    for slip in SLIPS:
        assert len({source for source, _ in slip.pairs}) == len(slip.pairs) >= 3
        assert all(false not in source for source, false in slip.pairs)


def test_every_slip_and_every_trick_has_a_row_with_its_own_count() -> None:
    subjects = {"all": Guard(scorer=Believing()), "none": Guard(scorer=Believing(0.0))}
    facts = chosen(1, 1)
    lines = table(subjects, counted(subjects, facts, documents=2))
    assert f"| {SLIPS[0].name} | pairs | 2 of 2 | 0 of 2 |" in lines
    assert "| none (the false sentence itself) | meaning | 1 of 1 | 0 of 1 |" in lines
    assert len(lines) == 3 + len(SLIPS) + len(TRICKS)
    cases = 2 * len(SLIPS) + len(TRICKS)
    assert lines[-1].endswith(f"of {cases} | 0 of {cases} |")
    assert sum(len(cases) for _, _, cases in rows(FACTS, None)) == len(TRICKS) * len(FACTS) + sum(
        len(slip.pairs) for slip in SLIPS
    )


def test_stopped_rows_of_a_kind_become_one() -> None:
    found = [Row("a", "form", 2, (0, 1)), Row("b", "form", 3, (0, 0)), Row("c", "form", 4, (1, 2))]
    assert summed(found) == [Row("c", "form", 4, (1, 2)), Row("2 others", "form", 5, (0, 1))]


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.name)
def test_a_slip_is_left_to_the_judge(slip: Any) -> None:
    for case in slipped(slip):
        assert released(Guard(scorer=Believing()), case)
        assert not released(Guard(scorer=Believing(0.0)), case)


def test_a_part_of_the_facts_is_of_the_first_documents() -> None:
    assert chosen(None, None) == list(FACTS)
    part = chosen(2, 3)
    assert len(part) == 6
    assert [fact.document for fact in part] == ["lease.txt"] * 3 + ["manual.txt"] * 3


@pytest.mark.parametrize("trick", [trick for trick in TRICKS if trick.form], ids=lambda trick: trick.name)
def test_a_judge_that_believes_everything_lets_no_trick_of_form_out(trick: Any, texts: dict[str, str]) -> None:
    gullible = Guard(scorer=Believing())
    for case in tricked(trick, FACTS, texts):
        assert not released(gullible, case), case.answer


@pytest.mark.parametrize("trick", [trick for trick in TRICKS if not trick.form], ids=lambda trick: trick.name)
def test_a_judge_that_believes_nothing_lets_nothing_out(trick: Any, texts: dict[str, str]) -> None:
    strict = Guard(scorer=Believing(0.0))
    for case in tricked(trick, FACTS, texts):
        assert not released(strict, case), case.answer


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


@pytest.mark.slow
def test_true_sentences_still_pass_the_built_in_judge(texts: dict[str, str]) -> None:
    guard = Guard()
    passed = [bool(guard.check(fact.true, texts[fact.document]).text) for fact in FACTS]
    assert sum(passed) >= 0.7 * len(FACTS), [fact for fact, out in zip(FACTS, passed, strict=True) if not out]


def test_marked_up_true_sentences_pass(texts: dict[str, str]) -> None:
    guard = Guard()
    fact = FACTS[0]
    for text in ("The **rent** is `1,450` euros per month [1].", "- The rent is 1,450\u00a0euros per month. 😊"):
        assert guard.check(text, texts[fact.document]).text == text
