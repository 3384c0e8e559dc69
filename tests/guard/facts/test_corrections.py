"""Corrections: one place is exchanged for the premise's detail of the same sort, in the sentence's own form."""

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import tabled

from groundrail.facts.corrections import corrections
from groundrail.facts.mentions import mentions
from groundrail.facts.missing import is_stated


def corrected(sentence: str, premise: str) -> list[str]:
    return [each.applied(sentence) for each in corrections(sentence, premise)]


@tabled("sentence, premise, first")
def test_the_detail_is_written_in_the_sentences_form(sentence: str, premise: str, first: str) -> None:
    assert corrected(sentence, premise)[0] == first


@tabled("sentence, premise")
def test_a_detail_that_cannot_be_exchanged_exactly_is_left(sentence: str, premise: str) -> None:
    assert corrected(sentence, premise) == []


def test_only_details_that_the_premise_lacks_are_exchanged_if_there_are_any() -> None:
    sentence, premise = "The rent is 900 euros and the deposit 800 euros.", "Rent: 900 euros. Deposit: 700 euros."
    assert corrected(sentence, premise) == ["The rent is 900 euros and the deposit 700 euros."]


def test_a_number_of_another_unit_is_exchanged_for_nothing_else() -> None:
    assert corrected("It costs 28 dollars.", "It costs 28 cents, 40 dollars in all.") == ["It costs 28 cents."]


PARTS = ("3 days", "5 weeks", "€1,200", "1,450 euros", "4 May 2025", "June 7", "two", "Anna Reyes", "Monday", "may not")
TEXTS = st.lists(st.sampled_from([*PARTS, "not", "Rent of", "and", "for"]), min_size=1, max_size=8).map(" ".join)


@given(TEXTS, TEXTS)
def test_one_place_changes_and_the_premise_states_it(sentence: str, premise: str) -> None:
    for each in corrections(sentence, premise):
        text = each.applied(sentence)
        assert text != sentence
        assert text.startswith(sentence[: each.start])
        assert text.endswith(sentence[each.end :])
        assert len(text) - len(sentence) == len(each.now) - (each.end - each.start)
        inside = [m for m in mentions(text) if (m.start, m.end) == (each.start, each.start + len(each.now))]
        if inside:
            assert is_stated(inside[0], premise)
        else:
            assert set(re.findall(r"\w+", each.now.lower())) <= set(re.findall(r"\w+", premise.lower()))
