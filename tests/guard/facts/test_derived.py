"""How figures follow from other figures."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import tabled

from groundrail.facts.computed import computation as told_reckoning
from groundrail.facts.mentions import mentions


def computation(claim: str, premise: str) -> str | None:
    found = told_reckoning(mentions(claim)[-1], claim, [premise], roughly=True)
    if found is None:
        return None
    for operand in found.operands:
        assert premise[operand.start : operand.end]
    return found.words


@tabled("claim, premise, told")
def test_a_figure_follows(claim: str, premise: str, told: str) -> None:
    assert computation(claim, premise) == told


@pytest.mark.parametrize(
    ("claim", "premise"),
    [
        ("The rent is 1,650 euros.", "The rent is 1,450 euros, and 120 euros for heating."),
        ("In 2024 Gdansk employed 301 people.", "Gdansk had a headcount of 790 in 2023 and of 481 in 2024."),
        ("It ends on 16 May 2025.", "It starts on 1 May 2025 and takes 2 weeks."),
        ("It weighs 5 kg.", "It costs 2 euros and 3 euros."),
    ],
)
def test_a_figure_does_not_follow(claim: str, premise: str) -> None:
    assert computation(claim, premise) is None


@given(st.integers(2, 400), st.dates(date(1990, 1, 1), date(2090, 1, 1)))
def test_a_span_between_two_dates_follows_as_the_calendar_counts_it(days: int, start: date) -> None:
    end = start + timedelta(days=days)
    premise = f"From {start:%d %B %Y} to {end:%d %B %Y}."
    assert computation(f"It takes {days} days.", premise) is not None
    assert computation(f"It takes {days * 3 + 7} days.", premise) is None


@given(st.lists(st.integers(100, 9999), min_size=3, max_size=6, unique=True))
def test_a_sum_of_all_follows(amounts: list[int]) -> None:
    premise = " ".join(f"Item costs {amount} euros." for amount in amounts)
    assert computation(f"Together {sum(amounts)} euros.", premise) is not None
