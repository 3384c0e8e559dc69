"""The index ranks as the formula says, and holds every sentence."""

import logging
import math
import random
from collections import Counter

import pytest
from tests.tiny import written

from groundrail import Document
from groundrail.scoring.index import BESIDE, SentenceIndex
from groundrail.testing import FakeEntailment
from groundrail.text.english.words import stems

WORDS = "rent lease keys pets deposit flat month euros landlord tenant pays signs May heating water bank".split()


def indexed(*texts: str) -> SentenceIndex:
    documents = [Document(text=text, id=f"d{number}") for number, text in enumerate(texts)]
    return SentenceIndex(documents, FakeEntailment(), 100)


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


def test_a_sentence_knows_its_document() -> None:
    index = indexed("Cats sleep. Dogs run.", "The pool is heated. Dogs bark. Birds sing.", "Fish swim.")
    assert [index.document(place) for place in range(6)] == [0, 0, 1, 1, 1, 2]


@pytest.mark.parametrize("seed", range(10))
def test_in_context_a_sentence_has_a_share_of_its_neighbours_in_its_own_document(seed: int) -> None:
    draw = random.Random(seed)
    index = indexed(*(written(seed + n, draw.randint(1, 6)) for n in range(4)))
    alone = index.likeness(" ".join(draw.choices(WORDS, k=4)))
    found = index.in_context(alone)
    for document in range(4):
        places = index.places(document)
        assert [index.document(place) for place in places] == [document] * len(places)
        for place in places:
            beside = sum(alone[other] for other in (place - 1, place + 1) if other in places) / 2
            assert found[place] == pytest.approx(alone[place] + BESIDE * beside)
    assert sum(len(index.places(document)) for document in range(4)) == len(index.passages)


def test_the_index_of_words_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    index = SentenceIndex("The rent is due. Pets are allowed.", FakeEntailment(), 100)
    assert index.likeness("the rent").argmax() == 0
    assert not [record for record in caplog.records if record.name.startswith("bm25s")]
