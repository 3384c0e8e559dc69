"""Details compared literally, in any spelling."""

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st
from tests.tables import tabled

from groundrail.entailment.respelled import respelled
from groundrail.facts.missing import given
from groundrail.facts.missing import missing as missing_details


def missing(premise: str, claim: str) -> int:
    return len(list(missing_details(premise, claim)))


PREMISE = (
    "ANNA: The lease, signed with Brightwater Bank, ends on 28 February 2026 after 24 months. The rent is 1,450 euros, "
    "due by 15:00 on Monday. Heat 0.5 litres for 25 to 30 seconds at six percent power; Halden needs five."
)


@pytest.mark.parametrize("premise", ["Market Street opens in June.", "Jane opens it in June.", "Decide in June."])
@pytest.mark.parametrize("month", ["January", "March", "December"])
def test_a_word_that_begins_like_a_month_gives_none(premise: str, month: str) -> None:
    assert missing(premise, f"It opens in {month}.") == 1


@pytest.mark.parametrize(
    "written", ["99/99/9999", "13/13/2024", "31/31/2030", "00/00/2020", "12/32/2020", "ſeven", "5 ſeconds", "sıx"]
)
def test_what_is_no_date_and_letters_that_look_like_others_are_details_too(written: str) -> None:
    assert missing(f"It is {written}.", f"It is {written}.") == 0
    assert missing("It is Monday.", f"It is {written}.") == 1


@tabled("claim")
def test_an_absent_detail_is_counted_once(claim: str) -> None:
    assert missing(PREMISE, claim) == 1


def test_a_premise_lacks_nothing_of_itself() -> None:
    assert missing(PREMISE, PREMISE) == 0
    assert not any(given(""))


@tabled(
    "premise, claim",
    (PREMISE, "It ends on February 28, 2026, that is on 2026-02-28, after two years."),
    (PREMISE, "The rent is €1,450, or 1450 euros; pay before 3 pm on Monday."),
    (PREMISE, "Heat 500 ml at 6% power for half a minute, says Anna."),
    (PREMISE, "Halden takes five weeks, and one tenant banks with Brightwater."),
)
def test_what_means_the_same_lacks_nothing(premise: str, claim: str) -> None:
    assert missing(premise, claim) == 0
    assert missing(premise, respelled(premise, claim)) == 0


@tabled("premise, claim")
def test_what_differs_lacks_something(premise: str, claim: str) -> None:
    assert missing(premise, claim) > 0
    assert missing(premise, respelled(premise, claim)) > 0


@for_any(st.text(max_size=80))
def test_any_text_gives_all_of_itself(text: str) -> None:
    assert missing(text, text) == 0
