"""The papers' measures of scores against labels, with bootstrap intervals.

Every measure raises InputError for labels and scores of different lengths, and if there is only one class or value
where it needs two. scikit-learn and SciPy are imported at their first use; MissingExtraError names the extra `eval`.
Measures of citations are in `groundrail.evaluation.evidence`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groundrail.errors import InputError, MissingExtraError

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Interval:
    """A measure with its confidence interval, `low` to `high`."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bin:
    """The scores from `low` to `high`: their count, their mean, and the share of supported claims.

    `high` is exclusive, but for the last bin, which contains 1. `score` and `supported` are NaN if `count` is 0.
    """

    low: float
    high: float
    count: int
    score: float
    supported: float


def library(name: str) -> ModuleType:
    """Import a module of scikit-learn, SciPy or matplotlib. Raises: MissingExtraError."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError("groundrail.evaluation", "eval") from error


def checked(labels: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats]:
    """Convert labels and scores to vectors of one length without NaN. Raises: InputError."""
    y, s = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if y.ndim != 1 or y.shape != s.shape:
        raise InputError(f"labels and scores are two lists of one length, not {y.shape} and {s.shape}")
    if not y.size:
        raise InputError("there is nothing to measure: no claim has both a label and a score")
    if np.isnan(y).any() or np.isnan(s).any():
        raise InputError("leave out claims without a label or score before measuring")
    return y, s


def two_classes(labels: ArrayLike, scores: ArrayLike, measure: str) -> tuple[Bools, Floats]:
    """For each claim whether it is fully supported (label 1), and its score.

    Raises: InputError unless both classes occur.
    """
    y, s = checked(labels, scores)
    supported = y >= 1
    if supported.all() or not supported.any():
        which = "supported" if supported.all() else "unsupported"
        raise InputError(f"{measure} needs both classes, but all {y.size} labels are {which}")
    return supported, s


def roc_auc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve; a claim counts as supported if its label is 1.

    roc_auc([1, 0, 1], [0.9, 0.2, 0.8])  # 1.0
    """
    supported, s = two_classes(labels, scores, "ROC-AUC")
    return float(library("sklearn.metrics").roc_auc_score(supported, s))


def _varied(labels: ArrayLike, scores: ArrayLike, measure: str) -> tuple[Floats, Floats]:
    y, s = checked(labels, scores)
    for name, values in (("label", y), ("score", s)):
        if np.all(values == values[0]):
            raise InputError(f"{measure} needs claims that differ, but every {name} is {values[0]:g}")
    return y, s


def pearson(labels: ArrayLike, scores: ArrayLike) -> float:
    """Pearson's r with the graded labels."""
    y, s = _varied(labels, scores, "Pearson's r")
    return float(library("scipy.stats").pearsonr(y, s).statistic)


def kendall(labels: ArrayLike, scores: ArrayLike) -> float:
    """Kendall's tau-b with the graded labels."""
    y, s = _varied(labels, scores, "Kendall's tau")
    return float(library("scipy.stats").kendalltau(y, s).statistic)


def spearman(labels: ArrayLike, scores: ArrayLike) -> float:
    """Spearman's rho with the graded labels."""
    y, s = _varied(labels, scores, "Spearman's rho")
    return float(library("scipy.stats").spearmanr(y, s).statistic)


def without_group_means(values: ArrayLike, groups: Sequence[str | None]) -> Floats:
    """Subtract from each value the mean of its group, for correlations with the group held fixed (FRANK).

    Raises: InputError unless there is a group for each value.
    """
    v = np.asarray(values, dtype=np.float64)
    if len(groups) != v.size:
        raise InputError(f"expected one group a value, {v.size} in all, not {len(groups)}")
    names = np.array([group or "" for group in groups])
    for name in set(names.tolist()):
        v = np.where(names == name, v - v[names == name].mean(), v)
    return v


def average_precision(labels: ArrayLike, scores: ArrayLike) -> float:
    """Area under the stepwise precision-recall curve; a claim counts as supported if its label is 1."""
    supported, s = two_classes(labels, scores, "Average precision")
    return float(library("sklearn.metrics").average_precision_score(supported, s))


def macro_f1(labels: ArrayLike, scores: ArrayLike, threshold: float) -> float:
    """Mean of the F1 of released claims (score of at least `threshold`) and the F1 of blocked claims."""
    y, s = checked(labels, scores)
    f1_score = library("sklearn.metrics").f1_score
    return float(f1_score(y >= 1, s >= threshold, labels=[0, 1], average="macro", zero_division=0))


def best_macro_f1(labels: ArrayLike, scores: ArrayLike) -> tuple[float, float]:
    """The best macro F1 over all thresholds, and the lowest threshold that reaches it.

    The threshold is chosen on the claims that it is measured on, as in the papers: the value is an upper bound.
    """

    def macro(released: Floats, blocked: Floats, wrong: Floats) -> Floats:
        both: Floats = (2 * released / (2 * released + wrong) + 2 * blocked / (2 * blocked + wrong)) / 2
        return both

    return _best(*two_classes(labels, scores, "The best macro F1"), macro)


def _best(supported: Bools, s: Floats, measure: Callable[[Floats, Floats, Floats], Floats]) -> tuple[float, float]:
    """The best value of a measure over all thresholds, and the lowest threshold that reaches it.

    The measure gets, for each threshold, the number of claims rightly released, rightly blocked, and wrongly decided.
    """
    false_rate, true_rate, thresholds = library("sklearn.metrics").roc_curve(supported, s, drop_intermediate=False)
    positives, negatives = int(supported.sum()), int((~supported).sum())
    wrong = false_rate * negatives + (1 - true_rate) * positives
    values = measure(true_rate * positives, (1 - false_rate) * negatives, wrong)
    best = int(np.flatnonzero(np.isclose(values, values.max(), rtol=0, atol=1e-12))[-1])
    return float(values[best]), float(thresholds[best])


def balanced_accuracy(labels: ArrayLike, scores: ArrayLike, threshold: float) -> float:
    """Mean of two shares: supported claims released, and unsupported claims blocked."""
    supported, s = two_classes(labels, scores, "Balanced accuracy")
    return float(library("sklearn.metrics").balanced_accuracy_score(supported, s >= threshold))


def best_balanced_accuracy(labels: ArrayLike, scores: ArrayLike) -> tuple[float, float]:
    """The best balanced accuracy over all thresholds, and the lowest threshold that reaches it.

    In SummaC's protocol the threshold is chosen on validation claims, and `balanced_accuracy` of the test claims is
    reported at this threshold.
    """
    supported, s = two_classes(labels, scores, "The best balanced accuracy")
    positives, negatives = int(supported.sum()), int((~supported).sum())
    return _best(supported, s, lambda released, blocked, _: (released / positives + blocked / negatives) / 2)


def reliability(labels: ArrayLike, scores: ArrayLike, bins: int = 10) -> list[Bin]:
    """Divide [0, 1] into `bins` bins of equal width, and compute the share of supported claims in each.

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
    """Expected calibration error: the difference of mean score and share supported in a bin, averaged over claims.

    SCALE's equation 1 prints the share of correct predictions instead of the share supported. With the mean score of
    equation 2, a claim with score 0.1 that is correctly blocked would then count as an error of 0.9. This function
    follows the paper's text ("a score of 0.2 ... a 20 % probability of being 1"), its figure 3 (share of positives) and
    the authors' program. Table 4 uses `min_max` scores and 15 bins.

    Raises: InputError for scores outside [0, 1], or for less than one bin.
    """
    table = [found for found in reliability(labels, scores, bins) if found.count]
    total = sum(found.count for found in table)
    return sum(found.count * abs(found.score - found.supported) for found in table) / total


def min_max(scores: ArrayLike) -> Floats:
    """Map scores linearly so that they range from 0 to 1, as SCALE's authors do for the ECE of table 4.

    Raises: InputError if all scores are equal.
    """
    s = np.asarray(scores, dtype=np.float64)
    if not s.size or s.min() == s.max():
        raise InputError("scores can be stretched to go from 0 to 1 only where two of them differ")
    stretched: Floats = (s - s.min()) / (s.max() - s.min())
    return stretched


def best_of_group(labels: ArrayLike, scores: ArrayLike, groups: Sequence[str | None], margin: float = 0.0) -> float:
    """Share of groups whose true claim scores higher than every other claim by more than `margin`.

    A tie is a miss. This is Evidence Inference's best of three and West et al.'s acc (equation 2); with scores in
    log-probabilities and a margin in nats it is their margin-acc. Groups without exactly one supported claim are left
    out.

    Raises: InputError if no group is left.
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
    resamples: int = 1000,
    seed: int = 0,
    biased: bool = False,
) -> Interval:
    """Compute `measure` with its bootstrap interval of 95 %; claims are resampled within each class.

    The interval is between percentiles. Claims are taken as independent: if many claims share a source, the true
    interval is wider.

    Args:
        biased: For a measure that resampling raises, such as the calibration error: mirror the interval at the value
            ("basic" bootstrap) and cut it off at 0.

    Raises: the errors of `measure`.
    """
    y, s = checked(labels, scores)
    value = measure(y, s)
    low, high = percentiles([measure(y[drawn], s[drawn]) for drawn in resampled(y, resamples, seed)])
    if biased:
        low, high = max(0.0, 2 * value - high), max(0.0, 2 * value - low)
    return Interval(value, min(low, value), max(high, value))


def resampled(labels: Floats, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Indices of claims, drawn with repetition within each class, `resamples` times."""
    resample, random = library("sklearn.utils").resample, np.random.RandomState(seed)
    for _ in range(resamples):
        yield resample(np.arange(labels.size), stratify=labels >= 1, random_state=random)


def percentiles(values: Sequence[float] | Floats) -> tuple[float, float]:
    """The percentiles between which 95 % of the values lie."""
    tail = (1 - 0.95) / 2
    low, high = map(float, np.quantile(values, [tail, 1 - tail]))
    return low, high
