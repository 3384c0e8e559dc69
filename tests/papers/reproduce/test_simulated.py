"""Systems that are simulated by mixing right and wrong responses in known shares."""

import numpy as np
import pytest

from groundrail.errors import InputError
from groundrail.papers.reproduce.simulated import robustness, simulated_correlation


def test_simulated_systems_follow_their_shares_under_a_good_scorer_and_not_under_a_blind_one():
    draw = np.random.default_rng(3)
    contexts = [str(number // 2) for number in range(200)]
    labels = [1, 0] * 100
    good, blind = np.array(labels) + draw.normal(0, 0.1, 200), draw.random(200)
    found = simulated_correlation([*labels, 1], [*good, 0.0], [*contexts, "alone"], resamples=40)
    assert (found.low, found.value, found.high) == pytest.approx((1, 1, 1))
    unsure = simulated_correlation(labels, blind, contexts, resamples=40)
    assert unsure.value < 0.9
    with pytest.raises(InputError, match="a supported and an unsupported"):
        simulated_correlation([1, 0], [1, 0], ["a", "b"])


def test_robustness_falls_in_a_line_with_the_share_of_wrong_responses():
    table = robustness([1, 1, 0, 0], [0.9, 0.7, 0.3, 0.1], [0.0, 0.5, 1.0], resamples=100)
    assert [found.value for found in table] == pytest.approx([0.8, 0.5, 0.2], abs=0.02)
    assert all(found.low < found.value < found.high for found in table)
