"""PaperScaleScorer against the authors' own package on the same weights, where the two mean the same, and where not.

The package counts the prompt as part of a chunk, cuts windows after the end of the text, and cuts token ids
where groundrail cuts text; the sources here have one token a word, and lengths that give both the same windows.
"""

import random

import numpy as np
import pytest
from scale_score.score import retrieve, score

from groundrail.entailment import Seq2SeqEntailment
from groundrail.errors import ClaimTooLongError
from groundrail.papers.scale.scorer import PaperScaleScorer

WORDS = "the rent is due tenant pays landlord keys were lost in march and april cats are not allowed 45 euros"
CLAIMS = ["Cats are not allowed.", "The tenant pays 45 euros", "Keys were lost", "It is due in april or in march"]


def some_words(count: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS.split(), k=count))


def sentences(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [f"The {some_words(draw.randrange(2, 9), seed * 1000 + index)} ." for index in range(count)]


@pytest.fixture(scope="module")
def judge(tiny_t5, tiny_tokenizer) -> Seq2SeqEntailment:
    return Seq2SeqEntailment(tiny_t5, tiny_tokenizer, max_length=2000)


def authors_score(model, tokenizer, source: str, claim: str, size: int, overlap: float) -> float:
    """The package's score for windows of `size` tokens of source: its chunk size holds the prompt too."""
    prompt = len(tokenizer(f' Question: Does this imply that "{claim}"? Yes or No?').input_ids)
    return score(
        [source], [[claim]], chunk_size=size + prompt, window_size=overlap, device="cpu", model=model, tokenizer=tokenizer
    )[0]


@pytest.mark.parametrize(
    ("words", "size", "overlap"),
    [(1, 40, 0.25), (39, 40, 0.25), (54, 40, 0.25), (60, 40, 0.25), (233, 40, 0.25), (101, 40, 0.0), (240, 40, 0.0)],
)
def test_scores_are_those_of_the_authors(words, size, overlap, judge, tiny_t5, tiny_tokenizer) -> None:
    source = some_words(words, seed=words)
    found = PaperScaleScorer(judge, chunk_tokens=size, overlap=overlap).score(CLAIMS, source)
    expected = [authors_score(tiny_t5, tiny_tokenizer, source, claim, size, overlap) for claim in CLAIMS]
    np.testing.assert_allclose([score.value for score in found], expected, atol=1e-5)
    assert np.std(expected) > 0.01


@pytest.mark.parametrize("branches", [2, 3, 5])
@pytest.mark.parametrize("count", [1, 2, 5, 13])
def test_the_sentence_found_is_that_of_the_authors(count, branches, judge, tiny_t5, tiny_tokenizer) -> None:
    units = sentences(count, seed=count)
    found = PaperScaleScorer(judge, chunk_tokens=1000, branches=branches).score(CLAIMS, " ".join(units))
    expected = retrieve([units], [CLAIMS], branches=branches, device="cpu", model=tiny_t5, tokenizer=tiny_tokenizer)
    assert [score.citations[0].text for score in found] == [text for text, _ in expected]
    np.testing.assert_allclose([score.citations[0].score for score in found], [value for _, value in expected], atol=1e-5)


def test_the_end_of_a_source_counts_where_the_package_leaves_it_out(judge, tiny_t5, tiny_tokenizer) -> None:
    """75 words in windows of 10, 7 apart: the package's ten windows end at word 73."""
    size, differing = 10, 0
    for seed in range(6):
        words = some_words(75, seed).split()
        windows = [" ".join(words[begin : begin + size]) for begin in range(0, 75, 7)]
        assert windows[-1].split() == words[70:]
        for claim in CLAIMS[:2]:
            expected = max(judge.entailment([(window, claim) for window in windows]))
            found = PaperScaleScorer(judge, chunk_tokens=size).score([claim], " ".join(words))[0].value
            assert found == pytest.approx(expected, abs=1e-6)
            theirs = authors_score(tiny_t5, tiny_tokenizer, " ".join(words), claim, size, 0.25)
            without_end = max(judge.entailment([(window, claim) for window in windows[:-1]]))
            assert theirs == pytest.approx(without_end, abs=1e-5)
            differing += abs(found - theirs) > 1e-3
    assert differing > 0


def test_a_claim_without_room_is_an_error_where_the_package_cuts_nothing_sensible(tiny_t5, tiny_tokenizer) -> None:
    judge = Seq2SeqEntailment(tiny_t5, tiny_tokenizer, max_length=60)
    claim = some_words(50, seed=1)
    with pytest.raises(ClaimTooLongError, match="no room"):
        PaperScaleScorer(judge).score([claim], some_words(200, seed=2))
