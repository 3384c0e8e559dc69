"""Computations: figures that follow from figures of the premises, and which of them are plausible enough to be shown."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import tabled

from groundrail.facts.computed import computation
from groundrail.facts.mentions import mentions


def words(claim: str, *premises: str, roughly: bool = False) -> str | None:
    """The computation of the claim's last figure; its operands are places of the premises."""
    found = computation(mentions(claim)[-1], claim, premises, roughly=roughly)
    if found is None:
        return None
    assert all(premises[operand.premise][operand.start : operand.end] for operand in found.operands)
    return found.words


@tabled("claim, premises, told")
def test_a_plausible_reckoning_is_told(claim: str, premises: list[str], told: str) -> None:
    assert words(claim, *premises) == told.replace(" cats", "")


@tabled("claim, premise, told")
def test_a_figure_follows(claim: str, premise: str, told: str) -> None:
    assert words(claim, premise, roughly=True) == told


@pytest.mark.parametrize(
    ("claim", "premises", "roughly"),
    [
        ("It lasts eight years.", ["It is guaranteed for 5 years.", "You pay 60 percent when it arrives."], False),
        ("There are 7 cats.", ["Ann has 3 cats.", "Bob has 4 dogs."], False),
        ("It is 4,350 euros.", ["The rent is 1,450 euros a month.", "There are 3 rooms."], False),
        ("It is 7 euros.", [" ".join(f"{number} euros," for number in range(100, 139)), "3 euros and 4 euros."], False),
        ("The rent is 1,650 euros.", ["The rent is 1,450 euros, and 120 euros for heating."], True),
        ("In 2024 Gdansk employed 301 people.", ["Gdansk had a headcount of 790 in 2023 and of 481 in 2024."], True),
        ("It ends on 16 May 2025.", ["It starts on 1 May 2025 and takes 2 weeks."], True),
        ("It weighs 5 kg.", ["It costs 2 euros and 3 euros."], True),
    ],
)
def test_an_implausible_reckoning_is_not_told(claim: str, premises: list[str], roughly: bool) -> None:
    assert words(claim, *premises, roughly=roughly) is None


@given(st.integers(2, 400), st.dates(date(1990, 1, 1), date(2090, 1, 1)))
def test_a_span_between_two_dates_follows_as_the_calendar_counts_it(days: int, start: date) -> None:
    end = start + timedelta(days=days)
    premise = f"From {start:%d %B %Y} to {end:%d %B %Y}."
    assert words(f"It takes {days} days.", premise, roughly=True) is not None
    assert words(f"It takes {days * 3 + 7} days.", premise, roughly=True) is None


@given(st.lists(st.integers(100, 9999), min_size=3, max_size=6, unique=True))
def test_a_sum_of_all_follows(amounts: list[int]) -> None:
    premise = " ".join(f"Item costs {amount} euros." for amount in amounts)
    assert words(f"Together {sum(amounts)} euros.", premise, roughly=True) is not None
