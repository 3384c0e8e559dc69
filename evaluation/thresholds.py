"""From labelled scores to a map that makes scores probabilities, and to a threshold with its two error rates."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from groundrail.calibration import Calibration, Method, log_odds
from groundrail.errors import InputError
from groundrail.evaluation.metrics import Bools, Floats, library, two_classes

_ROUNDING = 1e-9
"""Probabilities and shares that differ by less are equal."""


def fit_calibration(labels: ArrayLike, scores: ArrayLike, method: Method = "isotonic", *, scorer: str = "") -> Calibration:
    """Fit a map to labelled scores of the scorer with the identity `scorer`.

    Isotonic regression needs some hundred labels, or it follows noise; Platt's map has two numbers and needs fewer.

    Raises: InputError if one class is missing, or if higher scores do not mean more support; MissingExtraError without
        the extra `eval`.
    """
    supported, s = two_classes(labels, scores, "Calibration")
    if method == "platt":
        fitted = library("sklearn.linear_model").LogisticRegression(C=1e6).fit(log_odds(s)[:, None], supported)
        slope, intercept = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
        if slope <= 0:
            raise InputError("higher scores do not go with more support here, so there is no map to fit")
        return Calibration("platt", (slope,), (intercept,), scorer=scorer)
    x, inverse, counts = np.unique(s, return_inverse=True, return_counts=True)
    shares = np.bincount(inverse, weights=supported) / counts
    fitted = library("sklearn.isotonic").isotonic_regression(shares, sample_weight=counts)
    y = np.clip(fitted, 0, 1)
    if y[0] == y[-1]:
        raise InputError("higher scores do not go with more support here, so there is no map to fit")
    inner = np.zeros(x.size, dtype=bool)
    inner[1:-1] = (y[1:-1] == y[:-2]) & (y[1:-1] == y[2:])
    return Calibration("isotonic", tuple(x[~inner].tolist()), tuple(y[~inner].tolist()), scorer=scorer)


@dataclass(frozen=True, slots=True)
class Rate:
    """`errors` of `total`, with the exact (Clopper-Pearson) interval of the rate behind it."""

    errors: int
    total: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold and what it costs: sentences are released from `value` upwards.

    `false_release` is the share of unsupported sentences that go out, `false_block` the share of supported
    ones that do not, on the very sentences the threshold was chosen on; `held_out_*` are the same rates where
    each fifth of the sentences was judged by a threshold chosen on the others, None with under five a class or where
    the others are too few for the guarantee. `guarantee` is the confidence at which the rate that was asked for holds
    for new sentences, None for a plain quantile.
    """

    value: float
    false_release: Rate
    false_block: Rate
    held_out_false_release: Rate | None = None
    held_out_false_block: Rate | None = None
    guarantee: float | None = None


def rate(errors: int, total: int) -> Rate:
    """The error rate with its Clopper-Pearson interval of 95 %."""
    interval = library("scipy.stats").binomtest(errors, total).proportion_ci(0.95, method="exact")
    return Rate(errors, total, errors / total, float(interval.low), float(interval.high))


def labels_needed(target: float, guarantee: float) -> int:
    """The fewest labelled sentences with which a rate of at most `target` can be guaranteed: none of them goes wrong.

    >>> labels_needed(0.05, 0.95)
    59
    """
    count = max(1, math.floor(math.log1p(-guarantee) / math.log1p(-target)))
    while (1 - target) ** count > 1 - guarantee + _ROUNDING:
        count += 1
    return count


def allowed_errors(total: int, target: float, guarantee: float | None = None) -> int:
    """How many of `total` labelled sentences may go wrong at a threshold that keeps the rate of errors to `target`.

    Without a `guarantee` this is `target` of them. With one it is the largest number k for which the exact binomial
    test rejects "the rate of new sentences is above `target`", P(Binomial(total, target) <= k) <= 1 - guarantee: the
    Clopper-Pearson upper bound of k in `total` is at most `target`. The rate only rises, or only falls, with the
    threshold, so that testing one threshold after another from the safe end, up to the first that is not rejected,
    needs no correction for their number: the fixed-sequence testing of Angelopoulos, Bates, Candes, Jordan and Lei,
    "Learn then Test" (arXiv 2110.01052), here the same as the upper bounds for monotone risks of Bates, Angelopoulos,
    Lei, Malik and Jordan, "Distribution-Free, Risk-Controlling Prediction Sets" (arXiv 2101.02703).

    Raises: InputError where even no error at all would not be enough, with the number of labels that is needed.

    >>> allowed_errors(200, 0.05), allowed_errors(200, 0.05, 0.95)
    (10, 4)
    """
    if guarantee is None:
        return math.floor(target * total + _ROUNDING)
    if not 0 < guarantee < 1 or not 0 < target < 1:
        raise InputError(
            f"a rate and the confidence in it are guaranteed between 0 and 1, both exclusive, not {target:g} at {guarantee:g}"
        )
    passed = library("scipy.stats").binom.cdf(np.arange(total + 1), total, target) <= 1 - guarantee + _ROUNDING
    if not passed.any():
        raise InputError(
            f"{total} labelled sentences of this kind are too few to guarantee a rate of at most {target:.3g} at "
            f"{guarantee:.3g} confidence; at least {labels_needed(target, guarantee)} are needed. Label more, or ask "
            "for a higher rate or a lower confidence"
        )
    return int(passed.sum()) - 1


def _choose(
    supported: Bools, s: Floats, false_release: float | None, false_block: float | None, guarantee: float | None
) -> float:
    """The lowest threshold within `false_release`, or the highest within `false_block`."""
    values = np.unique(s)
    cuts = np.concatenate([values[:1], (values[:-1] + values[1:]) / 2])
    if false_release is not None:
        unsupported = np.sort(s[~supported])
        allowed = allowed_errors(unsupported.size, false_release, guarantee)
        fine = cuts[unsupported.size - np.searchsorted(unsupported, cuts, side="left") <= allowed]
        if not fine.size:
            raise InputError(
                f"no threshold keeps false releases to {false_release:.1%} and releases anything: the "
                "highest scores are of unsupported sentences. Allow more, or label more sentences"
            )
        return float(fine[0])
    blocked = np.searchsorted(np.sort(s[supported]), cuts, side="left")
    return float(cuts[blocked <= allowed_errors(int(supported.sum()), false_block or 0.0, guarantee)][-1])


def choose_threshold(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    false_release: float | None = None,
    false_block: float | None = None,
    method: Method | None = None,
    guarantee: float | None = None,
    seed: int = 0,
) -> Threshold:
    """The threshold that keeps one error rate to what is asked and the other as low as it can.

    Exactly one of `false_release` and `false_block` is given, a share of the unsupported or of the supported
    sentences. It lies halfway between the scores it separates. With a `method` the scores are mapped first, and
    the threshold is one of mapped scores; a held-out fifth is mapped by what the others fitted.

    Without a `guarantee` the rate is that of the labelled sentences, and new ones exceed it about half of the time. With one,
    the rate of new sentences is at most what was asked with at least that probability over the labels
    (`allowed_errors`), provided that the labelled sentences are drawn like the new ones, each by itself. A map keeps
    the guarantee: it never falls, so that its thresholds are thresholds of scores.

    Raises: InputError where one class is missing, no threshold does or the labels are too few for the guarantee.
    """
    supported, s = two_classes(labels, scores, "Choosing a threshold")
    asked = [target for target in (false_release, false_block) if target is not None]
    if len(asked) != 1 or not 0 <= asked[0] <= 1:
        raise InputError("ask for one of false_release and false_block, a share from 0 to 1")

    def chosen(known: Bools, by: Floats) -> tuple[float, Calibration | None]:
        fitted = None if method is None else fit_calibration(known, by, method)
        return _choose(known, _mapped(fitted, by), false_release, false_block, guarantee), fitted

    value, fitted = chosen(supported, s)
    released = _mapped(fitted, s) >= value
    false_releases, false_blocks = _rates(supported, released)
    held_out_releases, held_out_blocks = _held_out(supported, s, chosen, seed)
    return Threshold(value, false_releases, false_blocks, held_out_releases, held_out_blocks, guarantee)


def _mapped(calibration: Calibration | None, scores: Floats) -> Floats:
    return scores if calibration is None else np.array([calibration(score) for score in scores])


def _rates(supported: Bools, released: np.ndarray) -> tuple[Rate, Rate]:
    return (
        rate(int((released & ~supported).sum()), int((~supported).sum())),
        rate(int((~released & supported).sum()), int(supported.sum())),
    )


def _held_out(
    supported: Bools,
    s: Floats,
    chosen: Callable[[Bools, Floats], tuple[float, Calibration | None]],
    seed: int,
) -> tuple[Rate, Rate] | tuple[None, None]:
    if min(supported.sum(), (~supported).sum()) < 5:
        return None, None
    released = np.zeros(s.size, dtype=bool)
    folds = library("sklearn.model_selection").StratifiedKFold(5, shuffle=True, random_state=seed)
    for rest, fold in folds.split(s[:, None], supported):
        try:
            value, fitted = chosen(supported[rest], s[rest])
        except InputError:
            return None, None
        released[fold] = _mapped(fitted, s[fold]) >= value
    return _rates(supported, released)
