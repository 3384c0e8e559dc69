"""Decisions: those of the full maximum over chunks, for a fraction of the model's work."""

import math
import random
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundrail import Guard, Policy, Verdict
from groundrail.errors import InputError
from groundrail.scoring.scale.scale import ScaleScorer
from groundrail.testing import FakeEntailment

hundreds = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

WORDS = "rent tenant landlord keys march april cats flat water heating deposit bank contract clause fee euros".split()


def some_source(seed: int, sentences: int) -> str:
    draw = random.Random(seed)
    return " ".join(
        f"The {' '.join(draw.choices(WORDS, k=draw.randrange(2, 9)))} s{number}." for number in range(sentences)
    )


def told(source: str) -> FakeEntailment:
    """Certain of what is said in the premise word by word, and of nothing else."""
    return FakeEntailment(lambda premise, claim: 0.9 if claim.rstrip(".") in premise else 0.1, max_tokens=10_000)


@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(0, 1), st.sampled_from([5, 17, 40]), st.booleans())
@hundreds
def test_every_decision_is_that_of_the_full_score(hashed_yes_no, seed, sentences, threshold, size, follow) -> None:
    source = some_source(seed, sentences)
    claims = [f"The {word} is due." for word in random.Random(seed).sample(WORDS, 3)]
    scorer = ScaleScorer(hashed_yes_no(seed), chunk_tokens=size, slack=None if follow else 0.25)
    full = scorer.score(claims, source)
    decided = scorer.read(source).score(claims, threshold)
    for exact, quick in zip(full, decided, strict=True):
        assert (quick.value >= threshold) == (exact.value >= threshold)
        assert quick.value <= exact.value
        assert quick.exact or quick.value >= threshold
        assert exact.exact
        if quick.exact:
            assert quick.value == exact.value
        (citation,) = quick.citations
        assert source[citation.start : citation.end] == citation.text
        assert citation.score == scorer.entailment.entailment([(citation.text, claims[full.index(exact)])])[0]


@given(st.integers(0, 10_000), st.integers(2, 60))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_claim_that_nothing_supports_is_read_against_every_chunk(hashed_yes_no, seed, sentences) -> None:
    source = some_source(seed, sentences)
    scorer = ScaleScorer(hashed_yes_no(seed), chunk_tokens=9)
    (decided,) = scorer.read(source).score(["The rent is due."], reach=2.0)
    assert decided == scorer.score(["The rent is due."], source)[0]
    assert decided.exact


def test_a_supported_claim_costs_two_calls_and_a_few_pairs_however_long_the_source() -> None:
    source = some_source(3, 4000)
    claim = "The deposit was paid to the bank in march"
    planted = source.replace(" s2500.", f" s2500. {claim}.")
    model = told(planted)
    scorer = ScaleScorer(model, chunk_tokens=200)
    (decided,) = scorer.read(planted).score([claim], 0.5)
    assert (decided.value, decided.exact, decided.citations[0].text) == (0.9, False, f"{claim}.")
    assert len(model.calls) <= 2
    assert sum(map(len, model.calls)) <= 4
    model.calls.clear()
    assert scorer.score([claim], planted)[0].value == 0.9
    assert sum(map(len, model.calls)) > 100


def test_the_citation_lies_in_the_chunk_that_won() -> None:
    source = some_source(5, 300)
    sentences = re.findall(r"The [^.]*\.", source)
    scorer = ScaleScorer(told(source), chunk_tokens=30)
    for wanted in (0, 120, 299):
        (decided,) = scorer.read(source).score([sentences[wanted]], 0.5)
        assert sentences[wanted] in decided.citations[0].text


def test_what_was_asked_before_is_not_asked_again(hashed_yes_no) -> None:
    model = hashed_yes_no(1)
    reader = ScaleScorer(model, chunk_tokens=20).read(some_source(1, 40))
    claims = ["The rent is due.", "The keys were lost.", "The rent is due."]
    first = reader.score(claims)
    asked = [pair for pairs in model.asked for pair in pairs]
    assert len(asked) == len(set(asked))
    assert first[0] == first[2]
    model.asked.clear()
    assert reader.score(claims) == first
    assert reader.score(["The keys were lost."], 2.0) == first[1:2]
    assert model.asked == []


def test_nan_decides_nothing_and_is_asked_again() -> None:
    model = FakeEntailment(lambda premise, claim: math.nan, max_tokens=100)
    reader = ScaleScorer(model, chunk_tokens=10).read(some_source(1, 40))
    for _ in range(2):
        (decided,) = reader.score(["The rent is due."], 0.5)
        assert math.isnan(decided.value)
        assert decided.citations == ()
    assert len(model.calls) == 2


def test_a_limit_of_chunks_is_kept_and_named_in_the_reason() -> None:
    source = some_source(7, 400)
    model = told(source)
    scorer = ScaleScorer(model, chunk_tokens=30, max_chunks=4)
    whole = told(source)
    ScaleScorer(whole, chunk_tokens=30).score(["The tenant flew to the moon."], source)
    chunks = len(set(whole.calls[0]))
    result = Guard(scorer=scorer, policy=Policy(threshold=0.5)).check("The tenant flew to the moon.", source)
    (sentence,) = result.sentences
    assert sentence.verdict is Verdict.UNSUPPORTED
    assert f"only the 4 of {chunks} chunks nearest to it were read" in (sentence.reason or "")
    assert not sentence.exact
    read = {premise for call in model.calls for premise, _ in call if len(premise.split()) > 20}
    assert len(read) <= 4
    assert ScaleScorer(told(source), max_chunks=4).score(["The tenant flew."], "One chunk.")[0].note is None
    with pytest.raises(InputError, match="max_chunks"):
        ScaleScorer(told(source), max_chunks=0)


def test_limited_and_full_scores_agree_where_the_limit_is_not_met(hashed_yes_no) -> None:
    for seed in range(20):
        source = some_source(seed, 30)
        claims = ["The rent is due.", "The cats are lost."]
        full = ScaleScorer(hashed_yes_no(seed), chunk_tokens=25).score(claims, source)
        assert ScaleScorer(hashed_yes_no(seed), chunk_tokens=25, max_chunks=10_000).score(claims, source) == full
        limited = ScaleScorer(hashed_yes_no(seed), chunk_tokens=25, max_chunks=2).score(claims, source)
        assert all(few.value <= many.value and not few.exact for few, many in zip(limited, full, strict=True))


def test_a_guard_decides_and_a_calibrated_policy_gets_exact_scores() -> None:
    source = some_source(3, 600)
    claim = re.findall(r"The [^.]*\.", source)[400]
    quick = Guard(scorer=ScaleScorer(told(source), chunk_tokens=50)).check(claim, source).sentences[0]
    assert (quick.verdict, quick.exact) == (Verdict.SUPPORTED, False)
    policy = Policy(calibration=lambda value: value)
    exact = Guard(scorer=ScaleScorer(told(source), chunk_tokens=50), policy=policy).check(claim, source).sentences[0]
    assert (exact.verdict, exact.exact) == (Verdict.SUPPORTED, True)


def test_claims_decided_together_are_decided_as_alone(hashed_yes_no) -> None:
    source = some_source(11, 200)
    claims = [f"The {word} is due." for word in WORDS]
    scorer = ScaleScorer(hashed_yes_no(11), chunk_tokens=20)
    together = scorer.read(source).score(claims, 0.95)
    alone = [scorer.read(source).score([claim], 0.95)[0] for claim in claims]
    assert together == alone
    assert 0 < np.mean([score.exact for score in together]) <= 1


@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(0, 1))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_exact_decision_is_the_papers_maximum_and_tree(hashed_yes_no, seed, sentences, threshold) -> None:
    source = some_source(seed, sentences)
    claims = [f"The {word} is due." for word in random.Random(seed).sample(WORDS, 3)]
    paper = ScaleScorer(hashed_yes_no(seed), chunk_tokens=17, search="document", slack=None)
    scorer = ScaleScorer(hashed_yes_no(seed), chunk_tokens=17, exact=True)
    assert scorer.read(source).score(claims, threshold) == paper.score(claims, source) == scorer.score(claims, source)


def test_a_guard_with_an_exact_scorer_reports_the_maximum() -> None:
    source = some_source(3, 600)
    claims = re.findall(r"The [^.]*\.", source)[400:403]
    graded = FakeEntailment(  # each chunk a little better than the one before, so that the first to do is not the best
        lambda premise, claim: 0.6 + source.index(premise) / len(source) / 4, max_tokens=10_000
    )
    quick = Guard(scorer=ScaleScorer(graded, chunk_tokens=50)).check(" ".join(claims), source)
    exact = Guard(scorer=ScaleScorer(graded, chunk_tokens=50, exact=True)).check(" ".join(claims), source)
    maximum = [score.value for score in ScaleScorer(graded, chunk_tokens=50).score(claims, source)]
    assert [sentence.score for sentence in exact.sentences] == maximum
    assert all(sentence.exact for sentence in exact.sentences)
    assert not any(sentence.exact for sentence in quick.sentences)
    pairs = zip(quick.sentences, exact.sentences, strict=True)
    assert all((a.score or 0) < (b.score or 0) for a, b in pairs)


def test_an_exact_chunk_is_as_long_as_there_is_room(hashed_yes_no) -> None:
    model = hashed_yes_no(0, max_tokens=300)
    claim = "The rent is due."
    source = " ".join(f"w{number}" for number in range(1000))
    for exact, longest in ((False, 288), (True, 296)):  # a claim of four tokens; sizes in steps of 32 unless exact
        (chunk,) = ScaleScorer(model, chunk_tokens=400, exact=exact).best_chunks([claim], source)
        assert len(model.asked[-1][0][0].split()) == longest
        assert len(chunk.text.split()) <= longest


def test_exact_reads_all_chunks_or_refuses() -> None:
    with pytest.raises(InputError, match="exact reads every chunk, max_chunks=3 only some"):
        ScaleScorer(told(""), exact=True, max_chunks=3)
