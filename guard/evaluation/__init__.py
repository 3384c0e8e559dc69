"""Benchmark files, measures and calibration: how good a scorer is, and where its threshold belongs.

The papers' files are read by `load`, scored by `evaluate`, measured by `summarise`. scikit-learn, SciPy and
matplotlib (extra `eval`) are imported when first needed.
"""

from groundrail.evaluation.calibration import Calibration, fit_calibration
from groundrail.evaluation.counting import counted
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.run import Result, evaluate
from groundrail.evaluation.summary import Summary, summarise
from groundrail.evaluation.thresholds import Threshold, choose_threshold

__all__ = [
    "Calibration",
    "Example",
    "Result",
    "Summary",
    "Threshold",
    "choose_threshold",
    "counted",
    "evaluate",
    "fit_calibration",
    "load",
    "summarise",
]
