"""Chunked SCALE: the best chunk and the sentence that its tree ends in, for few pairs however long the source."""

import math
import random
import re
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail import Document, Guard
from groundrail.entailment.base import Pair
from groundrail.errors import ClaimTooLongError, InputError
from groundrail.papers.scale.scorer import PaperScaleScorer
from groundrail.scoring.index import WordIndex
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.scale import ScaleScorer, children
from groundrail.testing import FakeEntailment

CLAIM = "The keys were lost in the garden."
WORDS = "keys lost garden rent house dog lease tenant winter window".split()


BOTH = [ScaleScorer, *(partial(PaperScaleScorer, branches=branches) for branches in (2, 3, 8))]
"""The guard's scorer and the paper's."""


def some_sentences(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return [f"The {' '.join(draw.choices(WORDS, k=draw.randrange(3, 8)))} s{number}." for number in range(count)]


def mean(chunk: float, sentence: float) -> float:
    """The mean of two probabilities in log-odds, the second with a weight of a quarter."""
    weighed = 0.75 * math.log(chunk / (1 - chunk)) + 0.25 * math.log(sentence / (1 - sentence))
    return 1 / (1 + math.exp(-weighed))


def told() -> FakeEntailment:
    """Certain of what is said in the premise word by word, and of nothing else."""
    return FakeEntailment(lambda premise, claim: 0.9 if claim.rstrip(".") in premise else 0.1)


def asked(model: FakeEntailment) -> list[Pair]:
    return [pair for call in model.calls for pair in call]


@given(st.integers(0, 10_000), st.integers(1, 16))
def test_the_score_is_the_mean_of_the_chunk_and_the_sentence_that_the_tree_ends_in(hashed_yes_no, seed, count) -> None:
    model, sentences = hashed_yes_no(seed), some_sentences(seed, count)
    likeness = WordIndex(sentences).likeness(CLAIM)
    similar = sorted(range(count), key=lambda place: -likeness[place])[:4]
    here, path = sorted(similar), [list(range(count))]

    def probability(run: Sequence[int]) -> float:
        return float(model.entailment([(" ".join(sentences[place] for place in run), CLAIM)])[0])

    def rank(run: Sequence[int]) -> float:
        p = probability(run)
        return math.log(p / (1 - p)) + 6 * max(likeness[list(run)]) / (max(likeness) or 1)

    while len(here) > 1:
        width = len(here) // 2
        here = max((here[start : start + width] for start in range(0, len(here), width)), key=rank)
        path.append(here)
    (found,) = ScaleScorer(model, chunk_tokens=1000).score([CLAIM], " ".join(sentences))
    assert found.value == pytest.approx(mean(probability(range(count)), probability(here)))
    (citation,) = found.citations
    assert citation.text == sentences[here[0]]
    assert citation.score == pytest.approx(probability(here))
    above = path[:-1]
    assert [step.name for step in citation.path] == ["chunk 1 of 1", *(f"{len(run)} sentences" for run in above[1:])][
        : len(above)
    ]
    assert [step.score for step in citation.path] == pytest.approx([probability(run) for run in above])


@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(0, 1), st.sampled_from([10, 17, 40]))
def test_every_decision_is_that_of_the_full_score(hashed_yes_no, seed, count, threshold, size) -> None:
    source = " ".join(some_sentences(seed, count))
    claims = [f"The {word} is lost." for word in random.Random(seed).sample(WORDS, 3)]
    scorer = ScaleScorer(hashed_yes_no(seed), chunk_tokens=size)
    full = scorer.score(claims, source)
    for exact, quick in zip(full, scorer.read(source).score(claims, threshold), strict=True):
        assert (quick.value >= threshold) == (exact.value >= threshold)
        assert exact.exact
        assert quick == exact or (not quick.exact and threshold <= quick.value <= exact.value)
        (citation,) = quick.citations
        assert source[citation.start : citation.end] == citation.text
        assert all(step.start <= citation.start and citation.end <= step.end for step in citation.path)


def test_a_path_leads_from_a_chunk_by_its_number_to_the_sentence() -> None:
    sentences = [f"Room {number} of the house at gate {number % 7} is let to tenant T{number}." for number in range(60)]
    source = " ".join(sentences)
    (found,) = ScaleScorer(told(), chunk_tokens=60).read(source).score([sentences[40]], 0.5)
    (citation,) = found.citations
    assert citation.text == sentences[40]
    assert re.fullmatch(r"chunk \d+ of \d+", citation.path[0].name)
    assert sentences[40] in source[citation.path[0].start : citation.path[0].end]
    assert [step.name for step in citation.path[1:]] == ["2 sentences"]


def test_sentences_that_lie_far_apart_are_read_together_as_one_more_chunk() -> None:
    noise = [f"Room {number} has a window." for number in range(40)]
    sentences = ["Anna Berg signed the lease.", *noise, "The lease of Anna Berg ends in May."]
    judge = FakeEntailment(lambda premise, claim: 0.9 if "signed" in premise and "May" in premise else 0.2)
    (found,) = ScaleScorer(judge, chunk_tokens=40).score(
        ["Anna Berg signed the lease that ends in May."], " ".join(sentences)
    )
    (citation,) = found.citations
    assert citation.path[0].name.endswith("nearest sentences")
    assert citation.path[0].score == 0.9
    assert citation.text in (sentences[0], sentences[-1])


def test_a_source_of_one_sentence_is_its_tree() -> None:
    model = told()
    (found,) = ScaleScorer(model).score(["The rent is due."], "The rent is due.")
    assert found.value == pytest.approx(0.9)
    assert [(citation.text, citation.path) for citation in found.citations] == [("The rent is due.", ())]
    assert len(asked(model)) == 1


def test_a_claim_loses_to_a_likelier_rival() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.9 if "1,450" in claim else 0.6)
    source = "The rent is 1,450 euros. The lease ends in May."
    wrong, right = ScaleScorer(judge).score(["The rent is 1,650 euros.", "The rent is 1,450 euros."], source)
    assert wrong.value < 0.6
    assert wrong.conflict is not None
    assert wrong.conflict.text == "The rent is 1,450 euros."
    assert right.citations[0].score == 0.9


@pytest.mark.parametrize("kind", BOTH)
def test_the_citation_is_the_sentence_that_says_so_in_the_document_that_says_so(kind) -> None:
    noise = [f"Word{number} w{number}x1 w{number}x2 w{number}x3." for number in range(30)]
    documents: list[str | Document] = [
        Document(text=" ".join(noise), id="noise"),
        Document(text="  \n ", id="blank"),
        Document(text=" ".join([*noise[:20], "Keys were lost in march!", *noise[20:]]), id="report"),
        "Cats are not allowed. The rent is due on the first.",
    ]
    judge = FakeEntailment(lambda premise, claim: 0.9 if claim.lower() in premise.lower() else 0.1)
    claims = ["Keys were lost in march", "Cats are not allowed", "The rent is due"]
    cited = [score.citations[0] for score in kind(judge, chunk_tokens=40).score(claims, documents)]
    assert [(citation.document_id, citation.text) for citation in cited] == [
        ("report", "Keys were lost in march!"),
        ("source-4", "Cats are not allowed."),
        ("source-4", "The rent is due on the first."),
    ]


@given(st.sampled_from(BOTH), st.integers(0, 99), st.integers(1, 40), st.integers(12, 60))
def test_no_pair_is_too_long_and_citations_are_whole_sentences(hashed_yes_no, kind, seed, count, longest) -> None:
    """The model refuses a pair that does not fit."""
    model = hashed_yes_no(seed, max_tokens=longest)
    sentences = [" ".join(f"w{number}x{place}" for place in range(4)).capitalize() + "." for number in range(count)]
    text = "\r\n\r\n".join(sentences)
    (found,) = kind(model).score(["one claim"], text)
    (citation,) = found.citations
    assert citation.text in sentences
    assert text[citation.start : citation.end] == citation.text
    assert citation.score == pytest.approx(model.entailment([(citation.text, "one claim")])[0])


def test_nan_concerns_only_its_own_claim_and_is_asked_again() -> None:
    model = FakeEntailment(lambda premise, claim: math.nan if "rent" in claim else 0.8)
    reader = ScaleScorer(model, chunk_tokens=20).read(" ".join(some_sentences(1, 12)))
    broken, fine = reader.score(["The rent is due.", "The dog is lost."])
    assert math.isnan(broken.value)
    assert broken.citations == ()
    assert fine.value == pytest.approx(0.8)
    calls = len(model.calls)
    reader.score(["The rent is due.", "The dog is lost."])
    assert {claim for call in model.calls[calls:] for _, claim in call} == {"The rent is due."}


def test_a_source_that_says_nothing_gives_no_number() -> None:
    model = told()
    for scorer in (ScaleScorer(model), NearestScorer(model)):
        (found,) = scorer.score(["The rent is due."], "<!-- The rent is due. -->")
        assert math.isnan(found.value)
    assert model.calls == []


@pytest.mark.parametrize("kind", [ScaleScorer, PaperScaleScorer])
def test_bad_input_is_an_error_that_says_so(kind) -> None:
    scorer = kind(FakeEntailment(max_tokens=8))
    for source in ("", " \n\t", [], ["", " "]):
        with pytest.raises(InputError, match="the source is blank"):
            scorer.score(["a claim"], source)
    with pytest.raises(InputError, match="a claim is blank"):
        scorer.score(["a claim", "  "], "a source")
    with pytest.raises(InputError, match="list of claims"):
        scorer.score("a claim", "a source")
    with pytest.raises(ClaimTooLongError):
        scorer.score(["fine", "a claim of eight words leaves no room"], "a source")
    assert scorer.score([], "a source") == []


def test_settings_below_one_are_errors() -> None:
    for setting in ({"chunk_tokens": 0}, {"chunks": 0}):
        with pytest.raises(InputError, match=f"{next(iter(setting))} is 0"):
            ScaleScorer(FakeEntailment(), **setting)


def test_the_children_of_a_node_are_the_authors() -> None:
    assert children((1, 2, 3, 4, 5)) == [(1, 2), (3, 4), (5,)]
    assert children((1, 2, 3, 4, 5, 6, 7), 3) == [(1, 2), (3, 4), (5, 6), (7,)]
    assert children((1,)) == [(1,)]


ROOMS = [f"Room {number} of the house at gate {number % 7} is let to tenant T{number}." for number in range(600)]
SOURCE = " ".join(ROOMS)
LET = [ROOMS[number] for number in (3, 250, 420, 599)]
FALSE = "Nobody ever paid the gardener."
LEVELS = 4
"""Levels of a tree over at most 16 sentences."""


def test_supported_claims_of_an_answer_read_one_chunk_and_one_tree_each() -> None:
    model = told()
    result = Guard(scorer=ScaleScorer(model, chunk_tokens=200)).check(" ".join(LET), SOURCE)
    assert result.supported
    assert len(model.calls) <= 1 + LEVELS
    assert len(asked(model)) <= (1 + 3 * LEVELS) * len(LET)
    assert len(asked(model)) == len(set(asked(model)))


def test_a_claim_that_nothing_supports_reads_two_chunks_the_further_one_and_two_trees() -> None:
    model = told()
    ScaleScorer(model, chunk_tokens=200).read(SOURCE).score([FALSE], 0.5)
    assert len(asked(model)) <= 3 + 2 * 3 * LEVELS
    assert len(asked(model)) == len(set(asked(model)))
    assert sum(len(premise.split()) for premise, _ in asked(model)) <= 3 * 200 + 2 * 2 * 200


def test_the_second_look_and_the_first_step_of_its_tree_share_a_call() -> None:
    apart = [f"The {word} of flat {number} is new." for number, word in enumerate(WORDS * 8)]
    model = FakeEntailment(lambda premise, claim: 0.2 if premise.count("garden") > 2 else 0.1)
    (score,) = (
        ScaleScorer(model, chunk_tokens=40).read(" ".join(apart)).score(["The garden of a flat is old."], threshold=0.5)
    )
    chunk, second, leaves = model.calls
    assert [len(call) for call in (chunk, second, leaves)] == [1, 3, 2]
    longest = max(second, key=lambda pair: len(pair[0]))
    assert all(set(premise.split()) < set(longest[0].split()) for premise, _ in [*second, *leaves] if premise != longest[0])
    read = [premise for call in model.calls for premise, _ in call]
    assert len(set(read)) == 6  # a chunk, the further one, and the four nodes of one tree: no pair for nothing
    assert score.value < 0.5


def test_the_third_attempt_at_a_sentence_costs_nothing_that_was_asked_before() -> None:
    model = told()
    reader = ScaleScorer(model, chunk_tokens=200).read(SOURCE)
    first = reader.score([FALSE], 0.5)
    pairs = asked(model)
    assert reader.score([FALSE], 0.5) == first
    assert asked(model) == pairs


def test_claims_decided_together_are_decided_as_alone(hashed_yes_no) -> None:
    source = " ".join(some_sentences(11, 200))
    claims = [f"The {word} is due." for word in WORDS]
    scorer = ScaleScorer(hashed_yes_no(11), chunk_tokens=20)
    together = scorer.read(source).score(claims, 0.6)
    assert together == [scorer.read(source).score([claim], 0.6)[0] for claim in claims]
    assert 0 < np.mean([score.exact for score in together]) < 1
