import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from groundrail.calibration import Calibration
from groundrail.errors import InputError
from groundrail.evaluation.metrics import ece
from groundrail.evaluation.thresholds import allowed_errors, choose_threshold, fit_calibration, labels_needed, rate
from groundrail.policy import Policy

ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 30).map(lambda n: n / 30)), min_size=4, max_size=60).filter(
    lambda rows: {row[0] for row in rows} == {0, 1}
)


def drawn(count=600, seed=0):
    """Scores that are over-confident: the share of supported claims at score s is far from s."""
    draw = np.random.default_rng(seed)
    s = draw.random(count)
    y = draw.random(count) < 0.2 + 0.5 * s**2
    return y.astype(float), s


def errors(rows, threshold):
    released = [label for label, score in rows if score >= threshold]
    blocked = [label for label, score in rows if score < threshold]
    return released.count(0), blocked.count(1)


@given(ROWS, st.floats(0, 1))
def test_the_threshold_keeps_what_was_asked_and_no_other_does_better(rows, target):
    labels, scores = [row[0] for row in rows], [row[1] for row in rows]
    false, true = labels.count(0), labels.count(1)
    cuts = [*scores, *(score + 1e-9 for score in scores)]
    fine = [cut for cut in cuts if errors(rows, cut)[1] <= target * true + 1e-9]
    found = choose_threshold(labels, scores, false_block=target)
    wrong, blocked = errors(rows, found.value)
    assert blocked <= target * true + 1e-9
    assert wrong == min(errors(rows, cut)[0] for cut in fine if cut <= max(scores))
    assert (found.false_release.errors, found.false_release.total) == (wrong, false)
    assert (found.false_block.errors, found.false_block.total) == (blocked, true)

    fine = [cut for cut in cuts if errors(rows, cut)[0] <= target * false + 1e-9 and cut <= max(scores)]
    if not fine:
        with pytest.raises(InputError, match="Allow more, or label more"):
            choose_threshold(labels, scores, false_release=target)
        return
    found = choose_threshold(labels, scores, false_release=target)
    assert errors(rows, found.value)[0] <= target * false + 1e-9
    assert found.false_block.errors == min(errors(rows, cut)[1] for cut in fine)


@given(st.integers(1, 400), st.floats(0.01, 0.49), st.floats(0.6, 0.99))
def test_a_guarantee_allows_errors_up_to_the_clopper_pearson_bound(total, target, guarantee):
    bounds = [beta.ppf(guarantee, errors + 1, total - errors) for errors in range(total)]
    within = [errors for errors, bound in enumerate(bounds) if bound <= target + 1e-9]
    needed = labels_needed(target, guarantee)
    assert (not within) == (total < needed)
    if within:
        assert allowed_errors(total, target, guarantee) == max(within) <= allowed_errors(total, target)
        return
    with pytest.raises(InputError, match=f"{total} labelled .* at least {needed} are needed"):
        allowed_errors(total, target, guarantee)


def test_the_number_of_labels_that_a_refusal_names_is_enough():
    wrong = labels_needed(0.05, 0.95)
    assert wrong == 59
    labels, scores = [0] * wrong + [1] * 3, [0.1] * wrong + [0.9] * 3
    assert choose_threshold(labels, scores, false_release=0.05, guarantee=0.95).value == pytest.approx(0.5)
    with pytest.raises(InputError, match="at least 59 are needed"):
        choose_threshold(labels[1:], scores[1:], false_release=0.05, guarantee=0.95)


@pytest.mark.parametrize(("target", "guarantee"), [(0.0, 0.9), (0.1, 0.0), (0.1, 1.0), (1.0, 0.9)])
def test_nothing_is_guaranteed_surely_or_never(target, guarantee):
    with pytest.raises(InputError, match="between 0 and 1"):
        choose_threshold([0, 1], [0.1, 0.9], false_release=target, guarantee=guarantee)


@pytest.mark.parametrize("side", ["false_release", "false_block"])
@pytest.mark.parametrize("method", [None, "isotonic", "platt"])
def test_a_guarantee_counts_the_errors_of_the_threshold_itself(side, method):
    labels, scores = drawn()
    known = (labels == 0).sum() if side == "false_release" else (labels == 1).sum()
    asked: Any = {side: 0.1, "method": method}
    plain: Any = choose_threshold(labels, scores, **asked)
    sure: Any = choose_threshold(labels, scores, guarantee=0.95, **asked)
    assert getattr(sure, side).errors <= allowed_errors(int(known), 0.1, 0.95)
    assert getattr(sure, side).errors <= getattr(plain, side).errors
    assert method or getattr(sure, side).errors < getattr(plain, side).errors  # a map's steps may leave both the same
    assert (sure.guarantee, plain.guarantee) == (0.95, None)


def test_the_promise_is_kept_where_the_true_rate_is_known():
    """Scores of wrong claims are uniform, so that the true rate of false releases at t is 1 - t."""
    draw = np.random.default_rng(0)
    kept = {None: 0, 0.9: 0}
    for _ in range(100):
        wrong, right = draw.random(80), 0.5 + 0.5 * draw.random(80)
        labels, scores = [0] * 80 + [1] * 80, [*wrong, *right]
        for guarantee in kept:
            kept[guarantee] += 1 - choose_threshold(labels, scores, false_release=0.1, guarantee=guarantee).value <= 0.1
    assert kept[0.9] / 100 >= 0.9
    assert kept[None] / 100 < 0.7


def test_intervals_hold_the_rate_and_are_exact_at_the_ends():
    none, some = rate(0, 20), rate(3, 20)
    assert none.low == 0
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert some.low < some.value == 0.15 < some.high
    assert rate(30, 200).high < some.high


def test_held_out_rates_need_five_of_each_class():
    labels, scores = drawn()
    held_out: Any = choose_threshold(labels, scores, false_release=0.1).held_out_false_release
    assert held_out.total == (labels == 0).sum()
    assert choose_threshold([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], false_block=0).held_out_false_block is None


@pytest.mark.parametrize("targets", [{}, {"false_release": 0.1, "false_block": 0.1}, {"false_block": 1.5}])
def test_one_target_and_both_classes_are_asked_for(targets):
    with pytest.raises(InputError, match="one of false_release and false_block"):
        choose_threshold([0, 1], [0.1, 0.9], **targets)
    with pytest.raises(InputError, match="both classes"):
        choose_threshold([1, 1], [0.1, 0.9], false_block=0.1)


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_a_map_rises_calibrates_and_survives_its_file(tmp_path, method):
    labels, scores = drawn()
    fitted = fit_calibration(labels, scores, method, scorer="some scorer")
    grid = [fitted(value) for value in np.linspace(0, 1, 201)]
    assert all(0 <= a <= b <= 1 for a, b in itertools.pairwise(grid))
    fresh_labels, fresh_scores = drawn(seed=1)
    mapped = [fitted(score) for score in fresh_scores]
    assert ece(fresh_labels, mapped) < ece(fresh_labels, fresh_scores) / 2
    fitted.save(tmp_path / "map.json")
    assert Policy(threshold=0.5, calibration=Calibration.load(tmp_path / "map.json")).calibration == fitted
    assert math.isnan(fitted(math.nan))


def test_the_isotonic_map_is_the_monotone_least_squares_fit():
    from sklearn.isotonic import IsotonicRegression

    labels, scores = drawn(200)
    fitted = fit_calibration(labels, scores, "isotonic")
    reference = IsotonicRegression().fit(scores, labels)
    grid = np.linspace(scores.min(), scores.max(), 300)
    assert [fitted(value) for value in grid] == pytest.approx(reference.predict(grid).tolist())


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_scores_that_point_the_wrong_way_have_no_map(method):
    with pytest.raises(InputError, match="do not go with more support"):
        fit_calibration([1, 1, 1, 0, 0, 0], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], method)


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "not json",
        "[]",
        json.dumps({"method": "magic", "x": [1], "y": [1], "scorer": "a"}),
        json.dumps({"method": "isotonic", "x": [0.5, 0.1], "y": [0, 1], "scorer": "a"}),
        json.dumps({"method": "isotonic", "x": [0.1, 0.5], "y": [0, 2], "scorer": "a"}),
        json.dumps({"method": "isotonic", "x": [], "y": [], "scorer": "a"}),
        json.dumps({"method": "platt", "x": [-1], "y": [0], "scorer": "a"}),
        '{"method": "platt", "x": [NaN], "y": [0], "scorer": "a"}',
    ],
)
def test_a_file_that_is_no_calibration_is_refused(tmp_path, content):
    path = tmp_path / "map.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"map\.json"):
        Calibration.load(path)
    with pytest.raises(InputError, match="cannot be read"):
        Calibration.load(tmp_path / "nowhere.json")


def test_a_map_that_does_not_say_what_it_was_fitted_on_is_neither_saved_nor_read(tmp_path):
    path = tmp_path / "map.json"
    with pytest.raises(InputError, match="scorer="):
        Calibration("platt", (1.0,), (0.0,)).save(path)
    assert not path.exists()
    Calibration("platt", (1.0,), (0.0,), scorer="some scorer").save(path)
    facts = json.loads(path.read_text())
    for without in ({**facts, "scorer": ""}, {name: facts[name] for name in facts if name != "scorer"}):
        path.write_text(json.dumps(without))
        with pytest.raises(InputError, match="scorer"):
            Calibration.load(path)


def test_a_map_fits_no_held_out_noise():
    shares = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        labels, scores = np.arange(60) % 2, random.random(60)
        try:
            found = choose_threshold(labels, scores, false_release=0.2, method="isotonic", seed=seed)
        except InputError:  # noise that runs against the labels has no map
            continue
        if found.held_out_false_release:
            shares.append(found.held_out_false_release.value)
    assert len(shares) >= 3
    assert np.mean(shares) > 0.1  # a map that had seen the fold would keep it under 0.07
