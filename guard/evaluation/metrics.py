"""The papers' measures of scores against labels, with bootstrap intervals.

Ranking, classification and calibration come from scikit-learn and SciPy (extra `eval`, imported when first
needed). Measures of citations are in `groundrail.evaluation.evidence`; nothing is scored or printed here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groundrail.errors import InputError, MissingExtraError

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Interval:
    """A measure with the range it may as well have: `low` to `high` at the confidence that was asked for."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bin:
    """Scores from `low` to `high` (the last bin holds 1 itself): how many, their mean, the share supported.

    `score` and `supported` are NaN where `count` is 0.
    """

    low: float
    high: float
    count: int
    score: float
    supported: float


def sklearn_metrics() -> ModuleType:
    """scikit-learn's metrics. Raises: MissingExtraError."""
    try:
        import sklearn.metrics
    except ImportError as error:
        raise MissingExtraError("groundrail.evaluation", "eval") from error
    return sklearn.metrics  # type: ignore[no-any-return]


def scipy_stats() -> ModuleType:
    """SciPy's statistics. Raises: MissingExtraError."""
    try:
        import scipy.stats
    except ImportError as error:
        raise MissingExtraError("groundrail.evaluation", "eval") from error
    return scipy.stats  # type: ignore[no-any-return]


def checked(labels: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats]:
    """Labels and scores as vectors of one length without NaN. Raises: InputError."""
    y, s = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if y.ndim != 1 or y.shape != s.shape:
        raise InputError(f"labels and scores are two lists of one length, not {y.shape} and {s.shape}")
    if not y.size:
        raise InputError("there is nothing to measure: no claim has both a label and a score")
    if np.isnan(y).any() or np.isnan(s).any():
        raise InputError("leave out claims without a label or score before measuring")
    return y, s


def two_classes(labels: ArrayLike, scores: ArrayLike, measure: str) -> tuple[Bools, Floats]:
    """Which claims are fully supported (label 1), and their scores.

    Raises: InputError unless both classes occur.
    """
    y, s = checked(labels, scores)
    supported = y >= 1
    if supported.all() or not supported.any():
        which = "supported" if supported.all() else "unsupported"
        raise InputError(f"{measure} needs both classes, but all {y.size} labels are {which}")
    return supported, s


def roc_auc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve, a claim counting as supported where its label is 1.

    Raises: InputError where only one class occurs.
    """
    supported, s = two_classes(labels, scores, "ROC-AUC")
    return float(sklearn_metrics().roc_auc_score(supported, s))


def _varied(labels: ArrayLike, scores: ArrayLike, measure: str) -> tuple[Floats, Floats]:
    y, s = checked(labels, scores)
    for name, values in (("label", y), ("score", s)):
        if np.all(values == values[0]):
            raise InputError(f"{measure} needs claims that differ, but every {name} is {values[0]:g}")
    return y, s


def pearson(labels: ArrayLike, scores: ArrayLike) -> float:
    """Pearson's r with the graded labels. Raises: InputError where labels or scores are all the same."""
    y, s = _varied(labels, scores, "Pearson's r")
    return float(scipy_stats().pearsonr(y, s).statistic)


def kendall(labels: ArrayLike, scores: ArrayLike) -> float:
    """Kendall's tau-b with the graded labels. Raises: InputError where either is constant."""
    y, s = _varied(labels, scores, "Kendall's tau")
    return float(scipy_stats().kendalltau(y, s).statistic)


def spearman(labels: ArrayLike, scores: ArrayLike) -> float:
    """Spearman's rho with the graded labels. Raises: InputError where either is constant."""
    y, s = _varied(labels, scores, "Spearman's rho")
    return float(scipy_stats().spearmanr(y, s).statistic)


def without_group_means(values: ArrayLike, groups: Sequence[str | None]) -> Floats:
    """Values less the mean of their group, which correlations take to hold the group fixed (FRANK's partial correlation).

    Raises: InputError unless there is one group a value.
    """
    v = np.asarray(values, dtype=np.float64)
    if len(groups) != v.size:
        raise InputError(f"expected one group a value, {v.size} in all, not {len(groups)}")
    names = np.array([group or "" for group in groups])
    for name in set(names.tolist()):
        v = np.where(names == name, v - v[names == name].mean(), v)
    return v


def average_precision(labels: ArrayLike, scores: ArrayLike) -> float:
    """The area under the precision-recall curve, as steps, a claim counting as supported where its label is 1.

    Raises: InputError where only one class occurs.
    """
    supported, s = two_classes(labels, scores, "Average precision")
    return float(sklearn_metrics().average_precision_score(supported, s))


def macro_f1(labels: ArrayLike, scores: ArrayLike, threshold: float) -> float:
    """Mean of the F1 of released (score at or above `threshold`) and of blocked claims.

    Raises: InputError for labels and scores that do not fit; MissingExtraError without scikit-learn.
    """
    y, s = checked(labels, scores)
    return float(sklearn_metrics().f1_score(y >= 1, s >= threshold, labels=[0, 1], average="macro", zero_division=0))


def best_macro_f1(labels: ArrayLike, scores: ArrayLike) -> tuple[float, float]:
    """The best macro F1 over all thresholds, and the lowest threshold that reaches it.

    Chosen on the very claims it is measured on, as the papers do: an upper bound, not a promise.
    Raises: InputError where only one class occurs.
    """
    supported, s = two_classes(labels, scores, "The best macro F1")
    false_rate, true_rate, thresholds = sklearn_metrics().roc_curve(supported, s, drop_intermediate=False)
    positives, negatives = int(supported.sum()), int((~supported).sum())
    released, blocked = true_rate * positives, (1 - false_rate) * negatives
    wrong = false_rate * negatives + (1 - true_rate) * positives
    f1 = (2 * released / (2 * released + wrong) + 2 * blocked / (2 * blocked + wrong)) / 2
    best = int(np.flatnonzero(np.isclose(f1, f1.max(), rtol=0, atol=1e-12))[-1])
    return float(f1[best]), float(thresholds[best])


def balanced_accuracy(labels: ArrayLike, scores: ArrayLike, threshold: float) -> float:
    """Mean of the shares of supported claims released and of unsupported claims blocked.

    Raises: InputError where only one class occurs.
    """
    supported, s = two_classes(labels, scores, "Balanced accuracy")
    return float(sklearn_metrics().balanced_accuracy_score(supported, s >= threshold))


def best_balanced_accuracy(labels: ArrayLike, scores: ArrayLike) -> tuple[float, float]:
    """The best balanced accuracy over all thresholds, and the lowest threshold that reaches it.

    SummaC's protocol: the threshold is taken on validation claims, and `balanced_accuracy` of the test claims reported
    at it. Raises: InputError where only one class occurs.
    """
    supported, s = two_classes(labels, scores, "The best balanced accuracy")
    false_rate, true_rate, thresholds = sklearn_metrics().roc_curve(supported, s, drop_intermediate=False)
    accuracy = (true_rate + 1 - false_rate) / 2
    best = int(np.flatnonzero(np.isclose(accuracy, accuracy.max(), rtol=0, atol=1e-12))[-1])
    return float(accuracy[best]), float(thresholds[best])


def reliability(labels: ArrayLike, scores: ArrayLike, bins: int = 10) -> list[Bin]:
    """Scores in `bins` bins of equal width between 0 and 1, with the share of supported claims in each.

    Raises: InputError for scores outside [0, 1].
    """
    y, s = checked(labels, scores)
    if bins < 1:
        raise InputError(f"calibration needs at least one bin, not {bins}")
    if s.min() < 0 or s.max() > 1:
        raise InputError(f"calibration is of probabilities, but scores go from {s.min():g} to {s.max():g}")
    edges = np.linspace(0, 1, bins + 1)
    places = np.clip(np.digitize(s, edges) - 1, 0, bins - 1)
    table = []
    for number in range(bins):
        inside = places == number
        count = int(inside.sum())
        score = float(s[inside].mean()) if count else float("nan")
        supported = float((y[inside] >= 1).mean()) if count else float("nan")
        table.append(Bin(float(edges[number]), float(edges[number + 1]), count, score, supported))
    return table


def ece(labels: ArrayLike, scores: ArrayLike, bins: int = 10) -> float:
    """Expected calibration error: the gap between mean score and share supported, averaged over claims.

    SCALE's equation 1 prints the share of right predictions where this has the share supported. Beside equation 2's
    mean score that would make a claim scored 0.1 and rightly blocked an error of 0.9, so this follows the paper's text
    ("a score of 0.2 ... a 20 % probability of being 1") and the share of positives of its figure 3, and the authors'
    program. Table 4 is that of `min_max` scores in 15 bins.

    Raises: InputError for labels and scores that do not fit, for scores outside [0, 1], or for no bin.
    """
    table = [found for found in reliability(labels, scores, bins) if found.count]
    total = sum(found.count for found in table)
    return sum(found.count * abs(found.score - found.supported) for found in table) / total


def min_max(scores: ArrayLike) -> Floats:
    """Scores moved and stretched to go from 0 to 1, as SCALE's authors do before they measure table 4's ECE.

    Raises: InputError where all scores are the same.
    """
    s = np.asarray(scores, dtype=np.float64)
    if not s.size or s.min() == s.max():
        raise InputError("scores can be stretched to go from 0 to 1 only where two of them differ")
    stretched: Floats = (s - s.min()) / (s.max() - s.min())
    return stretched


def best_of_group(labels: ArrayLike, scores: ArrayLike, groups: Sequence[str | None], margin: float = 0.0) -> float:
    """Share of groups whose true claim scores higher than every other by more than `margin`.

    Strict, so that a tie is a miss. Evidence Inference's best of three; West et al.'s acc (equation 2), and with a
    margin in nats their margin-acc, where scores are log-probabilities. Groups without exactly one supported claim are
    left out. Raises: InputError where no group is left.
    """
    y, s = checked(labels, scores)
    if len(groups) != y.size:
        raise InputError(f"expected one group a claim, {y.size} in all, not {len(groups)}")
    names = np.array([group or "" for group in groups])
    hits = []
    for name in sorted(set(names) - {""}):
        inside = names == name
        supported = y[inside] >= 1
        if supported.sum() == 1 and supported.size > 1:
            hits.append(s[inside][supported][0] > s[inside][~supported].max() + margin)
    if not hits:
        raise InputError("best-of-group accuracy needs groups of claims of which exactly one is supported")
    return float(np.mean(hits))


def bootstrap(
    measure: Callable[[Floats, Floats], float],
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    biased: bool = False,
) -> Interval:
    """`measure` with its bootstrap interval, resampling claims within each class.

    The interval is that of percentiles; with `biased`, for a measure that resampling itself raises, such as the
    calibration error, it is mirrored at the value ("basic") and cut off at 0. Claims are taken as independent: where
    many share a source, the true interval is wider.

    Raises: InputError for labels and scores that do not fit; MissingExtraError without scikit-learn; what `measure`
    raises.
    """
    y, s = checked(labels, scores)
    value = measure(y, s)
    try:
        from sklearn.utils import resample
    except ImportError as error:
        raise MissingExtraError("groundrail.evaluation", "eval") from error
    random = np.random.RandomState(seed)
    chosen = np.arange(y.size)
    drawn = []
    for _ in range(resamples):
        index = resample(chosen, stratify=y >= 1, random_state=random)
        drawn.append(measure(y[index], s[index]))
    tail = (1 - confidence) / 2
    low, high = map(float, np.quantile(drawn, [tail, 1 - tail]))
    if biased:
        low, high = max(0.0, 2 * value - high), max(0.0, 2 * value - low)
    return Interval(value, min(low, value), max(high, value))
