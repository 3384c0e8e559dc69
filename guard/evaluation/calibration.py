"""Choose a threshold with known error rates from labelled scores, and fit a map from scores to probabilities.

A map is plain JSON (never a pickle), so that a policy can load it without scikit-learn.
`groundrail.evaluation.run` scores the labelled sentences.
"""

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from groundrail.errors import InputError, MissingExtraError
from groundrail.evaluation.metrics import Bools, Floats, scipy_stats, two_classes

Method: TypeAlias = Literal["isotonic", "platt", "none"]

_EDGE = 1e-6
"""Minimum distance of scores from 0 and 1, because Platt's map works on log-odds."""

_ROUNDING = 1e-9
"""Maximum difference of probabilities and shares that count as equal."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A non-decreasing map from a score in [0, 1] to the share of claims with this score that are supported.

    method: "isotonic" interpolates between the points (`x`, `y`) and is constant outside them. "platt" is
        sigmoid(x[0] * log-odds(score) + y[0]); slope and intercept are stored as one point. "none" does not change
        scores.
    threshold: threshold for mapped scores; None if none was chosen.
    scorer: identity of the scorer that the map was fitted on; a guard compares it with the identity of its scorer.

        Guard(policy=Policy(calibration=Calibration.load("map.json")))
    """

    method: Method
    x: tuple[float, ...]
    y: tuple[float, ...]
    threshold: float | None = None
    scorer: str = ""

    def __post_init__(self) -> None:
        if self.method not in ("isotonic", "platt", "none"):
            raise InputError(f"a calibration is 'isotonic', 'platt' or 'none', not {self.method!r}")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InputError("a calibration's threshold is a finite number")
        if self.method == "none":
            return
        if not self.x or len(self.x) != len(self.y):
            raise InputError("a calibration has as many x as y, and at least one")
        if not all(map(math.isfinite, self.x + self.y)):
            raise InputError("a calibration's x and y are finite numbers")
        if self.method == "platt" and (len(self.x) != 1 or self.x[0] < 0):
            raise InputError("a Platt calibration has one slope in x, not negative, and one intercept in y")
        if self.method == "isotonic":
            rising = all(a <= b for values in (self.x, self.y) for a, b in itertools.pairwise(values))
            if not rising or min(self.y) < 0 or max(self.y) > 1:
                raise InputError("an isotonic calibration has rising x, and rising y from 0 to 1")

    def __call__(self, value: float) -> float:
        """The calibrated score; NaN stays NaN."""
        if math.isnan(value) or self.method == "none":
            return value
        if self.method == "isotonic":
            return float(np.interp(value, self.x, self.y))
        return float(_sigmoid(self.x[0] * _log_odds(np.asarray(value, dtype=np.float64)) + self.y[0]))

    def save(self, path: str | Path) -> None:
        """Write the map as JSON. Raises: InputError without the identity of the scorer, which `load` needs."""
        if not self.scorer:
            raise InputError("a calibration is saved with the scorer it was fitted on: fit_calibration(..., scorer=)")
        Path(path).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Calibration":
        """Read a map that `save` wrote. Raises: InputError for any other file."""
        try:
            facts = json.loads(Path(path).read_text(encoding="utf-8"))
            threshold, scorer = facts.get("threshold"), str(facts["scorer"])
            if not scorer:
                raise InputError("it does not say which scorer it was fitted on; run `groundrail calibrate`")
            return cls(
                facts["method"],
                tuple(map(float, facts["x"])),
                tuple(map(float, facts["y"])),
                None if threshold is None else float(threshold),
                scorer,
            )
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{path}: expected a calibration with method, x, y and scorer, as save() writes it"
            ) from error


def _log_odds(scores: Floats) -> Floats:
    kept = np.clip(scores, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(kept / (1 - kept)), dtype=np.float64)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)), dtype=np.float64)


def fit_calibration(
    labels: ArrayLike, scores: ArrayLike, method: Method = "isotonic", *, scorer: str = ""
) -> Calibration:
    """Fit a map to labelled scores of the scorer with the identity `scorer`.

    Isotonic regression needs some hundred labels, or it follows noise; Platt's map has two numbers and needs fewer.

    Raises: InputError if one class is missing, or if higher scores do not mean more support; MissingExtraError without
        scikit-learn.
    """
    supported, s = two_classes(labels, scores, "Calibration")
    try:
        from sklearn.isotonic import isotonic_regression
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise MissingExtraError("groundrail.evaluation.calibration", "eval") from error
    if method == "platt":
        fitted = LogisticRegression(C=1e6).fit(_log_odds(s)[:, None], supported)
        slope, intercept = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
        if slope <= 0:
            raise InputError("higher scores do not go with more support here, so there is no map to fit")
        return Calibration("platt", (slope,), (intercept,), scorer=scorer)
    x, inverse, counts = np.unique(s, return_inverse=True, return_counts=True)
    shares = np.bincount(inverse, weights=supported) / counts
    y = np.clip(isotonic_regression(shares, sample_weight=counts), 0, 1)
    if y[0] == y[-1]:
        raise InputError("higher scores do not go with more support here, so there is no map to fit")
    inner = np.zeros(x.size, dtype=bool)
    inner[1:-1] = (y[1:-1] == y[:-2]) & (y[1:-1] == y[2:])
    return Calibration("isotonic", tuple(x[~inner].tolist()), tuple(y[~inner].tolist()), scorer=scorer)


@dataclass(frozen=True, slots=True)
class Rate:
    """An error rate: `errors` out of `total`, with the exact (Clopper-Pearson) interval."""

    errors: int
    total: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold with its error rates; sentences with a score of at least `value` are released.

    false_release: share of unsupported sentences that are released, on the sentences that the threshold was chosen on.
    false_block: share of supported sentences that are not released, on the same sentences.
    held_out_*: the same rates by cross-validation: each fifth of the sentences is judged by a threshold chosen on the
        other four. None with fewer than five sentences in a class, or if four fifths are too few for the guarantee.
    guarantee: confidence that the requested rate holds for new sentences; None for a plain quantile.
    """

    value: float
    false_release: Rate
    false_block: Rate
    held_out_false_release: Rate | None = None
    held_out_false_block: Rate | None = None
    guarantee: float | None = None


def rate(errors: int, total: int, confidence: float = 0.95) -> Rate:
    """Compute an error rate with its Clopper-Pearson interval."""
    interval = scipy_stats().binomtest(errors, total).proportion_ci(confidence, method="exact")
    return Rate(errors, total, errors / total, float(interval.low), float(interval.high))


def labels_needed(target: float, guarantee: float) -> int:
    """Minimum number of labelled sentences that can guarantee a rate of at most `target`, if none of them is an error.

    >>> labels_needed(0.05, 0.95)
    59
    """
    count = max(1, math.floor(math.log1p(-guarantee) / math.log1p(-target)))
    while (1 - target) ** count > 1 - guarantee + _ROUNDING:
        count += 1
    return count


def allowed_errors(total: int, target: float, guarantee: float | None = None) -> int:
    """Maximum number of errors among `total` labelled sentences at a threshold that keeps the error rate to `target`.

    Without a `guarantee` this is the share `target` of the sentences. With a guarantee it is the largest number k for
    which the exact binomial test rejects "the rate of new sentences is above `target`", P(Binomial(total, target) <= k)
    <= 1 - guarantee: the Clopper-Pearson upper bound of k in `total` is at most `target`.

    The rate is monotone in the threshold. Thresholds can therefore be tested one after another from the safe end, up to
    the first that is not rejected, without a correction for their number. This is the fixed-sequence testing of
    Angelopoulos, Bates, Candes, Jordan and Lei, "Learn then Test" (arXiv 2110.01052), and here equals the upper bounds
    for monotone risks of Bates, Angelopoulos, Lei, Malik and Jordan, "Distribution-Free, Risk-Controlling Prediction
    Sets" (arXiv 2101.02703).

    Raises: InputError if the labels are too few even without any error; the message says how many are needed.

    >>> allowed_errors(200, 0.05), allowed_errors(200, 0.05, 0.95)
    (10, 4)
    """
    if guarantee is None:
        return math.floor(target * total + _ROUNDING)
    if not 0 < guarantee < 1 or not 0 < target < 1:
        raise InputError(
            f"a rate and the confidence in it are guaranteed between 0 and 1, both exclusive, not {target:g} at {guarantee:g}"
        )
    passed = scipy_stats().binom.cdf(np.arange(total + 1), total, target) <= 1 - guarantee + _ROUNDING
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
    confidence: float = 0.95,
    seed: int = 0,
) -> Threshold:
    """Choose the threshold that keeps one error rate to the requested rate and the other rate as low as possible.

        choose_threshold(labels, scores, false_release=0.05, guarantee=0.95)

    The threshold lies halfway between the two scores that it separates.

    Args:
        false_release: Requested share of unsupported sentences that are released. Give this or `false_block`.
        false_block: Requested share of supported sentences that are not released.
        method: Map the scores first; the threshold then applies to mapped scores. For the held-out rates each fifth is
            mapped by a map fitted to the other four.
        guarantee: Probability over the labels that the rate of new sentences is at most the requested rate
            (`allowed_errors`), if labelled and new sentences are drawn independently in the same way. A map keeps the
            guarantee, because it is monotone. None: the rate holds for the labelled sentences only, and new sentences
            exceed it about half of the time.
        confidence: Confidence of the reported intervals.

    Raises: InputError if one class is missing, if no threshold meets the rate, or if the labels are too few for the
        guarantee.
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
    false_releases, false_blocks = _rates(supported, released, confidence)
    held_out_releases, held_out_blocks = _held_out(supported, s, chosen, confidence, seed)
    return Threshold(value, false_releases, false_blocks, held_out_releases, held_out_blocks, guarantee)


def _mapped(calibration: Calibration | None, scores: Floats) -> Floats:
    return scores if calibration is None else np.array([calibration(score) for score in scores])


def _rates(supported: Bools, released: np.ndarray, confidence: float) -> tuple[Rate, Rate]:
    return (
        rate(int((released & ~supported).sum()), int((~supported).sum()), confidence),
        rate(int((~released & supported).sum()), int(supported.sum()), confidence),
    )


def _held_out(
    supported: Bools,
    s: Floats,
    chosen: Callable[[Bools, Floats], tuple[float, Calibration | None]],
    confidence: float,
    seed: int,
) -> tuple[Rate, Rate] | tuple[None, None]:
    if min(supported.sum(), (~supported).sum()) < 5:
        return None, None
    try:
        from sklearn.model_selection import StratifiedKFold
    except ImportError as error:
        raise MissingExtraError("groundrail.evaluation.calibration", "eval") from error
    released = np.zeros(s.size, dtype=bool)
    for rest, fold in StratifiedKFold(5, shuffle=True, random_state=seed).split(s[:, None], supported):
        try:
            value, fitted = chosen(supported[rest], s[rest])
        except InputError:
            return None, None
        released[fold] = _mapped(fitted, s[fold]) >= value
    return _rates(supported, released, confidence)
