"""Details compared literally, in any spelling."""

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st
from tests.tables import tabled

from groundrail.entailment.respelled import respelled
from groundrail.text.facts.missing import given
from groundrail.text.facts.missing import missing as missing_details


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


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        (PREMISE, "It ends on February 28, 2026, that is on 2026-02-28, after two years."),
        (PREMISE, "The rent is €1,450, or 1450 euros; pay before 3 pm on Monday."),
        (PREMISE, "Heat 500 ml at 6% power for half a minute, says Anna."),
        (PREMISE, "Halden takes five weeks, and one tenant banks with Brightwater."),
        ("15.03.2025", "15 March 2025"),
        ("15 Mar", "15 March"),
        ("two hundred and fifty euros", "250 euros"),
        ("at midnight", "at 12 am"),
        ("a three-year lease", "it runs 3 years"),
        ("1.8 m", "180 cm"),
        ("on 15/03/2025", "on 15 March 2025"),
        ("$1.5m", "1.5 million dollars"),
        ("It was Boeing's plan.", "It was Boeing's plan."),
        ("O'Neil and Jean-Luc's Coca-Cola", "so O'Neil, Jean-Luc, Coca-Cola"),
        ("It is 20 °C.", "It is 20 degrees Celsius."),
        ("from 9 to 17 daily", "opens at 9 am"),
        ("opens at 21:00", "opens at 9 pm"),
        ("opens at 21:00", "opens at 9"),
        ("notice of a week", "notice of one week"),
        ("5 to 10 March 2026", "on 5 March 2026"),
        ("The 2025-04-15 lease has 4 rooms.", "There are four rooms."),
        ("€1,450.50 per month", "1450.50 euros"),
        ("rent 900 euros", "rent of 900"),
        ("the 2nd floor", "the second floor"),
        ("on March 3, 2025 at 5 p.m.", "on 3 March 2025 at 17:00"),
        ("a dozen eggs", "12 eggs"),
        ("half an hour", "30 minutes"),
        ("two (2) months", "2 months"),
        ("In 2024 sales were 5%", "5 percent in 2024"),
        ("5kg", "5 kilograms"),
        ("-5 °C", "minus 5 degrees Celsius"),
        ("between 25 and 30 seconds", "25 seconds"),
        ("90 minutes", "1.5 hours"),
        ("in May 2024", "in May 2024"),
        ("It may rain in 3 days", "It may rain in three days"),
        ("Monday's meeting", "on Monday"),
        ("room B12", "B12 is free"),
        ("the EU's GDPR", "so the GDPR of the EU"),
    ],
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
