"""Which figures of a claim its source does not give, in no spelling and by no computation."""

import random

import pytest
from tests.tables import tabled

from groundrail.facts.invented import Stated, invented

LEASE = "The rent is 1,450 euros a month. The notice period is 3 months. The flat has 2 rooms."


def unfounded(claim: str, read: str = LEASE, source: str | None = None) -> list[str]:
    found = invented(claim, [read], lambda: Stated.by([source or read]))
    return [claim[each.start : each.end] for each in found]


@tabled("claim, found")
def test_a_figure_is_invented_where_it_is_neither_stated_nor_reckoned(claim: str, found: list[str]) -> None:
    assert unfounded(claim) == found


def test_a_figure_that_any_sentence_of_the_source_states_is_not_invented() -> None:
    assert unfounded("Parking costs 77 euros.") == ["77 euros"]
    assert unfounded("Parking costs 77 euros.", source=f"{LEASE} Parking is 77 euros.") == []


def test_a_figure_that_follows_from_a_few_figures_of_the_source_is_not_invented() -> None:
    few = f"{LEASE} The old rent was 1,200 euros."
    assert unfounded("It rose by 250 euros.", source=few) == []
    many = f"{few} {' '.join(f'Item {n} weighs {n} kg.' for n in range(100, 140))}"
    assert unfounded("It rose by 250 euros.", source=many) == ["250 euros"]


def test_the_whole_source_is_only_read_for_a_figure_that_was_not_read() -> None:
    def refuse() -> Stated:
        raise AssertionError("the whole source was read")

    assert invented("The rent is 1,450 euros, and notice is 3 months.", [LEASE], refuse) == []
    with pytest.raises(AssertionError):
        invented("The rent is 1,650 euros.", [LEASE], refuse)


@pytest.mark.parametrize("seed", range(20))
def test_a_random_number_of_five_digits_is_invented(seed: int) -> None:
    number = random.Random(seed).randrange(10007, 99999, 2)
    assert unfounded(f"The rent is {number} euros a month.") == [f"{number} euros"]


def test_a_claim_of_many_figures_is_not_reckoned() -> None:
    many = " and ".join(f"{n} kg" for n in range(100, 120))
    assert unfounded("Three months cost 4,350 euros.") == []
    assert "4,350 euros" in unfounded(f"Three months cost 4,350 euros, and they weigh {many}.")
