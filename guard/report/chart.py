"""Geometry of a chart with a bar for each score and lines for thresholds, in the units of an SVG's view box."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

HEIGHT, STEP, GAP = 60.0, 15.0, 15.0
"""Height of the plot, distance between bars, and gap between answers."""

WIDEST = 640.0
"""Maximum width of a chart; bars get narrower if there are too many."""


class Bar(NamedTuple):
    """The bar of a sentence's score; `scored` is False for a short bar that stands for a missing score."""

    x: float
    y: float
    width: float
    height: float
    scored: bool


class Line(NamedTuple):
    """The line of a threshold, over neighbouring bars that are compared with it."""

    x1: float
    x2: float
    y: float


class Chart(NamedTuple):
    """Bars in the order of the sentences, over a plot of `width` by `HEIGHT`."""

    width: float
    bars: list[Bar]
    lines: list[Line]


class Axis(NamedTuple):
    """Map scores to shares of a length, 0 to 1: probabilities unchanged, other values between minimum and maximum."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float]) -> "Axis":
        """Make an axis for all finite values: from 0 to 1 for probabilities, else a range that includes 0."""
        finite = [value for value in values if math.isfinite(value)]
        low, high = min(finite, default=0.0), max(finite, default=1.0)
        return cls(0.0, 1.0) if low >= 0 and high <= 1 else cls(min(low, 0.0), max(high, 0.0))

    def share(self, value: float) -> float:
        """Position of a value between the ends of the axis, 0 to 1; values beyond an end lie at this end."""
        if not math.isfinite(value):
            return 1.0 if value > 0 else 0.0
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def chart(answers: Sequence[Sequence[tuple[float | None, float]]], axis: Axis) -> Chart:
    """Passage answers side by side; each answer has (score, threshold) for every sentence."""
    count = sum(map(len, answers))
    gap = min(GAP, 0.5 * WIDEST / max(1, len(answers)))
    step = min(STEP, (WIDEST - gap * (len(answers) - 1)) / max(1, count))
    bars, lines, x = [], [], 0.0
    for scored in answers:
        for threshold, alike in groupby(scored, key=lambda pair: pair[1]):
            left = x
            for score, _ in alike:
                tall = 2.0 if score is None else max(2.0, axis.share(score) * HEIGHT)
                bars.append(Bar(x + 0.1 * step, HEIGHT - tall, 0.8 * step, tall, score is not None))
                x += step
            lines.append(Line(left, x, HEIGHT * (1 - axis.share(threshold))))
        if scored:
            x += gap
    return Chart(max(STEP, x - gap), bars, lines)
