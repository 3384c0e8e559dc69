"""A citation counts with the sentences around it: the heading above, and those that may take it back."""

import math

import pytest

from groundrail.scoring.index import SentenceIndex
from groundrail.scoring.nearest import NearestScorer
from groundrail.testing import FakeEntailment
from groundrail.types import Document

CLAIM = "The bridge collapsed in 1998."
TOLD = "Some people say that the bridge collapsed in 1998."


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def indexed(text: str) -> SentenceIndex:
    return SentenceIndex([Document(text=text)], FakeEntailment(), 1000)


def framed(text: str, sentence: str, size: int = 1000) -> list[str]:
    """The words of a sentence's frame."""
    index = indexed(text)
    (place,) = (n for n, passage in enumerate(index.passages) if passage.text == sentence)
    return [index.passages[each].text for each in index.frame(place, size)]


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("beside", [0.05, 0.5, 0.95])
def test_a_claim_loses_what_its_score_has_more_than_the_frame(weight: float, beside: float) -> None:
    judge = FakeEntailment(lambda premise, claim: beside if premise.endswith(" This is wrong.") else 0.9)
    (score,) = NearestScorer(judge, window=0, frames=weight).score([CLAIM], f"{TOLD} This is wrong.")
    assert logit(score.value) == pytest.approx(logit(0.9) - weight * max(0.0, logit(0.9) - logit(beside)))
    assert score.citations[0].text == TOLD


def test_one_more_pair_is_asked_of_each_claim_and_none_of_a_sentence_alone() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.5)
    NearestScorer(judge).score([CLAIM, "It is long."], f"{TOLD} This is wrong. It is long.")
    assert [len(call) for call in judge.calls][1:] == [2]
    alone = FakeEntailment(lambda premise, claim: 0.5)
    NearestScorer(alone).score([CLAIM], ["The bridge is long.", TOLD])
    assert len(alone.calls) == 1


def test_a_frame_is_what_stands_around_a_sentence_in_its_own_document() -> None:
    text = "One is old. Two is old. Three is old. Four is old. Five is old. Six is old. Seven is old. Eight is old."
    assert framed(text, "Four is old.") == [f"{n} is old." for n in ("Two", "Three", "Four", "Five", "Six", "Seven")]
    assert framed(text, "One is old.") == [f"{n} is old." for n in ("One", "Two", "Three", "Four")]
    index = SentenceIndex([Document(text="One is old."), Document(text="Two is old.")], FakeEntailment(), 1000)
    assert index.frame(0, 1000) == (0,)


@pytest.mark.parametrize("heading", ["# Myths", "## Withdrawn claims", "Common misconceptions"])
def test_the_heading_above_belongs_to_the_frame(heading: str) -> None:
    text = f"# Water\n\nIt is wet.\n\n{heading}\n\nA is so. B is so. C is so. D is so. E is so. F is so."
    assert framed(text, "E is so.") == [heading, "C is so.", "D is so.", "E is so.", "F is so."]


@pytest.mark.parametrize("size", [0, 60, 90, 1000])
def test_a_frame_fits_and_holds_its_sentence(size: int) -> None:
    text = " ".join(f"Sentence {n} is here." for n in range(9))
    index = indexed(text)
    places = index.frame(4, size)
    assert 4 in places
    assert sum(index.passages[n].tokens for n in places) <= max(size, index.passages[4].tokens)
