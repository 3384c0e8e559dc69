"""How figures follow from other figures."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail.text.facts.mentions import mentions
from groundrail.text.facts.reckoned import reckoning as told_reckoning


def reckoning(claim: str, premise: str) -> str | None:
    found = told_reckoning(mentions(claim)[-1], claim, [premise], roughly=True)
    if found is None:
        return None
    for operand in found.operands:
        assert premise[operand.start : operand.end]
    return found.words


@pytest.mark.parametrize(
    ("claim", "premise", "told"),
    [
        ("That makes 4,350 euros.", "The rent is 1,450 euros, for 3 months.", "3 months x 1,450 euros"),
        ("Both cost 1,550 euros.", "The rent is 1,450 euros and heating 100 euros.", "1,450 euros + 100 euros"),
        ("It is 50 euros cheaper.", "A cost 150 euros. B costs 200 euros.", "200 euros - 150 euros"),
        ("Each pays 725 euros.", "The rent of 1,450 euros is split between 2 tenants.", "1,450 euros / 2"),
        ("That is 145 euros.", "The fee is 10 % of the rent. The rent is 1,450 euros.", "10 % of 1,450 euros"),
        ("It rose by 25 %.", "It rose from 80 euros to 100 euros.", "(100 euros - 80 euros) / 80 euros"),
        ("It lasts twelve months.", "From 1 March 2025 to 28 February 2026.", "from 1 March 2025 to 28 February 2026"),
        ("It took 9 days.", "From 1 May 2025 to 10 May 2025.", "from 1 May 2025 to 10 May 2025"),
        ("It ends on 15 May 2025.", "It starts on 1 May 2025 and takes 2 weeks.", "1 May 2025 + 2 weeks"),
        ("It closes at 17:30.", "It opens at 9:30 for 8 hours.", "9:30 + 8 hours"),
        ("It has 3 rooms.", "It has a kitchen, a bath and a hall.", "3 items"),
        ("There are four rules.", "Rules:\n- one key\n- no pets\n- no smoke\n- no noise", "4 items"),
    ],
)
def test_a_figure_follows(claim: str, premise: str, told: str) -> None:
    assert reckoning(claim, premise) == told


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
    assert reckoning(claim, premise) is None


@given(st.integers(2, 400), st.dates(date(1990, 1, 1), date(2090, 1, 1)))
def test_a_span_between_two_dates_follows_as_the_calendar_counts_it(days: int, start: date) -> None:
    end = start + timedelta(days=days)
    premise = f"From {start:%d %B %Y} to {end:%d %B %Y}."
    assert reckoning(f"It takes {days} days.", premise) is not None
    assert reckoning(f"It takes {days * 3 + 7} days.", premise) is None


@given(st.lists(st.integers(100, 9999), min_size=3, max_size=6, unique=True))
def test_a_sum_of_all_follows(amounts: list[int]) -> None:
    premise = " ".join(f"Item costs {amount} euros." for amount in amounts)
    assert reckoning(f"Together {sum(amounts)} euros.", premise) is not None
