"""Equal values are spelt alike, different ones are left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail.entailment.respelled import respelled
from groundrail.text.facts.mentions import mentions
from groundrail.text.facts.missing import missing
from groundrail.text.facts.quantities import MONTHS


@pytest.mark.parametrize(
    ("premise", "claim", "expected"),
    [
        ("It ends on 28 February 2026.", "It ends on February 28, 2026.", "It ends on 28 February 2026."),
        ("It ends on 28 February 2026.", "It ends on 2026-02-28.", "It ends on 28 February 2026."),
        ("It ends on 28 February 2026.", "It ends on February 28th.", "It ends on 28 February 2026."),
        ("The rent is 1,450 euros.", "The rent is \u20ac1450.", "The rent is 1,450 euros."),
        ("It holds 0.8 litres.", "It holds 800 ml.", "It holds 0.8 litres."),
        ("Wait thirty minutes.", "Wait half an hour.", "Wait thirty minutes."),
        ("It runs for two years.", "It runs for 24 months.", "It runs for two years."),
        ("We open at 15:30.", "We open at 3:30 pm.", "We open at 15:30."),
        ("At ten in the morning we meet.", "We meet at 10 a.m. today.", "We meet at ten in the morning today."),
        ("Thirty-eight people came.", "38 people came.", "Thirty-eight people came."),
        ("The fee is 1.86 million dollars.", "The fee is $1,860,000.", "The fee is 1.86 million dollars."),
        ("It is six percent.", "It is 6 %.", "It is six percent."),
        ("Send it by 3 March 2025.", "Send it by Mar 3, 2025.", "Send it by 3 March 2025."),
        ("Send it by 3 March 2025.", "Send it by 03.03.2025.", "Send it by 3 March 2025."),
        ("It holds two hundred and fifty litres.", "It holds 250 litres.", "It holds two hundred and fifty litres."),
        ("It costs 3,200 euros.", "It costs three thousand two hundred euros.", "It costs 3,200 euros."),
        ("It costs $250,000.", "It costs two hundred and fifty thousand dollars.", "It costs $250,000."),
        ("It costs 3,200 euros.", "It costs EUR 3200.", "It costs 3,200 euros."),
        ("Set it to 93 degrees Celsius.", "Set it to 93 °C.", "Set it to 93 degrees Celsius."),
        ("It is on the third floor.", "It is on the 3rd floor.", "It is on the third floor."),
        ("Keep it below 25°\u00a0C.", "Keep it below 25 °\nC.", "Keep it below 25°\u00a0C."),
        ("It took 5 kWh.", "It took 5 kilowatt-hours.", "It took 5 kWh."),
        # what differs, or would lose something, stays
        ("It ends on 28 February.", "It ends on 28 February 2027.", "It ends on 28 February 2027."),
        ("It ends on 28 February 2026.", "It ends on 27 February 2026.", "It ends on 27 February 2026."),
        ("The rent is 1,450 euros.", "The rent is $1,450.", "The rent is $1,450."),
        ("Leave after twelve months.", "Leave after the first year.", "Leave after the first year."),
        ("Wait 30 seconds.", "Wait 30 minutes.", "Wait 30 minutes."),
        ("Five of them.", "One of them said so.", "One of them said so."),
        ("We open at 3 am.", "We open at 3 pm.", "We open at 3 pm."),
        ("It took 5 kilowatt-hours.", "It took 5 kilowatts.", "It took 5 kilowatts."),
        ("It has fifty metres.", "It has 50 m2.", "It has 50 m2."),
    ],
)
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


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        ("It is 20 °C.", "It is 20 °F."),
        ("20 degrees Celsius", "at 20°F"),
        ("The line does 5 Gbps.", "It costs £5."),
        ("10.20.2024 is a version", "10 November 2024"),
        ("The fee is $1.5 million.", "The fee is $1.5."),
    ],
)
def test_different_units_are_left_alone(premise: str, claim: str) -> None:
    assert respelled(premise, claim) == claim


@pytest.mark.parametrize(
    "figure",
    ["1,450e3", "1,450E+3", "√1,450", "1,450½", "1,450 ½", "1,450²", "1,450^2", "1,450⁻¹", "€1,450e3", "€1,450½"],
)
def test_a_power_a_root_and_a_fraction_are_other_figures_than_their_digits(figure: str) -> None:
    (found,) = mentions(f"The rent is {figure}.")
    assert found.meaning == ("literal", figure)
    assert respelled("The rent is 1,450 euros.", f"The rent is {figure}.") == f"The rent is {figure}."
    assert [detail.kind for detail in missing("The rent is 1,450 euros.", f"The rent is {figure}.")] == ["literal"]
    assert not list(missing(f"It is {figure}.", f"The rent is {figure}."))
