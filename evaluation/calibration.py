"""Fit the map that makes scores probabilities to labelled scores.

Choosing a threshold is `groundrail.evaluation.thresholds`; scoring the labelled sentences belongs to
`groundrail.evaluation.run`.
"""

import numpy as np
from numpy.typing import ArrayLike

from groundrail.calibration import Calibration, Method, log_odds
from groundrail.errors import InputError
from groundrail.evaluation.metrics import library, two_classes


def fit_calibration(
    labels: ArrayLike, scores: ArrayLike, method: Method = "isotonic", *, scorer: str = ""
) -> Calibration:
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
