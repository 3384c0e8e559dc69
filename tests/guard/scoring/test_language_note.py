"""A judge made for English says so where it reads something else."""

import json
from collections.abc import Sequence

import numpy as np
import pytest

from groundrail import Guard
from groundrail.entailment.base import FloatArray, Pair
from groundrail.evaluation.units import UnitScorer
from groundrail.scoring.batched import BatchedScorer
from groundrail.scoring.language_note import NOTE
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.registry import load_scorer, needs_entailment, scorers
from groundrail.testing import FakeEntailment

GERMAN = "Die Miete beträgt 1.450 Euro im Monat und ist am dritten Werktag eines jeden Monats zu zahlen."
ENGLISH = "The rent is 1,450 euros a month, and it is due on the third working day of each month."


@pytest.mark.parametrize(("english_only", "noted"), [(True, True), (False, False)])
def test_the_reason_says_it_where_the_judge_is_made_for_english(english_only: bool, noted: bool) -> None:
    model = FakeEntailment(lambda premise, claim: 0.1, english_only=english_only)
    (sentence,) = (
        Guard(scorer="scale", judge=model)
        .check("Die Miete beträgt 1.540 Euro im Monat und ist heute fällig.", GERMAN * 3)
        .sentences
    )
    assert (NOTE in (sentence.reason or "")) == noted
    (english,) = Guard(scorer="scale", judge=model).check(ENGLISH, ENGLISH).sentences
    assert NOTE not in (english.reason or "")


RECORD = {
    "name": "Hotel Larkspur",
    "city": "Porto",
    "attributes": {"WiFi": "free", "Pool": False, "Sauna": None},
    "stars": 4.0,
}


@pytest.mark.parametrize(
    ("source", "noted"),
    [
        (json.dumps(RECORD), False),  # fields of a word or two have no language
        (json.dumps({**RECORD, "review": ENGLISH}), False),
        (json.dumps({**RECORD, "review": GERMAN}, ensure_ascii=False), True),
        (
            "| Branch | Staff | Manager |\n| --- | --- | --- |\n| Gdansk | 790 | Oda Reinholt |\n| Porto | 212 | Ana Vale |\n",
            False,
        ),
        ("Payload, photographic: 15 kg\nMount head weight: 16.4 kg\nPower supply: 12 V\nAutoguider port: yes\n", False),
    ],
)
def test_names_and_numbers_of_a_record_or_table_are_in_no_language(source: str, noted: bool) -> None:
    model = FakeEntailment(lambda premise, claim: 0.1, english_only=True)
    (sentence,) = Guard(scorer=NearestScorer(model)).check("The hotel in Porto has a pool.", source).sentences
    assert (NOTE in (sentence.reason or "")) == noted


class Silent(FakeEntailment):
    """Takes every claim for one that the source is silent on."""

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        return np.tile((0.1, 0.8, 0.1), (len(pairs), 1))


@pytest.mark.parametrize("english_only", [True, False])
@pytest.mark.parametrize("name", [name for name in scorers() if needs_entailment(name)])
def test_a_scorer_is_made_for_english_where_its_judge_is(name: str, english_only: bool) -> None:
    model = Silent(english_only=english_only)
    scorer = load_scorer(name, model)
    assert scorer.metadata.english_only == english_only
    for around in (UnitScorer(scorer), BatchedScorer(scorer)):
        assert around.metadata.english_only == english_only
        assert scorer.metadata.identity in around.metadata.identity
