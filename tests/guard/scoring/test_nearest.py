"""One window decides, the sentence that says it best alone is cited."""

import math
import random

import numpy as np
import pytest

from groundrail import Document, InputError
from groundrail.scoring.nearest import NearestScorer
from groundrail.testing import FakeEntailment

CLAIM = "The rent is due."


def written(seed: int, count: int) -> str:
    words = "rent lease keys pets deposit flat month euros due landlord tenant pays signs May is the".split()
    draw = random.Random(seed)
    return " ".join(f"Clause {n} {' '.join(draw.choices(words, k=draw.randint(2, 9)))}." for n in range(count))


@pytest.mark.parametrize("seed", range(10))
def test_a_short_source_is_read_whole_and_the_best_sentence_cited(seed: int) -> None:
    text = written(seed, 6)
    judge = FakeEntailment(lambda premise, claim: (hash((premise, claim, seed)) % 9973) / 9973)
    (score,) = NearestScorer(judge, k=6).score([CLAIM], text)
    assert score.value == judge.judge(text, CLAIM)
    (citation,) = score.citations
    assert text[citation.start : citation.end] == citation.text
    asked = {premise: judge.judge(premise, CLAIM) for premise, _ in judge.calls[0][1:]}
    assert citation.score == asked[citation.text] == max(asked.values())


def test_model_calls_and_tokens_do_not_grow_with_the_source() -> None:
    for size in (50, 2000):
        judge = FakeEntailment()
        NearestScorer(judge, tokens=100, k=4).score([CLAIM, "Keys are kept."], written(1, size))
        (call,) = judge.calls
        assert len(call) <= 2 * (1 + 4)
        assert sum(len(judge.offsets(premise)) for premise, _ in call) <= 2 * (100 + 4 * 11)


def test_the_nearest_documents_are_read_apart_and_the_best_counts() -> None:
    documents = [
        Document(text="Cats sleep.", id="a"),
        Document(text="The rent is 5 euros. Dogs run.", id="b"),
        Document(text="The rent of cats is unknown.", id="c"),
    ]
    judge = FakeEntailment()
    (score,) = NearestScorer(judge).score(["The rent is 5 euros."], documents)
    assert score.value == 1.0
    assert [citation.document_id for citation in score.citations] == ["b"]
    assert not any("Cats sleep" in premise and "rent" in premise for premise, _ in judge.calls[0])


def test_a_source_is_tokenized_once_however_many_claims_are_asked() -> None:
    class Counting(FakeEntailment):
        characters = 0

        def offsets(self, text: str) -> list[tuple[int, int]]:
            self.characters += len(text)
            return super().offsets(text)

    judge, text = Counting(), written(3, 400)
    reader = NearestScorer(judge).read(text)
    for number in range(10):
        reader.score([f"Clause {number} is due."])
    assert judge.characters < 1.1 * len(text)


def test_a_blank_source_has_no_score_and_settings_must_be_positive() -> None:
    (score,) = NearestScorer(FakeEntailment()).score([CLAIM], [" ", "\n"])
    assert math.isnan(score.value)
    assert score.citations == ()
    for setting in ({"k": 0}, {"tokens": 0}, {"documents": 0}):
        with pytest.raises(InputError, match="at least one"):
            NearestScorer(FakeEntailment(), **setting)


class ThreeWay(FakeEntailment):
    """Euros that differ contradict, words that are missing are not stated."""

    def classify(self, pairs):
        self.calls.append(list(pairs))
        rows = [
            (float(f"{claim[12]} euros" in p), 0.2, 0.7 * ("euros" in p and claim[12] not in p)) for p, claim in pairs
        ]
        return np.array([np.array(row) / sum(row) for row in rows])


def test_what_says_otherwise_is_told_from_what_says_nothing() -> None:
    text = "Pets are fine. The rent is 5 euros a month."
    supported, contrary = NearestScorer(ThreeWay()).score(["The rent is 5 euros.", "The rent is 6 euros."], text)
    assert supported.conflict is None
    assert contrary.conflict is not None
    assert contrary.conflict.text == "The rent is 5 euros a month."
    (silent,) = NearestScorer(ThreeWay()).score(["The rent is 7 euros."], "The rent is due.")
    assert silent.conflict is None
    assert NearestScorer(FakeEntailment()).score(["The rent is 6 euros."], text)[0].conflict is None
