"""Computations that are plausible enough to be shown."""

import pytest
from tests.tables import tabled

from groundrail.facts.computed import computation
from groundrail.facts.mentions import mentions


def words(claim: str, *premises: str) -> str | None:
    found = computation(mentions(claim)[-1], claim, premises)
    return None if found is None else found.words


@tabled("claim, premises, told")
def test_a_plausible_reckoning_is_told(claim: str, premises: list[str], told: str) -> None:
    expected = told.replace(" cats", "")
    assert words(claim, *premises) == expected


@pytest.mark.parametrize(
    ("claim", "premises"),
    [
        ("It lasts eight years.", ["It is guaranteed for 5 years.", "You pay 60 percent when it arrives."]),
        ("There are 7 cats.", ["Ann has 3 cats.", "Bob has 4 dogs."]),
        ("It is 4,350 euros.", ["The rent is 1,450 euros a month.", "There are 3 rooms."]),
        ("It is 7 euros.", [" ".join(f"{number} euros," for number in range(100, 139)), "3 euros and 4 euros."]),
    ],
)
def test_an_implausible_reckoning_is_not_told(claim: str, premises: list[str]) -> None:
    assert words(claim, *premises) is None
