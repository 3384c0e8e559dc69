"""Corrections: one place is exchanged for the premise's detail of the same sort, in the sentence's own form."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail.text.facts.corrections import corrections
from groundrail.text.facts.mentions import mentions
from groundrail.text.facts.missing import is_stated


def corrected(sentence: str, premise: str) -> list[str]:
    return [each.applied(sentence) for each in corrections(sentence, premise)]


@pytest.mark.parametrize(
    ("sentence", "premise", "first"),
    [
        ("You pay €1,650.", "The rent is 1,450 euros.", "You pay €1,450."),
        ("The lease ends on March 28, 2026.", "It ends on 28 February 2026.", "The lease ends on February 28, 2026."),
        ("It ends on 28 March.", "It ends on 28 February 2026.", "It ends on 28 February."),
        ("A 30-day notice is due.", "Notice is due within 45 days.", "A 45-day notice is due."),
        (
            "Of 32 frames, 18 came in the wrong size.",
            "Fourteen of 32 frames came.",
            "Of 32 frames, 14 came in the wrong size.",
        ),
        ("We meet in room 110.", "The meeting is in room 9.", "We meet in room 9."),
        ("Three keys are given.", "The tenants get four keys.", "Four keys are given."),
        ("It weighs 11.5 pounds.", "The weight is 11.5 kilograms.", "It weighs 11.5 kilograms."),
        ("You pay 900 euros a week.", "The rent is 900 euros per month.", "You pay 900 euros a month."),
        ("You have 3 weeks.", "You have 3 days.", "You have 3 days."),
        ("Collection is on Mondays.", "It is collected on Tuesday.", "Collection is on Tuesdays."),
        ("It opened in June.", "The shop opened in October.", "It opened in October."),
        ("Ask Anna Lindqvist for it.", "Daniel Reyes has it.", "Ask Daniel Reyes for it."),
        ("Dogs may be kept.", "Dogs may not be kept.", "Dogs may not be kept."),
        ("Dogs cannot be kept.", "Dogs may be kept.", "Dogs can be kept."),
    ],
)
def test_the_detail_is_written_in_the_sentences_form(sentence: str, premise: str, first: str) -> None:
    assert corrected(sentence, premise)[0] == first


@pytest.mark.parametrize(
    ("sentence", "premise"),
    [
        ("The rent is 950 euros.", "The rent is 950 euros."),
        ("It costs 3 euros, and 3 euros more.", "It costs 4 euros."),  # the same figure twice
        ("1. The rent is due.", "2. The rent is 5 euros."),  # a number of the list
        ("It is cleaned on Tuesdays.", "Daniel Reyes cleans it, and the Tenants pay."),
        ("Ask Daniel Reyes.", "The Tenants and the Landlord know it."),
        ("We meet in room 110.", "We meet at two."),  # which room, not how many
        ("It was made in weeks 66 to 31.", "The model 2200 Travel is not affected."),
        ("You pay three months' rent.", "You pay one month's rent."),
        ("Tenants pay.", "The Landlord pays."),  # a capital that opens a sentence is no name
        ("The offer of Halden came first.", "Birch and Pole came first."),  # half of a name is none
        ("Dogs must not be kept.", "Dogs may be kept."),  # "must" without "not" is more than a permission
        ("Dogs are not and were not kept.", "Dogs are kept."),
    ],
)
def test_a_detail_that_cannot_be_exchanged_exactly_is_left(sentence: str, premise: str) -> None:
    assert corrected(sentence, premise) == []


def test_only_details_that_the_premise_lacks_are_exchanged_if_there_are_any() -> None:
    sentence, premise = "The rent is 900 euros and the deposit 800 euros.", "Rent: 900 euros. Deposit: 700 euros."
    assert corrected(sentence, premise) == ["The rent is 900 euros and the deposit 700 euros."]


def test_a_number_of_another_unit_is_exchanged_for_nothing_else() -> None:
    assert corrected("It costs 28 dollars.", "It costs 28 cents, 40 dollars in all.") == ["It costs 28 cents."]


PARTS = (
    "3 days",
    "5 weeks",
    "€1,200",
    "1,450 euros",
    "4 May 2025",
    "June 7",
    "two",
    "Anna Reyes",
    "Monday",
    "may",
    "is",
)
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
            assert set(re.findall(r"\w+", each.now.lower())) <= {*re.findall(r"\w+", premise.lower()), "may", "is"}
