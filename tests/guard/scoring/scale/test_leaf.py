"""The best chunk and the sentence that the tree ends in, averaged in log-odds."""

import math
import random

import pytest

from groundrail import InputError
from groundrail.scoring.scale import ScaleScorer
from groundrail.scoring.word_index import WordIndex
from groundrail.testing import FakeEntailment

CLAIM = "The keys were lost in the garden."
WORDS = "keys lost garden rent house dog lease tenant winter window".split()


def mean(first: float, second: float) -> float:
    """The mean of two probabilities in log-odds, by its definition."""
    halved = (math.log(first / (1 - first)) + math.log(second / (1 - second))) / 2
    return 1 / (1 + math.exp(-halved))


@pytest.mark.parametrize("seed", range(20))
def test_the_score_is_the_mean_of_the_chunk_and_the_likest_sentence_that_says_it(
    seed: int, hashed_yes_no: type
) -> None:
    draw = random.Random(seed)
    sentences = [" ".join(draw.choices(WORDS, k=6)).capitalize() + "." for _ in range(6)]
    model = hashed_yes_no(seed)
    (found,) = ScaleScorer(model, leaf=True, branches=100).score(
        [CLAIM], " ".join(sentences)
    )  # all sentences are leaves
    alone = [float(value) for value in model.entailment([(sentence, CLAIM) for sentence in sentences])]
    whole = float(model.entailment([(" ".join(sentences), CLAIM)])[0])
    likeness = WordIndex(sentences).likeness(CLAIM)
    ranks = [
        math.log(p / (1 - p)) + 6 * share for p, share in zip(alone, likeness / (likeness.max() or 1), strict=True)
    ]
    leaf = max(range(6), key=ranks.__getitem__)
    assert found.value == pytest.approx(mean(whole, alone[leaf]))
    assert [citation.text for citation in found.citations] == [sentences[leaf]]
    assert found.citations[0].score == pytest.approx(alone[leaf])


@pytest.mark.parametrize("seed", range(10))
def test_the_tree_goes_down_by_probability_and_words(seed: int, hashed_yes_no: type) -> None:
    draw = random.Random(seed)
    sentences = [" ".join(draw.choices(WORDS, k=5)).capitalize() + "." for _ in range(8)]
    model = hashed_yes_no(seed)
    (found,) = ScaleScorer(model, leaf=True).score([CLAIM], " ".join(sentences))
    likeness = WordIndex(sentences).likeness(CLAIM)
    start, end = 0, 8
    while end - start > 1:
        halves = [(start, (start + end) // 2), ((start + end) // 2, end)]
        probabilities = model.entailment([(" ".join(sentences[a:b]), CLAIM) for a, b in halves])
        ranks = [
            math.log(p / (1 - p)) + 6 * max(likeness[a:b]) / (max(likeness) or 1)
            for p, (a, b) in zip(probabilities, halves, strict=True)
        ]
        start, end = halves[ranks.index(max(ranks))]
    assert [citation.text for citation in found.citations] == [sentences[start]]


def test_a_leaf_loses_to_a_likelier_rival_of_the_claim() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.9 if "1,450" in claim else 0.6)
    source = "The rent is 1,450 euros. The lease ends in May."
    wrong, right = ScaleScorer(judge, leaf=True).score(["The rent is 1,650 euros.", "The rent is 1,450 euros."], source)
    assert wrong.value < 0.6
    assert wrong.conflict is not None
    assert wrong.conflict.text == "The rent is 1,450 euros."
    assert right.citations[0].score == 0.9


def test_no_more_chunks_are_read_than_allowed(hashed_yes_no: type) -> None:
    model = hashed_yes_no(1)
    source = " ".join(f"Number {n} is a house with a garden." for n in range(60))
    (found,) = ScaleScorer(model, chunk_tokens=16, leaf=True, max_chunks=2).score([CLAIM], source)
    assert sum(map(len, model.asked)) <= 2 + 4  # two chunks, and a tree over two or three sentences
    assert not found.exact
    assert found.note is not None


def test_a_leaf_needs_a_search() -> None:
    with pytest.raises(InputError, match="leave out search=None"):
        ScaleScorer(FakeEntailment(), leaf=True, search=None)
