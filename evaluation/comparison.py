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
    confidence: float = 0.95,
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
    low, high = percentiles(drawn, confidence)
    crossed = max(1, int(min((drawn <= 0).sum(), (drawn >= 0).sum())))
    return Difference(value, min(low, value), max(high, value), min(1.0, 2 * crossed / resamples))


def paired_t_test(
    measure: Callable[[Floats, Floats], float],
    labels: ArrayLike,
    scores: ArrayLike,
    others: ArrayLike,
    *,
    confidence: float = 0.95,
    draws: int = 100,
    share: float = 0.7,
    seed: int = 0,
) -> Difference:
    """InFusE's test (section 5.1, footnote 4): a paired t-test of `measure` over draws of 70 % of the claims.

    The draws overlap, so that `p` falls with the number of draws; `paired_bootstrap` gives a more reliable `p`. A draw
    without both classes is repeated.

    Raises: InputError for a share out of range, or for less than two draws.
    """
    y, s = checked(labels, scores)
    _, o = checked(labels, others)
    if draws < 2 or not 0 < share <= 1:
        raise InputError(f"the t-test takes two draws or more of a share up to 1, not {draws} of {share}")
    size = max(1, round(share * y.size))
    if size < 2 or (y >= 1).all() or not (y >= 1).any():
        raise InputError(f"the t-test needs both classes and two claims a draw; {y.size} claims do not give them")
    random = np.random.default_rng(seed)
    found = np.empty((draws, 2))
    for number in range(draws):
        while True:
            index = random.permutation(y.size)[:size]
            if len(set((y[index] >= 1).tolist())) == 2:
                break
        found[number] = measure(y[index], s[index]), measure(y[index], o[index])
    apart = found[:, 0] - found[:, 1]
    low, high = percentiles(apart, confidence)
    if np.allclose(apart, apart[0]):
        p = 1.0 if np.isclose(apart[0], 0) else 0.0
    else:
        p = float(library("scipy.stats").ttest_rel(found[:, 0], found[:, 1]).pvalue)
    return Difference(float(apart.mean()), low, high, p)
