"""`Calibration`: a map that makes scores probabilities, in plain JSON (never a pickle).

A policy applies it (`Policy(calibration=...)`) without scikit-learn. `groundrail.evaluation.thresholds` fits it.
"""

import itertools
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from groundrail.errors import InputError
from groundrail.runtime.former import current_words

Floats: TypeAlias = NDArray[np.float64]
Method: TypeAlias = Literal["isotonic", "platt", "none"]

_EDGE = 1e-6
"""Minimum distance of scores from 0 and 1, because Platt's map works on log-odds."""


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
        if self.method not in get_args(Method):
            raise InputError(f"a calibration is one of {', '.join(get_args(Method))}, not {self.method!r}")
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
        return float(_sigmoid(self.x[0] * log_odds(np.asarray(value, dtype=np.float64)) + self.y[0]))

    def save(self, path: str | Path) -> None:
        """Write the map as JSON. Raises: InputError without the identity of the scorer, which `load` needs."""
        if not self.scorer:
            raise InputError("a calibration is saved with the scorer it was fitted on: fit_calibration(..., scorer=)")
        Path(path).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Calibration":
        """Read a map that `save` wrote. Raises: InputError for any other file."""
        try:
            found = TypeAdapter(cls).validate_json(current_words(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            fault = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "no text"
            raise InputError(f"{path}: no calibration as save() writes it, with method, x, y and scorer: {fault}") from error
        if not found.scorer:
            raise InputError(f"{path}: it does not say which scorer it was fitted on; run `groundrail calibrate`")
        return found


def log_odds(scores: Floats) -> Floats:
    """log(p / (1 - p)) of scores, which are kept 1e-6 away from 0 and 1."""
    kept = np.clip(scores, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(kept / (1 - kept)), dtype=np.float64)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)), dtype=np.float64)
