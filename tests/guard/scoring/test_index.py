"""The index ranks as the formula says, and its chunks hold every sentence."""

import itertools
import math
import random
from collections import Counter

import pytest

from groundrail import Document
from groundrail.english.stems import stems
from groundrail.scoring.index import SentenceIndex
from groundrail.testing import FakeEntailment

WORDS = "rent lease keys pets deposit flat month euros landlord tenant pays signs May heating water bank".split()


def written(seed: int, count: int) -> str:
    draw = random.Random(seed)
    return " ".join(f"Clause {n} {' '.join(draw.choices(WORDS, k=draw.randint(2, 9)))}." for n in range(count))


def indexed(*texts: str, longest: int = 100) -> SentenceIndex:
    documents = [Document(text=text, id=f"d{number}") for number, text in enumerate(texts)]
    return SentenceIndex(documents, FakeEntailment(), longest)


def likeness(claim: str, texts: list[str]) -> list[float]:
    """BM25 as Lucene computes it, by the formula: k1 1.5, b 0.75, no constant factor."""
    counts = [Counter(stems(text)) for text in texts]
    mean = sum(count.total() for count in counts) / len(counts)
    found = {word: sum(word in count for count in counts) for word in set(stems(claim))}
    return [
        sum(
            math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            * count[word]
            / (count[word] + 1.5 * (0.25 + 0.75 * count.total() / mean))
            for word, n in found.items()
        )
        for count in counts
    ]


@pytest.mark.parametrize("seed", range(25))
def test_likeness_is_that_of_the_formula(seed: int) -> None:
    index = indexed(written(seed, 12))
    claim = " ".join(random.Random(-seed).choices(WORDS, k=4))
    texts = [passage.text for passage in index.passages]
    found = index.likeness(claim)
    assert len(found) == 12
    order = sorted(range(12), key=lambda place: -found[place])
    wanted = likeness(claim, texts)
    assert [wanted[place] for place in order] == pytest.approx(sorted(wanted, reverse=True), abs=1e-6)


def test_words_match_by_their_stem_and_numbers_by_their_digits() -> None:
    index = indexed("The lease ends in May. The rent is 1,450 euros.")
    assert list(index.likeness("Leases?") > 0) == [True, False]
    assert list(index.likeness("1450") > 0) == [False, True]
    assert not index.likeness("xyzzy").any()
    assert stems("Descaling descaled 1,450.50") == ["descal", "descal", "1450.50"]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("tokens", [1, 12, 30, 60, 1000])
def test_chunks_hold_every_sentence_within_their_size_and_never_cross_documents(seed: int, tokens: int) -> None:
    index = indexed(written(seed, 12), written(seed + 100, 7))
    chunks = index.chunks(tokens)
    assert {place for chunk in chunks for place in range(chunk.first, chunk.last)} == set(range(19))
    for chunk in chunks:
        inside = index.passages[chunk.first : chunk.last]
        assert len({passage.document.id for passage in inside}) == 1
        assert chunk.text == inside[0].document.text[inside[0].start : inside[-1].end]
        assert sum(passage.tokens for passage in inside) <= tokens or len(inside) == 1
    assert all(one.first < two.first and one.last < two.last for one, two in itertools.pairwise(chunks))
    assert tokens < 1000 or len(chunks) == 2


def test_the_chunk_that_shares_most_with_the_claim_is_nearest() -> None:
    index = indexed("Cats sleep. Dogs run. " * 5, "The pool is heated. The rent is 5 euros. Dogs bark.")
    (chunk,) = index.nearest("The rent is 5 euros.", 20, 1)
    assert "5 euros" in chunk.text
    assert len(index.nearest("xyzzy", 8, 3)) == 3


def test_a_sentence_longer_than_a_chunk_is_cut_and_none_of_it_left_out() -> None:
    long = "rent " * 60 + "is due."
    index = indexed(long, longest=20)
    assert " ".join(passage.text for passage in index.passages).split() == long.split()
    assert all(passage.tokens <= 20 for passage in index.passages)
