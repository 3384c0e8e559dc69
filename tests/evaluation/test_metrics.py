import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from groundrail.errors import InputError
from groundrail.evaluation import evidence, metrics
from groundrail.evaluation.comparison import paired_bootstrap, paired_t_test
from groundrail.evaluation.systems import by_system
from groundrail.types import Span

ROWS = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 20).map(lambda n: n / 20)), min_size=4).filter(
    lambda rows: {1.0} < {row[0] for row in rows} and len({row[1] for row in rows}) > 1
)


def columns(rows: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [row[0] for row in rows], [row[1] for row in rows]


@given(ROWS)
def test_auc_is_the_share_of_pairs_in_the_right_order(rows):
    true = [score for label, score in rows if label == 1]
    false = [score for label, score in rows if label < 1]
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in itertools.product(true, false)]
    assert metrics.roc_auc(*columns(rows)) == pytest.approx(sum(pairs) / len(pairs))


def best_of(measure, rows):
    """The best value of a measure over thresholds below, at and above every score."""
    return max(measure(cut) for cut in (0.0, *(row[1] for row in rows), 2.0))


def slow_macro_f1(rows, threshold):
    total = 0.0
    for positive in (True, False):
        tp = sum((s >= threshold) == positive and (y == 1) == positive for y, s in rows)
        errors = sum((s >= threshold) != (y == 1) for y, s in rows)
        total += 2 * tp / (2 * tp + errors) if tp else 0.0
    return total / 2


@pytest.mark.slow
@given(ROWS)
def test_a_chosen_threshold_has_the_best_measure_of_all(rows):
    best, threshold = metrics.best_macro_f1(*columns(rows))
    assert best == pytest.approx(best_of(lambda cut: slow_macro_f1(rows, cut), rows))
    assert metrics.macro_f1(*columns(rows), threshold) == pytest.approx(best)
    best, threshold = metrics.best_balanced_accuracy(*columns(rows))
    assert best == pytest.approx(best_of(lambda cut: metrics.balanced_accuracy(*columns(rows), cut), rows))
    assert metrics.balanced_accuracy(*columns(rows), threshold) == pytest.approx(best)


@given(ROWS, st.integers(0, 21).map(lambda n: n / 20))
def test_macro_f1_and_balanced_accuracy_at_a_threshold(rows, threshold):
    assert metrics.macro_f1(*columns(rows), threshold) == pytest.approx(slow_macro_f1(rows, threshold))
    shares = []
    for positive in (True, False):
        decided = [(s >= threshold) == positive for y, s in rows if (y == 1) == positive]
        shares.append(sum(decided) / len(decided))
    assert metrics.balanced_accuracy(*columns(rows), threshold) == pytest.approx(np.mean(shares))


@given(ROWS, st.integers(1, 12))
def test_calibration_error_is_the_mean_gap_over_bins_and_bins_hold_everything(rows, bins):
    table = metrics.reliability(*columns(rows), bins)
    assert sum(found.count for found in table) == len(rows)
    gap = 0.0
    for found in table:
        last = found.high == 1
        inside = [(y, s) for y, s in rows if found.low <= s < found.high or (last and s == 1)]
        assert found.count == len(inside)
        if inside:
            gap += abs(sum(s for _, s in inside) - sum(y == 1 for y, _ in inside))
    assert metrics.ece(*columns(rows), bins) == pytest.approx(gap / len(rows))


@given(ROWS)
def test_correlations_have_a_sign_and_do_not_mind_scale(rows):
    y, s = columns(rows)
    for measure in (metrics.pearson, metrics.spearman, metrics.kendall):
        assert measure(y, s) == pytest.approx(-measure(y, [1 - score for score in s]))
        assert measure(y, y) == pytest.approx(1)


def test_best_of_three():
    labels = [1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0]
    scores = [0.9, 0.1, 0.2, 0.9, 0.8, 0.1, 0.5, 0.5, 0.1, 0.9, 0.9, 0.1]
    groups = [*"aaabbbcccddd"]
    assert metrics.best_of_group(labels, scores, groups) == pytest.approx(1 / 3)  # a tie is a miss
    assert metrics.best_of_group(labels, scores, groups, margin=0.6) == pytest.approx(1 / 3)
    assert metrics.best_of_group(labels, scores, groups, margin=0.75) == 0
    with pytest.raises(InputError, match="exactly one is supported"):
        metrics.best_of_group(labels, scores, [None] * 12)


def test_average_precision_is_the_mean_precision_at_each_supported_claim():
    labels, scores = [1, 0, 1, 0, 1, 0.5], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    assert metrics.average_precision(labels, scores) == pytest.approx((1 / 1 + 2 / 3 + 3 / 5) / 3)


def test_a_paired_bootstrap_tells_a_better_scorer_from_an_equal_one():
    draw = np.random.default_rng(1)
    y = draw.integers(0, 2, 150)
    good, poor = y + draw.normal(0, 0.7, 150), draw.normal(0, 1, 150)
    better = paired_bootstrap(metrics.roc_auc, y, good, poor, resamples=100)
    assert better.value == pytest.approx(metrics.roc_auc(y, good) - metrics.roc_auc(y, poor))
    assert 0 < better.low < better.value < better.high
    assert better.p == pytest.approx(2 / 100)
    worse = paired_bootstrap(metrics.roc_auc, y, poor, good, resamples=100)
    assert (worse.value, worse.low, worse.high, worse.p) == pytest.approx(
        (-better.value, -better.high, -better.low, better.p)
    )
    same = paired_bootstrap(metrics.roc_auc, y, good, good, resamples=20)
    assert (same.value, same.low, same.high, same.p) == (0, 0, 0, 1)


def test_pairing_is_what_makes_the_interval_narrow():
    draw = np.random.default_rng(2)
    y = draw.integers(0, 2, 150)
    first = y + draw.normal(0, 1, 150)
    second = first + draw.normal(0, 0.05, 150)
    found = paired_bootstrap(metrics.roc_auc, y, first, second, resamples=100)
    alone = metrics.bootstrap(metrics.roc_auc, y, first, resamples=100)
    assert found.high - found.low < (alone.high - alone.low) / 3


def test_systems_are_compared_by_their_means():
    labels = [1, 1, 1, 0, 0, 0, 1]
    scores = [0.9, 0.7, 0.6, 0.4, 0.2, 0.3, 0.1]
    found = by_system(labels, scores, ["a", "a", "b", "b", "c", "c", None])
    assert [(s.name, s.claims, s.label) for s in found.systems] == [("a", 2, 1.0), ("b", 2, 0.5), ("c", 2, 0.0)]
    assert [s.score for s in found.systems] == pytest.approx([0.8, 0.5, 0.25])
    assert found.spearman == pytest.approx(1)
    assert found.pearson == pytest.approx(metrics.pearson([1, 0.5, 0], [0.8, 0.5, 0.25]))
    with pytest.raises(InputError, match="at least three, not 2"):
        by_system(labels[:4], scores[:4], ["a", "a", "b", "b"])


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("measure", [metrics.roc_auc, metrics.best_macro_f1, metrics.best_balanced_accuracy])
def test_one_class_has_no_auc_and_the_message_says_why(measure, label):
    with pytest.raises(InputError, match="needs both classes, but all 3 labels are"):
        measure([label] * 3, [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("measure", "labels", "scores", "message"),
    [
        (metrics.roc_auc, [1], [1, 2], "two lists of one length"),
        (metrics.roc_auc, [], [], "nothing to measure"),
        (metrics.roc_auc, [1, 0], [math.nan, 1], "without a label or score"),
        (metrics.roc_auc, [math.nan, 0], [0, 1], "without a label or score"),
        (metrics.pearson, [0, 1], [0.5, 0.5], r"every score is 0\.5"),
        (metrics.ece, [0, 1], [-1, 2], "probabilities"),
    ],
)
def test_bad_columns_are_refused(measure, labels, scores, message):
    with pytest.raises(InputError, match=message):
        measure(labels, scores)


def test_the_bootstrap_interval_holds_the_value_shrinks_with_data_and_repeats():
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, 400)
    s = np.clip(draw.normal(0.4 + 0.2 * y, 0.2), 0, 1)
    small = metrics.bootstrap(metrics.roc_auc, y[:60], s[:60], resamples=100, seed=3)
    large = metrics.bootstrap(metrics.roc_auc, y, s, resamples=100, seed=3)
    assert small.low < small.value < small.high
    assert large.high - large.low < small.high - small.low
    assert small == metrics.bootstrap(metrics.roc_auc, y[:60], s[:60], resamples=100, seed=3)


def spans(*pairs, id="source"):
    return tuple(Span(document_id=id, start=start, end=end) for start, end in pairs)


def test_citations_against_evidence():
    marked = [spans((0, 10), (20, 30)), spans((40, 50))]
    assert evidence.hit(spans((45, 60)), marked)
    assert not evidence.hit(spans((10, 20)), marked)
    assert not evidence.hit(spans((10, 20), (45, 60)), marked)
    assert not evidence.hit(spans((45, 60), id="other"), marked)
    assert evidence.recall(spans((0, 10)), marked) == 0.5
    assert evidence.recall(spans((0, 10), (5, 30)), marked) == 1.0
    assert evidence.recall((), marked) == 0.0
    assert evidence.precision(spans((0, 20)), marked) == 0.5
    assert evidence.precision((), marked) == 0.0


def test_the_interval_of_a_calibration_error_holds_it():
    for seed in range(3):
        random = np.random.default_rng(seed)
        scores = random.random(500)
        labels = random.random(500) < scores  # calibrated: resampling alone raises the error
        found = metrics.bootstrap(lambda a, b: metrics.ece(a, b, 10), labels, scores, resamples=100, biased=True)
        assert 0 <= found.low <= found.value <= found.high
        plain = metrics.bootstrap(lambda a, b: metrics.ece(a, b, 10), labels, scores, resamples=100)
        assert found.low < plain.low


def authors_calibration_error(scores, labels, bins=15):
    """SCALE's table 4 in plain loops: scores stretched from 0 to 1, bins closed on the left, the highest one to the end."""
    low, high = min(scores), max(scores)
    stretched = [(score - low) / (high - low) for score in scores]
    total = 0.0
    for place in range(bins):
        inside = [min(int(np.digitize(s, np.linspace(0, 1, bins + 1))) - 1, bins - 1) == place for s in stretched]
        total += abs(np.dot(inside, stretched) - np.dot(inside, labels))
    return total / len(scores)


@given(
    st.lists(st.tuples(st.floats(0.3, 0.6), st.sampled_from([0.0, 1.0])), min_size=5).filter(
        lambda rows: max(row[0] for row in rows) - min(row[0] for row in rows) > 0.01
    )
)
def test_ece_in_15_bins_of_stretched_scores_is_table_4s(rows):
    scores, labels = [row[0] for row in rows], [row[1] for row in rows]
    found = metrics.ece(labels, metrics.min_max(scores), 15)
    assert found == pytest.approx(authors_calibration_error(scores, labels))


def test_stretching_needs_two_scores():
    assert metrics.min_max([2.0, 3.0, 4.0]).tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(InputError, match="two of them differ"):
        metrics.min_max([0.5, 0.5])


def test_the_paired_t_test_is_that_of_the_textbook():
    """It is the mean difference of the same draws over its standard error, with 99 degrees of freedom."""
    draw = np.random.default_rng(3)
    labels = draw.integers(0, 2, 60)
    scores, others = labels + draw.normal(size=60), labels + draw.normal(size=60) * 1.3
    found = paired_t_test(metrics.roc_auc, labels, scores, others, seed=5)
    again = np.random.default_rng(5)
    apart = []
    for _ in range(100):
        index = again.permutation(60)[:42]
        apart.append(metrics.roc_auc(labels[index], scores[index]) - metrics.roc_auc(labels[index], others[index]))
    t = np.mean(apart) / (np.std(apart, ddof=1) / math.sqrt(100))
    assert found.value == pytest.approx(np.mean(apart))
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(t), 99))
    assert found.low <= found.value <= found.high


def test_the_t_test_of_a_scorer_against_itself_and_of_too_little():
    labels, scores = [0, 1] * 10, list(range(20))
    assert paired_t_test(metrics.roc_auc, labels, scores, scores).p == 1.0
    with pytest.raises(InputError, match="both classes"):
        paired_t_test(metrics.roc_auc, [1, 1, 1], [1, 2, 3], [1, 2, 3])
