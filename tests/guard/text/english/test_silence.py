"""The opposite of a sentence that says that the source is silent."""

import math

import pytest

from groundrail.scoring.base import Score
from groundrail.text.english.silence import affirmed
from groundrail.types import Document


@pytest.mark.parametrize(
    ("silent", "opposite"),
    [
        ("The lease does not say who pays.", "The lease does say who pays."),
        ("The lease doesn’t say who pays.", "The lease does say who pays."),
        ("I can't find a price in it.", "I can find a price in it."),
        ("I could not find a price.", "I could find a price."),
        ("Whether dogs may stay isn't mentioned.", "Whether dogs may stay is mentioned."),
        ("Nothing in it says that you can't pay by card.", "something in it says that you can't pay by card."),
        ("No, the leaflet doesn't mention it.", "No, the leaflet does mention it."),
        ("There is no word about dogs.", "There is some word about dogs."),
        ("The text is silent on dogs.", "The text is clear on dogs."),
        ("Neither card mentions chickenpox.", "each card mentions chickenpox."),
        ("Dogs are mentioned.", None),
        ("He noted it.", None),
    ],
)
def test_only_the_first_denial_is_taken_away(silent: str, opposite: str | None) -> None:
    assert affirmed(silent) == opposite


def test_a_place_that_says_it_speaks_against_silence() -> None:
    place = Document(text="Dogs are allowed.").cite(0, 17, 0.9)
    said, unsaid = Score(0.9, (place,)).of_silence(), Score(0.2, (place,)).of_silence()
    assert (round(said.value, 6), said.citations, said.conflict) == (0.1, (), place)
    assert (round(unsaid.value, 6), unsaid.citations, unsaid.conflict) == (0.8, (), None)
    assert math.isnan(Score(math.nan).of_silence().value)
