import itertools
import math
import random
import re
from collections import Counter

import pytest

from groundrail import sentences
from groundrail.errors import InputError
from groundrail.scoring.nearest import NearestScorer, _Index
from groundrail.testing import FakeEntailment
from groundrail.types import Document

WORDS = ("rent", "deposit", "tenant", "landlord", "keys", "heating", "garden", "pays", "kept", "soon")
SOURCE = "The lease ends in May 2026. The rent is 1,450 euros. Pets are not allowed. It is paid on the first."


def written(seed: int, count: int) -> str:
    draw = random.Random(seed)
    return " ".join(f"Clause {n} {' '.join(draw.choices(WORDS, k=draw.randint(2, 9)))}." for n in range(count))


def cut(text: str) -> list[str]:
    return [part.text.strip() for part in sentences.split(text)]


def likeness(claim: str, texts: list[str]) -> list[float]:
    """BM25 as Lucene computes it, by the formula: k1 1.5, b 0.75, no constant factor."""

    def words(text: str) -> list[str]:
        return [word.lower()[:5] for word in re.findall(r"\w+", text)]

    counts = [Counter(words(text)) for text in texts]
    mean = sum(count.total() for count in counts) / len(counts)
    found = {word: sum(word in count for count in counts) for word in set(words(claim))}
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
@pytest.mark.parametrize("k", [1, 3])
def test_the_nearest_are_those_of_the_formula(seed: int, k: int) -> None:
    text = written(seed, 12)
    claim = " ".join(random.Random(-seed).choices(WORDS, k=4))
    wanted = likeness(claim, cut(text))
    chosen = _Index((text,)).nearest(claim, k)
    assert len(set(chosen)) == k
    assert sorted((wanted[place] for place in chosen), reverse=True) == pytest.approx(
        sorted(wanted, reverse=True)[:k], abs=1e-5
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_score_is_the_maximum_over_sentences_alone_and_after_the_one_before(seed: int) -> None:
    text = written(seed, 6)
    parts = cut(text)
    judge = FakeEntailment(lambda premise, claim: (hash((premise, claim, seed)) % 9973) / 9973)
    alone = {part: judge.judge(part, "The rent is due.") for part in parts}
    both = {b: judge.judge(f"{a} {b}", "The rent is due.") for a, b in itertools.pairwise(parts)}
    (score,) = NearestScorer(judge, k=len(parts)).score(["The rent is due."], text)
    assert score.value == max([*alone.values(), *both.values()])
    (citation,) = score.citations
    reached = [[part] for part, value in alone.items() if value == score.value]
    reached += [[a, b] for a, b in itertools.pairwise(parts) if both[b] == score.value]
    assert citation.text in [max(of, key=alone.__getitem__) for of in reached]
    assert text[citation.start : citation.end] == citation.text


def test_model_calls_do_not_grow_with_the_source() -> None:
    for size in (50, 2000):
        judge = FakeEntailment()
        NearestScorer(judge, k=4).score(["The rent is due.", "Keys are kept."], written(1, size))
        assert len(judge.calls) == 1
        assert len(judge.calls[0]) <= 2 * 3 * 4


def test_sentences_of_all_documents_compete_and_no_premise_crosses_them() -> None:
    documents = [Document(text="Cats sleep.", id="a"), Document(text="The rent is 5 euros. Dogs run.", id="b")]
    judge = FakeEntailment()
    (score,) = NearestScorer(judge, k=2).score(["The rent is 5 euros."], documents)
    assert [citation.document_id for citation in score.citations] == ["b"]
    assert all("Cats" not in premise or premise == "Cats sleep." for premise, _ in judge.calls[0])


def test_of_two_sentences_the_one_that_says_it_is_cited() -> None:
    text = "The rent is 5 euros. The rent of the lease ends in May."
    judge = FakeEntailment(
        lambda premise, claim: 0.9 if "lease" in premise and "5" in premise else 0.5 * ("5" in premise)
    )
    (score,) = NearestScorer(judge, k=1).score(["The lease rent ends in May, at 5 euros."], text)
    assert (score.value, score.citations[0].text) == (0.9, "The rent is 5 euros.")


def test_words_match_by_their_stem_and_numbers_by_their_digits() -> None:
    index = _Index((SOURCE,))
    assert index.nearest("Leases?", 1) == [0]
    assert index.nearest("1450", 1) == [1]
    assert index.nearest("xyzzy", 2) == [0, 1]


def test_a_sentence_longer_than_the_model_is_cut_and_none_of_it_left_out() -> None:
    long = "rent " * 60 + "is due."
    judge = FakeEntailment(max_tokens=20)
    NearestScorer(judge).score(["The rent is due."], long)
    read = [premise for premise, _ in judge.calls[0]]
    assert " ".join(read).split() == long.split()
    assert all(len(judge.offsets(premise)) + 4 <= 20 for premise in read)


def test_a_blank_source_has_no_score_and_k_must_be_positive() -> None:
    (score,) = NearestScorer(FakeEntailment()).score(["The rent is due."], [" ", "\n"])
    assert math.isnan(score.value)
    assert score.citations == ()
    with pytest.raises(InputError, match="k is 0"):
        NearestScorer(FakeEntailment(), k=0)
