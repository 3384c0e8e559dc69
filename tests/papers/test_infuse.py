import math
import random
from typing import Any

import numpy as np
import pytest
from tests.hashed import HashedNLI
from tests.tiny import written

from groundrail.errors import InputError
from groundrail.evaluation.units import in_units
from groundrail.papers.infuse import InfuseScorer
from groundrail.text import sentences

CLAIM = "The tenant pays the rent."


def transcribed(model, claim, document, reverse=True, margin=0.0, bound=64):
    """Algorithm 1, one model call a step, straight down. Returns the score and the sentences behind it."""
    listed = [part.text.strip() for part in sentences.split(document)]
    rank = []
    for sentence in listed:
        value = model.classify([(sentence, claim)])[0][0]
        if reverse:
            value = value + model.classify([(claim, sentence)])[0][0]
        rank.append(value)
    order = sorted(range(len(listed)), key=lambda i: (-rank[i], i))
    before: Any = None
    for size in range(1, min(len(order), bound) + 1):
        chosen = sorted(order[:size])
        premise = " ".join(listed[i] for i in chosen)
        if len(premise.split()) + len(claim.split()) > model.max_tokens:
            break
        entailment, neutral, _ = model.classify([(premise, claim)])[0]
        if before is not None and neutral >= before[1] + margin:
            break
        before = (entailment, neutral, [listed[i] for i in chosen])
    return before[0], before[2]


@pytest.mark.parametrize("seed", range(150))
def test_equals_the_slow_transcription(hashed_nli, seed):
    draw = random.Random(seed)
    document, reverse = written(seed, draw.randint(1, 12)), draw.random() < 0.7
    margin, bound = draw.choice([0.0, 0.0, 0.2, 1.0]), draw.choice([64, 64, 3, 1])
    model = hashed_nli(seed, max_tokens=draw.choice([10_000, 40]))
    value, used = transcribed(model, CLAIM, document, reverse, margin, bound)
    for ahead in (1, 3, 50):
        scorer = InfuseScorer(model, reverse=reverse, margin=margin, ahead=ahead, max_sentences=bound)
        (score,) = scorer.score([CLAIM], document)
        assert score.value == value
        assert [c.text for c in sorted(score.citations, key=lambda c: c.start)] == used
        assert all(document[c.start : c.end] == c.text for c in score.citations)


def test_the_cases_above_stop_early_and_late(hashed_nli):
    sizes = [len(transcribed(hashed_nli(seed), CLAIM, written(seed, 12))[1]) for seed in range(150)]
    assert min(sizes) == 1
    assert max(sizes) > 3


def test_a_margin_of_one_reads_everything(hashed_nli):
    model, document = hashed_nli(3), written(3, 9)
    (score,) = InfuseScorer(model, margin=1.0).score([CLAIM], document)
    assert score.value == model.classify([(document, CLAIM)])[0][0]
    assert len(score.citations) == 9


def test_growing_stops_where_the_neutral_probability_does_not_fall():
    """Algorithm 1, line 14: a step with the same neutral probability stops, and the step before it is returned."""

    class Level(HashedNLI):
        def classify(self, pairs):
            rows = super().classify(pairs)
            for row, (premise, _) in zip(rows, pairs, strict=True):
                row[:] = (0.2, 0.5, 0.3) if premise.count("Clause") < 2 else (0.4, 0.5, 0.1)
            return rows

    (score,) = InfuseScorer(Level(1), reverse=False).score([CLAIM], written(1, 5))
    assert score.value == 0.2
    assert [citation.text for citation in score.citations] == [sentences.split(written(1, 5))[0].text.strip()]


def test_claims_and_documents_do_not_disturb_each_other(hashed_nli):
    model, claims = hashed_nli(4, max_tokens=60), [CLAIM, "The garden is kept.", "Keys are returned in June."]
    documents = [written(seed, 10) for seed in range(4)]
    together = InfuseScorer(model).score(claims, documents)
    for claim, score in zip(claims, together, strict=True):
        assert score.value == max(transcribed(model, claim, document)[0] for document in documents)


def test_steps_are_evaluated_ahead_in_few_calls(hashed_nli):
    model = hashed_nli(3)
    scorer = InfuseScorer(model, margin=1.0, ahead=8)
    model.asked.clear()
    scorer.score([CLAIM, "Keys are kept."], [written(1, 9), written(2, 9)])
    assert len(model.asked) == 2


def test_infuse_sub_is_the_minimum_within_a_sentence_and_the_mean_over_sentences(hashed_nli):
    scorer = InfuseScorer(hashed_nli(3))
    cut = ["The tenant pays the rent.", "The landlord repairs the roof."]
    claim, document = "The tenant pays the rent and the landlord repairs the roof. Keys are kept.", written(3, 9)
    first, second, last = (score.value for score in scorer.score([*cut, "Keys are kept."], document))
    assert len({first, second, last}) == 3
    (score,) = in_units(scorer, "subsentences").score([claim], document)
    assert score.value == pytest.approx((min(first, second) + last) / 2)
    (strict,) = in_units(scorer, "subsentences", "minimum").score([claim], document)
    assert strict.value == min(first, second, last)
    (plain,) = in_units(scorer, "sentences").score([claim], document)
    whole = scorer.score([claim.split(". ")[0] + ".", "Keys are kept."], document)
    assert plain.value == pytest.approx((whole[0].value + whole[1].value) / 2)


def test_probabilities_that_are_not_numbers_give_no_score():
    class Broken(HashedNLI):
        def classify(self, pairs):
            return np.full((len(pairs), 3), math.nan)

    (score,) = InfuseScorer(Broken(1)).score([CLAIM], written(1, 4))
    assert math.isnan(score.value)
    assert score.citations == ()


@pytest.mark.parametrize("setting", [{"ahead": 0}, {"max_sentences": 0}, {"margin": -0.1}, {"margin": math.nan}])
def test_settings_out_of_range_are_refused(hashed_nli, setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        InfuseScorer(hashed_nli(1), **setting)
