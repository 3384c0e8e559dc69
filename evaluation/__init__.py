"""Benchmark files, measures and calibration: how good a scorer is, and which threshold it needs.

`load` reads the papers' files, `evaluate` scores them and `summarise` measures the scores. scikit-learn, SciPy and
matplotlib (extra `eval`) are imported at their first use.
"""

from groundrail.calibration import Calibration
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.run import Result, evaluate
from groundrail.evaluation.summary import Summary, summarise
from groundrail.evaluation.thresholds import Threshold, choose_threshold, fit_calibration

__all__ = [
    "Calibration",
    "CountingEntailment",
    "Example",
    "Result",
    "Summary",
    "Threshold",
    "choose_threshold",
    "evaluate",
    "fit_calibration",
    "load",
    "summarise",
]
