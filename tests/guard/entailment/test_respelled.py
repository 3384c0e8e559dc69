"""The model reads a claim in the premise's spelling, and all else of it is its own."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from groundrail.entailment.base import FloatArray, Pair
from groundrail.entailment.respelled import Respelled
from groundrail.testing import FakeEntailment

PREMISE = "The lease ends on 28 February 2026. The rent is 1,450 euros."


def test_the_model_reads_the_claim_in_the_premises_spelling() -> None:
    plain = FakeEntailment(lambda premise, claim: 0.9)
    Respelled(plain).entailment([(PREMISE, "It ends on 2026-02-28 and costs €1450."), (PREMISE, "Pets are allowed.")])
    assert [claim for _, claim in plain.calls[0]] == [
        "It ends on 28 February 2026 and costs 1,450 euros.",
        "Pets are allowed.",
    ]


@pytest.mark.parametrize(("room", "read"), [(12, "It is twenty-three thousand dollars"), (9, "It is $23000")])
def test_what_would_no_longer_fit_is_read_as_it_is(room: int, read: str) -> None:
    short = FakeEntailment(lambda premise, claim: 0.9, max_tokens=room)
    Respelled(short).entailment([("It costs twenty-three thousand dollars", "It is $23000")])
    assert [claim for _, claim in short.calls[0]] == [read]


def test_claims_in_other_languages_are_read_as_they_are() -> None:
    plain = FakeEntailment(lambda premise, claim: 0.9)
    claim = "Die Miete beträgt 1450 Euro im Monat und ist am 2026-03-03 fällig."
    Respelled(plain).entailment([("Die Miete beträgt 1.450 Euro im Monat und ist am 3. März 2026 fällig.", claim)])
    assert [read for _, read in plain.calls[0]] == [claim]


def test_probabilities_and_classes_are_the_models() -> None:
    class ThreeWay(FakeEntailment):
        def classify(self, pairs: Sequence[Pair]) -> FloatArray:
            return np.array([[0.8, 0.15, 0.05] if "1,450" in claim else [0.2, 0.1, 0.7] for _, claim in pairs])

    plain = ThreeWay(lambda premise, claim: 0.8 if "1,450" in claim else 0.2)
    pairs = [(PREMISE, "The rent is €1450."), (PREMISE, "The rent is €1540.")]
    np.testing.assert_array_equal(Respelled(plain).entailment(pairs), [0.8, 0.2])
    np.testing.assert_array_equal(Respelled(plain).classify(pairs), [[0.8, 0.15, 0.05], [0.2, 0.1, 0.7]])
    assert Respelled(plain).metadata == replace(
        plain.metadata, identity=f"{plain.metadata.identity} in the premise's spelling and the claim's person"
    )
