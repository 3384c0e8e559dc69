import math
from typing import Any

import numpy as np
import pytest
from tests.guard.parts import Scoring
from tests.tiny import cut, written

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import ClaimTooLongError, InputError
from groundrail.evaluation.units import SentenceUnits, UnitScorer, WholeClaim
from groundrail.papers.decomposed import FullDocumentScorer, SentencePairScorer, SentliScorer, TopKScorer
from groundrail.papers.infuse import InfuseScorer
from groundrail.scoring.base import Score, Scorer
from groundrail.types import Citation, Document

SEEDS = range(25)


def ask(model: EntailmentModel, premise: str, claim: str) -> float:
    return float(model.entailment([(premise, claim)])[0])


@pytest.fixture(params=[SentencePairScorer, TopKScorer, FullDocumentScorer, SentliScorer, InfuseScorer])
def scorer_type(request):
    return request.param


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_are_the_maximum_over_sentences(hashed_yes_no, seed):
    model, text = hashed_yes_no(seed), written(seed, 7)
    claims = ["The rent is due.", "The garden is kept."]
    for claim, score in zip(claims, SentencePairScorer(model).score(claims, text), strict=True):
        alone = [ask(model, sentence, claim) for sentence in cut(text)]
        assert score.value == max(alone)
        assert [c.text for c in score.citations] == [cut(text)[int(np.argmax(alone))]]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("reverse", [False, True])
def test_top_k_joins_the_best_sentences_in_document_order(hashed_yes_no, seed, k, reverse):
    """InFusE-k, reversed, ranks by entailment both ways; the citations have the entailment of the claim."""
    model, text, claim = hashed_yes_no(seed), written(seed, 7), "The rent is due."
    alone = [ask(model, sentence, claim) for sentence in cut(text)]
    rank = [value + reverse * ask(model, claim, sentence) for sentence, value in zip(cut(text), alone, strict=True)]
    chosen = sorted(np.argsort([-value for value in rank], kind="stable")[:k])
    (score,) = TopKScorer(model, k=k, reverse=reverse).score([claim], text)
    assert score.value == ask(model, " ".join(cut(text)[i] for i in chosen), claim)
    assert {(c.start, c.score) for c in score.citations} == {(text.index(cut(text)[i]), alone[i]) for i in chosen}


@pytest.mark.parametrize("seed", SEEDS)
def test_sentli_joins_the_most_entailing_and_most_contradicting(hashed_nli, seed):
    model, text, claim = hashed_nli(seed), written(seed, 9), "The rent is due."
    judged = model.classify([(sentence, claim) for sentence in cut(text)])
    chosen = {i for column in (0, 2) for i in np.argsort(-judged[:, column], kind="stable")[:2]}
    (score,) = SentliScorer(model, k=2).score([claim], text)
    assert score.value == ask(model, " ".join(cut(text)[i] for i in sorted(chosen)), claim)
    assert {c.text for c in score.citations} == {cut(text)[i] for i in chosen}


@pytest.mark.parametrize("seed", SEEDS)
def test_full_document_is_one_premise_where_it_fits_and_a_mean_of_chunks_where_not(hashed_yes_no, seed):
    text, claim = written(seed, 9), "The rent is due."
    whole = hashed_yes_no(seed)
    assert FullDocumentScorer(whole).score([claim], text)[0].value == ask(whole, text, claim)

    narrow = hashed_yes_no(seed, max_tokens=24)
    chunks: list[str] = []
    room = 24 - len(claim.split())
    for sentence in cut(text):
        if chunks and len(f"{chunks[-1]} {sentence}".split()) <= room:
            chunks[-1] += f" {sentence}"
        else:
            chunks.append(sentence)
    (score,) = FullDocumentScorer(narrow).score([claim], text)
    assert score.value == pytest.approx(np.mean([ask(narrow, chunk, claim) for chunk in chunks]))
    assert sorted(c.text for c in score.citations) == sorted(chunks)


def test_every_citation_is_a_slice_of_its_document_and_best_first(hashed_nli, scorer_type):
    documents = [Document(text=written(seed, 6), id=f"d{seed}") for seed in range(3)]
    texts = {document.id: document.text for document in documents}
    for score in scorer_type(hashed_nli(1)).score(["The rent is due.", "Keys are kept."], documents):
        assert score.citations
        assert len({c.document_id for c in score.citations}) == 1
        assert [c.score for c in score.citations] == sorted((c.score for c in score.citations), reverse=True)
        for c in score.citations:
            assert texts[c.document_id][c.start : c.end] == c.text


def test_several_documents_are_scored_apart_and_the_best_counts(hashed_nli, scorer_type):
    documents = [Document(text=written(seed, 6), id=f"d{seed}") for seed in range(4)]
    scorer, claims = scorer_type(hashed_nli(1)), ["The rent is due.", "Keys are kept."]
    apart = [scorer.score(claims, document) for document in documents]
    for number, score in enumerate(scorer.score(claims, documents)):
        assert score == max((scores[number] for scores in apart), key=lambda found: found.value)


def test_a_claim_scores_the_same_alone_and_in_company(hashed_nli, scorer_type):
    text, model = written(3, 12), hashed_nli(2, max_tokens=30)
    claims = ["The rent is due.", "Keys are kept by the tenant in the garden in May and June."]
    together = scorer_type(model).score(claims, text)
    assert together == [scorer_type(model).score([claim], text)[0] for claim in claims]


@pytest.mark.parametrize("scorer_type", [SentencePairScorer, TopKScorer, FullDocumentScorer, SentliScorer])
def test_the_model_is_called_once_or_twice_however_many_claims(hashed_nli, scorer_type):
    model = hashed_nli(2, max_tokens=60)
    scorer = scorer_type(model)
    model.asked.clear()
    scorer.score(["One.", "Two.", "Three."], [written(1, 12), written(2, 12)])
    assert 1 <= len(model.asked) <= 2


def test_a_sentence_too_long_for_the_model_is_read_in_pieces_and_nothing_is_lost(hashed_yes_no):
    text = "Clause " + " ".join(f"word{number}" for number in range(200)) + "."
    model = hashed_yes_no(5, max_tokens=40)
    FullDocumentScorer(model).score(["The rent is due."], text)
    (asked,) = model.asked
    assert " ".join(premise for premise, _ in asked).split() == text.split()


def test_too_long_a_claim_is_an_error_and_not_cut(hashed_nli, scorer_type):
    scorer = scorer_type(hashed_nli(5, max_tokens=10))
    with pytest.raises(ClaimTooLongError, match="split it into sentences"):
        scorer.score(["word " * 10], "The rent is due.")


@pytest.mark.parametrize("source", ["", "  \n ", [], [Document(text=" ")]])
def test_a_blank_source_has_no_score(hashed_nli, scorer_type, source):
    (score,) = scorer_type(hashed_nli(5)).score(["The rent is due."], source)
    assert math.isnan(score.value)
    assert score.citations == ()


def test_no_claims_no_scores(hashed_nli, scorer_type):
    assert scorer_type(hashed_nli(5)).score([], "The rent is due.") == []


@pytest.mark.parametrize("scorer_type", [TopKScorer, SentliScorer])
def test_k_is_positive(hashed_nli, scorer_type):
    with pytest.raises(InputError, match="at least 1"):
        scorer_type(hashed_nli(1), k=0)


def test_units_are_joined_by_mean_or_minimum(hashed_yes_no):
    scorer: Scorer = SentencePairScorer(hashed_yes_no(1))
    text, claim = written(1, 6), "The rent is due. Keys are kept by the tenant. "
    parts = [score.value for score in scorer.score(["The rent is due.", "Keys are kept by the tenant."], text)]
    assert UnitScorer(scorer).score([claim], text)[0].value == pytest.approx(np.mean(parts))
    assert UnitScorer(scorer, aggregate="minimum").score([claim], text)[0].value == min(parts)
    (whole,) = UnitScorer(scorer, WholeClaim()).score([claim], text)
    assert whole == scorer.score([claim.strip()], text)[0]
    unknown: Any = "max"
    with pytest.raises(InputError, match="'mean' or 'minimum'"):
        UnitScorer(scorer, aggregate=unknown)


def test_units_cover_the_claim_and_a_blank_claim_has_none():
    claim = "The rent is due. Keys are kept by the tenant. "
    units = SentenceUnits().split(claim)
    assert "".join(claim[unit.start : unit.end] for unit in units) == claim
    assert WholeClaim().split("  ") == []


def test_one_unit_without_a_score_leaves_the_claim_without():
    silent = Scoring(lambda claims: [Score(math.nan if "keys" in claim.lower() else 1.0) for claim in claims])
    scores = UnitScorer(silent).score(["The rent is due. Keys are kept.", "The rent is due.", " "], "x")
    assert [math.isnan(score.value) for score in scores] == [True, False, True]


def test_a_claim_in_units_keeps_what_its_scorer_says_of_one():
    conflict = Citation(document_id="source", start=0, end=1, text="x", score=0.9)
    table = {
        "The rent is due.": Score(0.9),
        "Keys are kept.": Score(0.2, conflict=conflict, exact=False, note="only two chunks were read"),
    }

    telling = Scoring(lambda claims: [table[claim] for claim in claims])
    plain, both = UnitScorer(telling).score(["The rent is due.", "The rent is due. Keys are kept."], "x")
    assert (plain.conflict, plain.exact, plain.note) == (None, True, None)
    assert (both.conflict, both.exact, both.note) == (conflict, False, "only two chunks were read")
