"""Q²'s simulated systems (sections 5 and 6.1): right and wrong responses mixed in known shares.

`groundrail.evaluation.systems` correlates the scores of named systems.
"""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
from numpy.typing import ArrayLike

from groundrail.errors import InputError
from groundrail.evaluation.metrics import Bools, Floats, Interval, checked, percentiles, spearman, two_classes

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25)
"""Shares of inconsistent responses in the paper's simulated systems (section 6.1)."""


def simulated_correlation(
    labels: ArrayLike,
    scores: ArrayLike,
    contexts: Sequence[str | None],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Correlate the scores of simulated systems with their shares of right responses, as the mean over `resamples`.

    For each resample, 350 contexts are drawn with repetition from the contexts with a supported and an unsupported
    response; the system with share c answers a random share c of them with the unsupported response. The paper does not
    name the correlation. The bounds that it prints for five systems are possible values of Spearman's rho, which is
    therefore used here.

    Raises: InputError if no context has both responses.
    """
    right, wrong = _both(labels, scores, contexts)
    random = np.random.default_rng(seed)
    found = []
    for _ in range(resamples):
        drawn = random.integers(right.size, size=350)
        means = [_mixed(right[drawn], wrong[drawn], share, random) for share in SHARES]
        found.append(spearman([1 - share for share in SHARES], means) if len(set(means)) > 1 else 0.0)
    return Interval(fmean(found), *percentiles(found))


def robustness(
    labels: ArrayLike,
    scores: ArrayLike,
    shares: Sequence[float],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Interval]:
    """Mean score of a system for each share of unsupported responses, 400 drawn with repetition (section 5, figure 4)."""
    supported, s = two_classes(labels, scores, "Score robustness")
    random = np.random.default_rng(seed)
    table = []
    for share in shares:
        wrong = round(share * 400)
        drawn = (
            random.choice(s[~supported], (resamples, wrong)),
            random.choice(s[supported], (resamples, 400 - wrong)),
        )
        means = np.concatenate(drawn, axis=1).mean(axis=1).tolist()
        table.append(Interval(fmean(means), *percentiles(means)))
    return table


def _both(labels: ArrayLike, scores: ArrayLike, contexts: Sequence[str | None]) -> tuple[Floats, Floats]:
    """The first scores of the supported and the unsupported response in each context that has both."""
    y, s = checked(labels, scores)
    first: dict[tuple[str, bool], float] = {}
    for context, label, score in zip(contexts, y, s, strict=True):
        if context is not None:
            first.setdefault((context, bool(label >= 1)), float(score))
    found = [(first[c, True], first[c, False]) for c, label in first if label and (c, False) in first]
    if not found:
        raise InputError("simulated systems need contexts with a supported and an unsupported response")
    right, wrong = np.array(found).T
    return right, wrong


def _mixed(right: Floats, wrong: Floats, share: float, random: np.random.Generator) -> float:
    unsupported: Bools = random.permutation(right.size) < round(share * right.size)
    return float(np.where(unsupported, wrong, right).mean())
