"""Compare two scorers on the same claims: the difference of a measure, and its significance.

The measures are in `groundrail.evaluation.metrics`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from groundrail.errors import InputError
from groundrail.evaluation.metrics import Floats, checked, library, percentiles, resampled


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two measures with its interval, `low` to `high`, and its two-sided p-value `p`.

    For a bootstrap, `p` is twice the share of resamples in which the difference has the other sign or is 0. At least
    one resample is counted, and `p` is at most 1.
    """

    value: float
    low: float
    high: float
    p: float


def paired_bootstrap(
    measure: Callable[[Floats, Floats], float],
    labels: ArrayLike,
    scores: ArrayLike,
    others: ArrayLike,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Difference:
    """`measure` of `scores` minus `measure` of `others`, both on the same claims, resampled within each class.

    InFusE's footnote 4 describes another test: `paired_t_test`.

    Raises: InputError for less than one resample.
    """
    y, s = checked(labels, scores)
    _, o = checked(labels, others)
    if resamples < 1:
        raise InputError(f"a bootstrap takes at least one resample, not {resamples}")
    drawn = np.array([measure(y[i], s[i]) - measure(y[i], o[i]) for i in resampled(y, resamples, seed)])
    value = measure(y, s) - measure(y, o)
    low, high = percentiles(drawn)
    crossed = max(1, int(min((drawn <= 0).sum(), (drawn >= 0).sum())))
    return Difference(value, min(low, value), max(high, value), min(1.0, 2 * crossed / resamples))


def paired_t_test(
    measure: Callable[[Floats, Floats], float],
    labels: ArrayLike,
    scores: ArrayLike,
    others: ArrayLike,
    *,
    seed: int = 0,
) -> Difference:
    """InFusE's test (section 5.1, footnote 4): a paired t-test of `measure` over 100 draws of 70 % of the claims.

    The draws overlap, so that `p` falls with the number of draws; `paired_bootstrap` gives a more reliable `p`. A draw
    without both classes is repeated.

    Raises: InputError for less than two claims a draw, or for one class only.
    """
    y, s = checked(labels, scores)
    _, o = checked(labels, others)
    size = round(0.7 * y.size)
    if size < 2 or (y >= 1).all() or not (y >= 1).any():
        raise InputError(f"the t-test needs both classes and two claims a draw; {y.size} claims do not give them")
    random = np.random.default_rng(seed)
    found: list[tuple[float, float]] = []
    while len(found) < 100:
        index = random.permutation(y.size)[:size]
        if np.unique(y[index] >= 1).size == 2:
            found.append((measure(y[index], s[index]), measure(y[index], o[index])))
    ours, theirs = np.array(found).T
    apart = ours - theirs
    low, high = percentiles(apart)
    if np.allclose(apart, apart[0]):
        p = 1.0 if np.isclose(apart[0], 0) else 0.0
    else:
        p = float(library("scipy.stats").ttest_rel(ours, theirs).pvalue)
    return Difference(float(apart.mean()), low, high, p)
