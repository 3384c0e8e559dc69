"""A long source takes memory by its length, not by what was asked of it, and goes through the tokenizer once.

Words are tokens to these models, so that what is counted is the scorers' own.
"""

import random
import re
import tracemalloc
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from groundrail.entailment.base import BinaryEntailment, FloatArray, Pair
from groundrail.entailment.remembered import Remembered
from groundrail.papers.scale.scorer import PaperScaleScorer
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.scale import ScaleScorer
from groundrail.text.sentences import Stream, splits

CLAIMS = [f"Nobody paid word{number} to the gardener." for number in range(6)]


def written(characters: int) -> str:
    draw = random.Random(3)
    words = [f"word{number}" for number in range(4000)]
    sentences: list[str] = []
    while sum(map(len, sentences)) < characters:
        sentences += ["The " + " ".join(draw.choices(words, k=12)) + "." for _ in range(200)]
    return " ".join(sentences)


class Unconvinced(BinaryEntailment):
    """Supports nothing, so that all of the source is read, and keeps nothing of it."""

    max_tokens = 512

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        return np.full(len(pairs), 0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scorer", "most"),
    [
        (ScaleScorer(Unconvinced()), 10.5),
        (NearestScorer(Unconvinced()), 9.5),
        (PaperScaleScorer(Unconvinced(), search=None), 11.5),
    ],
    ids=["scale", "nearest", "the paper's scale"],
)
def test_memory_beside_the_source_is_a_few_bytes_a_character(scorer, most) -> None:
    source = written(600_000)
    scorer.read(source[:20_000]).score(CLAIMS, 0.5)  # what is loaded once
    tracemalloc.start()
    try:
        reader = scorer.read(source)
        reader.score(CLAIMS, 0.5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * len(source)


def test_answers_are_remembered_whatever_the_length_of_what_was_asked() -> None:
    model = Remembered(Unconvinced())
    tracemalloc.start()
    try:
        for number in range(200):
            model.entailment([(f"{number} " + "x" * 20_000, "a claim")])
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 200_000


def test_pairs_that_run_together_alike_are_told_apart() -> None:
    class Lengths(Unconvinced):
        def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
            return np.array([float(len(premise)) for premise, _ in pairs])

    model = Remembered(Lengths())
    pairs = [("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", ""), ("ab", "c")]
    for _ in range(2):
        assert list(model.entailment(pairs)) == [2, 1, 0, 3, 2]


def test_a_long_text_is_split_as_a_short_one_one_sentence_after_the_other() -> None:
    source = written(200_000)
    found = splits(source)
    assert isinstance(found, Iterator)
    assert next(found).end < 200
    stream = Stream()
    assert list(splits(source)) == stream.feed(source) + stream.flush()


class Counting(Unconvinced):
    """Around a tokenizer, as models have it: counts the characters it is given, for places and for pairs."""

    def __init__(self) -> None:
        self.tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
        self.tokenizer.pre_tokenizer = WhitespaceSplit()
        self.placed = self.paired = 0

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        self.placed += len(text)
        found: Sequence[tuple[int, int]] = self.tokenizer.encode(text).offsets
        return found

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        self.paired += sum(len(self.tokenizer.encode(*pair).ids) and len(pair[0]) for pair in pairs)
        return super().entailment(pairs)


@pytest.mark.parametrize(("kind", "most"), [(ScaleScorer, 0.7), (NearestScorer, 0.3)])
def test_the_source_goes_through_the_tokenizer_once(kind: type, most: float) -> None:
    source, model = written(60_000), Counting()
    kind(model).read(source).score(CLAIMS, 0.5)
    assert model.placed <= 1.01 * len(source)
    assert 0 < model.paired < most * len(source)


@pytest.mark.parametrize("search", [None, "chunk"])
def test_the_papers_scale_takes_one_pass_one_over_its_chunks_and_one_a_claim_to_read_them(search) -> None:
    """Chunks that overlap by a quarter are 1.33 of the source: places 1 + 1.33, pairs 1.33 a claim."""
    source, model = written(60_000), Counting()
    PaperScaleScorer(model, chunk_tokens=100, search=search).read(source).score(CLAIMS, 0.5)
    assert model.placed <= (2.5 if search is None else 3.9) * len(source)
    assert model.paired <= (1.4 if search is None else 1.6) * len(CLAIMS) * len(source)
