"""A claim that the source is silent is as true as the piece of the source that speaks most against it."""

import math

import pytest

from groundrail.scoring.base import Reader
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.scale import ScaleScorer
from groundrail.testing import FakeEntailment

CLAIM = "The lease does not mention dogs."
SILENT = "The rent is 900 euros. The lease ends in May. Heating is included. The flat has two rooms."


def reader(scorer: type[NearestScorer] | type[ScaleScorer], source: str) -> Reader:
    return scorer(FakeEntailment(lambda premise, claim: 0.1 if "Dogs" in premise else 0.9)).read(source)


@pytest.mark.parametrize("scorer", [NearestScorer, ScaleScorer])
def test_one_sentence_that_says_it_is_enough(scorer: type[NearestScorer] | type[ScaleScorer]) -> None:
    (silent,) = reader(scorer, SILENT).score_silence([CLAIM])
    assert (silent.value, silent.citations, silent.conflict) == (0.9, (), None)
    assert silent.note is not None
    for place in range(3):
        sentences = SILENT.split(". ")
        told = ". ".join([*sentences[:place], "Dogs are allowed", *sentences[place:]])
        (score,) = reader(scorer, told).score_silence([CLAIM])
        assert score.value == 0.1
        assert score.conflict is not None
        assert score.conflict.text == "Dogs are allowed."


def test_a_model_without_a_number_gives_none() -> None:
    (score,) = NearestScorer(FakeEntailment(lambda premise, claim: math.nan)).read(SILENT).score_silence([CLAIM])
    assert math.isnan(score.value)
