"""The index ranks as the formula says, and a window is whole sentences of one document in its own order."""

import math
import random
from collections import Counter

import pytest

from groundrail import Document
from groundrail.english.stems import stems
from groundrail.scoring.index import GAP, SentenceIndex
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
def test_sentences_are_ranked_by_the_formula(seed: int) -> None:
    index = indexed(written(seed, 12))
    claim = " ".join(random.Random(-seed).choices(WORDS, k=4))
    wanted = likeness(claim, [passage.text for passage in index.passages])
    order = index.ranked(claim)
    assert {place for place, value in enumerate(wanted) if value > 0} == set(order)
    assert [wanted[place] for place in order] == pytest.approx(sorted((w for w in wanted if w > 0), reverse=True))


def test_words_match_by_their_stem_and_numbers_by_their_digits() -> None:
    index = indexed("The lease ends in May. The rent is 1,450 euros.")
    assert index.ranked("Leases?") == [0]
    assert index.ranked("1450") == [1]
    assert index.ranked("xyzzy") == []
    assert stems("Descaling descaled 1,450.50") == ["descal", "descal", "1450.50"]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("tokens", [12, 30, 60, 1000])
def test_a_window_holds_the_nearest_sentences_in_order_and_no_more_than_it_may(seed: int, tokens: int) -> None:
    index = indexed(written(seed, 12))
    ranked = index.ranked(" ".join(random.Random(-seed).choices(WORDS, k=4)))
    window = index.window(ranked, tokens)
    starts = [passage.start for passage in window.passages]
    assert starts == sorted(set(starts))
    assert sum(passage.tokens for passage in window.passages) <= tokens
    assert index.passages[ranked[0]] in window.passages
    assert window.text.replace(GAP, " ").split() == " ".join(passage.text for passage in window.passages).split()
    if tokens == 1000:
        assert len(window.passages) == 12
        assert GAP not in window.text


def test_neighbours_come_with_the_nearest_and_gaps_are_marked() -> None:
    text = "Rule one. The office opens late. It closes at nine. Rule four. Rule five. The pool is heated."
    index = indexed(text)
    window = index.window(index.ranked("The office opens late and the pool is heated"), 22)
    assert "The office opens late. It closes at nine." in window.text
    assert window.text.endswith(GAP + "The pool is heated.")


def test_a_window_never_crosses_documents() -> None:
    index = indexed("Cats sleep. Dogs run.", "The rent is 5 euros. Dogs bark.")
    window = index.window(index.ranked("The rent is 5 euros, dogs run"), 100)
    assert {passage.document.id for passage in window.passages} == {"d1"}


def test_a_sentence_longer_than_a_window_is_cut_and_none_of_it_left_out() -> None:
    long = "rent " * 60 + "is due."
    index = indexed(long, longest=20)
    assert " ".join(passage.text for passage in index.passages).split() == long.split()
    assert all(passage.tokens <= 20 for passage in index.passages)
