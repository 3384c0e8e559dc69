"""Equal values are spelt alike, different ones are left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import tabled

from groundrail.entailment.respelled import respelled
from groundrail.facts.mentions import mentions
from groundrail.facts.missing import missing
from groundrail.text.english.quantities import MONTHS


@tabled("premise, claim, expected")
def test_spellings(premise: str, claim: str, expected: str) -> None:
    assert respelled(premise, claim) == expected


@given(st.text(max_size=80))
def test_a_text_is_never_respelled_by_itself(text: str) -> None:
    assert respelled(text, text) == text
    assert respelled("", text) == text


@given(st.integers(1, 28), st.integers(0, 11), st.integers(1900, 2099), st.integers(0, 2), st.integers(0, 2))
def test_any_two_spellings_of_a_date_mean_the_same(day: int, month: int, year: int, first: int, second: int) -> None:
    name = MONTHS[month].capitalize()
    forms = [f"{day} {name} {year}", f"{name} {day}, {year}", f"{year}-{month + 1:02d}-{day:02d}"]
    premise, claim = f"It ends on {forms[first]}.", f"It ends on {forms[second]}."
    assert respelled(premise, claim) == premise
    assert [m.meaning for m in mentions(premise)] == [("date", float(day), float(month + 1), float(year))]


@given(st.integers(2, 99999), st.sampled_from(["euros", "metres", "hours"]))
def test_a_number_means_its_value_with_or_without_commas(number: int, unit: str) -> None:
    assert respelled(f"It is {number:,} {unit}.", f"It is {number} {unit}.") == f"It is {number:,} {unit}."
    other = f"It is {number + 1} {unit}."
    assert respelled(f"It is {number:,} {unit}.", other) == other


@tabled("premise, claim")
def test_different_units_are_left_alone(premise: str, claim: str) -> None:
    assert respelled(premise, claim) == claim


@pytest.mark.parametrize(
    "figure", ["1,450e3", "1,450E+3", "√1,450", "1,450½", "1,450 ½", "1,450²", "1,450^2", "1,450⁻¹", "€1,450e3", "€1,450½"]
)
def test_a_power_a_root_and_a_fraction_are_other_figures_than_their_digits(figure: str) -> None:
    (found,) = mentions(f"The rent is {figure}.")
    assert found.meaning == ("literal", figure)
    assert respelled("The rent is 1,450 euros.", f"The rent is {figure}.") == f"The rent is {figure}."
    assert [detail.kind for detail in missing("The rent is 1,450 euros.", f"The rent is {figure}.")] == ["literal"]
    assert not list(missing(f"It is {figure}.", f"The rent is {figure}."))
