"""Scores as bars with the threshold as a line: geometry only, in the units of an SVG's view box."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

HEIGHT, STEP, GAP = 60.0, 15.0, 15.0
"""Height of the plot; distance from bar to bar; gap between answers."""
WIDEST = 640.0
"""Charts with more bars get narrower ones."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A sentence's score as a box; `scored` is False for a stub where there is no score."""

    x: float
    y: float
    width: float
    height: float
    scored: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A threshold, from the first bar to the last of those in a row that are compared with it."""

    x1: float
    x2: float
    y: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars in the order of the sentences, over a plot of `width` by `HEIGHT`."""

    width: float
    bars: list[Bar] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps scores to shares of a length, 0 to 1: probabilities as they are, other values from least to greatest."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float]) -> "Axis":
        """An axis that all finite values lie on: from 0 to 1 for probabilities, else with 0 on it."""
        finite = [value for value in values if math.isfinite(value)]
        low, high = min(finite, default=0.0), max(finite, default=1.0)
        return cls(0.0, 1.0) if low >= 0 and high <= 1 else cls(min(low, 0.0), max(high, 0.0))

    def share(self, value: float) -> float:
        """Where a value lies between the ends of the axis; beyond them is at the end."""
        if not math.isfinite(value):
            return 1.0 if value > 0 else 0.0
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def chart(answers: Sequence[Sequence[tuple[float | None, float]]], axis: Axis) -> Chart:
    """Answers side by side, each as a (score, threshold) for every sentence."""
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
