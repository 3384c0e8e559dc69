"""The families of falsehoods: each case is a fair one, and the table counts what came out."""

import re
from collections import Counter

import pytest
from attacks import Believing
from families import LAYOUTS, OF_FORM, Row, Twins, before_names, read, released, rows, table

from groundrail import Guard

CASES = read()
FAMILIES = list(LAYOUTS)


def _of(family: str) -> list[Twins]:
    return [case for case in CASES if case.family == family]


def test_each_family_has_twelve_cases_of_its_own_texts() -> None:
    assert {case.family for case in CASES} == set(FAMILIES)
    for family, count in Counter(case.family for case in CASES).items():
        assert count >= 12
        assert len({(case.question, case.false) for case in _of(family)}) == count
        assert len({case.source for case in _of(family)}) >= 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.family}: {case.false[:40]}")
def test_false_and_true_are_told_apart_by_their_text(case: Twins) -> None:
    assert case.tells_false(case.false)
    assert not case.tells_false(" ".join(case.harmless))
    assert case.tells_true(case.true)
    assert not case.tells_true(case.false)
    assert not case.tells_true("")
    assert all(part in case.false for part in case.harmless)


@pytest.mark.parametrize("case", _of("list"), ids=lambda case: case.false.splitlines()[0])
def test_the_source_holds_each_item_of_a_list(case: Twins) -> None:
    for answer in (case.false, case.true):
        _, *items = answer.splitlines()
        assert len(items) >= 2
        for item in items:
            assert re.sub(r"^(?:[-*]|\d\.) ", "", item).lower() in case.source.lower()


@pytest.mark.parametrize("case", _of("wrap"), ids=lambda case: case.false[:40])
def test_a_wrapped_sentence_ends_in_a_name_that_the_source_holds(case: Twins) -> None:
    for answer in (case.false, case.true):
        assert len(answer) > 80
        broken = before_names(answer)
        assert broken
        assert all(text.replace("\n", " ") == answer for text in broken)
        assert all(text.splitlines()[1].rstrip(".") in case.source for text in broken)


def test_a_sentence_is_broken_before_each_capital_of_its_last_name() -> None:
    assert before_names("It was built by Arlo and Sons.") == [
        "It was built by\nArlo and Sons.",
        "It was built by Arlo and\nSons.",
    ]
    assert before_names("It was built in May by the town.") == []


@pytest.mark.parametrize("case", _of("pronoun"), ids=lambda case: case.false[:40])
def test_the_twins_of_a_pronoun_differ_only_before_it(case: Twins) -> None:
    pronoun = case.false.split(". ")[-1]
    assert case.true.endswith(pronoun)
    assert case.tells_false(" ".join([*case.harmless, pronoun]))


def test_each_bare_answer_has_its_question() -> None:
    assert all(case.question.endswith("?") for case in _of("bare answer"))
    answering = ("bare answer", "agreement")
    assert all(bool(case.question) == (case.family in answering) for case in CASES)


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.name)
def test_a_judge_that_believes_everything_lets_all_of_a_family_out(row: Row) -> None:
    false = [text for case, text in row.false if case.family not in OF_FORM]
    assert released(Guard(scorer=Believing()), row) == (len(false), len(row.true))


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.name)
def test_a_judge_that_believes_nothing_lets_nothing_of_a_family_out(row: Row) -> None:
    assert released(Guard(scorer=Believing(0.0)), row) == (0, 0)


def test_the_table_counts_both_of_the_twins() -> None:
    lines = table({"all": Guard(scorer=Believing()), "none": Guard(scorer=Believing(0.0))}, limit=2)
    assert lines[0] == "| family | all: false released | all: true released | none: false released | none: true released |"
    (row,) = (line for line in lines if line.startswith("| list"))
    assert row.endswith("| 2 of 2 | 2 of 2 | 0 of 2 | 0 of 2 |")
    names = [name for line in lines[2:] for name in line.split(" | ")[0].removeprefix("| ").split("; ")]
    assert sorted(names) == sorted(name for layouts in LAYOUTS.values() for name in layouts)
