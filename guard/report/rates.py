"""Count how the sentences of many answers came out, by day and by source, and show the rates as a page or an object."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from groundrail.report.assets import asset, security_policy, template
from groundrail.report.chart import Axis, Chart, chart
from groundrail.types import Verdict


class Outcome(StrEnum):
    """How a sentence came out. Every sentence has one outcome."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_STATED = "not_stated"
    UNSUPPORTED = "unsupported"
    """Contradicted or not stated: the log does not say which."""
    KNOWN = "known"
    TALK = "talk"
    NOT_CHECKED = "not_checked"
    """There was no source, the time was up, or the scorer failed."""


RATES = ("released", "held_back", *Outcome)
"""The names of the rates, each a share of all sentences. A sentence is held back if it is not released as written."""

PLOTTED = ("held_back", Outcome.CONTRADICTED, Outcome.NOT_STATED, Outcome.TALK)
"""The rates that are plotted by day."""

WORDS = {name: str(name).replace("_", " ") for name in RATES} | {"unsupported": "contradicted or not stated"}

Counts: TypeAlias = Counter[str]
"""The numbers of `answers`, `sentences`, and sentences by each name of `RATES`."""


class Judged(NamedTuple):
    """A sentence that was judged."""

    outcome: Outcome
    released: bool


def outcome(verdict: Verdict, contradicted: bool | None) -> Outcome:
    """The outcome of a sentence; `contradicted` is None if the log does not say whether the source contradicts it.

    >>> outcome(Verdict.UNSUPPORTED, True).value
    'contradicted'
    """
    if verdict is Verdict.UNSUPPORTED:
        return {True: Outcome.CONTRADICTED, False: Outcome.NOT_STATED, None: Outcome.UNSUPPORTED}[contradicted]
    named = {Verdict.SUPPORTED: Outcome.SUPPORTED, Verdict.KNOWN: Outcome.KNOWN, Verdict.NO_CLAIM: Outcome.TALK}
    return named.get(verdict, Outcome.NOT_CHECKED)


def rate(counts: Mapping[str, int], name: str) -> float | None:
    """The share of all sentences, 0 to 1; None where there is no sentence."""
    return counts[name] / counts["sentences"] if counts["sentences"] else None


@dataclass(slots=True)
class Rates:
    """The counts of all answers, of the answers of each day, and of the answers that had each source.

    None stands for answers without a day, and for answers whose source has no name. An answer with several sources
    counts for each of them, so that the counts by source may add up to more than `total`.

        rates = Rates()
        rates.add([Judged(Outcome.SUPPORTED, True)], date(2026, 3, 1), ["lease.txt"])
        rates.total["released"]  # 1
    """

    total: Counts = field(default_factory=Counter)
    by_day: dict[date | None, Counts] = field(default_factory=lambda: defaultdict(Counter))
    by_source: dict[str | None, Counts] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, sentences: Iterable[Judged], day: date | None, sources: Iterable[str]) -> None:
        """Count an answer with its sentences."""
        counts = Counter({"answers": 1})
        for sentence in sentences:
            counts.update(["sentences", "released" if sentence.released else "held_back", str(sentence.outcome)])
        names = dict.fromkeys(sources) or [None]
        for group in (self.total, self.by_day[day], *(self.by_source[name] for name in names)):
            group.update(counts)

    def days(self) -> list[tuple[date | None, Counts]]:
        """The days in order, None last."""
        return sorted(self.by_day.items(), key=lambda pair: (pair[0] is None, pair[0] or date.min))

    def sources(self) -> list[tuple[str | None, Counts]]:
        """The sources by their names, most sentences held back first, None last."""
        return sorted(self.by_source.items(), key=lambda pair: (pair[0] is None, -pair[1]["held_back"], pair[0] or ""))

    def as_object(self) -> dict[str, Any]:
        """The counts with their rates, as JSON holds them."""
        return {
            "total": _object(self.total),
            "by_day": [{"day": day and day.isoformat(), **_object(counts)} for day, counts in self.days()],
            "by_source": [{"source": name, **_object(counts)} for name, counts in self.sources()],
        }

    def page(self) -> str:
        """One page that loads nothing and runs no script: a plot of each rate by day, and tables by day and source."""
        style = asset("report.css")
        days = [(day, counts) for day, counts in self.days() if day is not None]
        most = max([rate(counts, name) or 0.0 for _, counts in days for name in PLOTTED], default=0.0)
        axis = Axis(0.0, max(1, math.ceil(10 * most)) / 10)
        return template("rates.html").render(
            policy=security_policy(style),
            style=style,
            total=self.total,
            days=days,
            axis=axis,
            plots=[(name, self._plot(name, [counts for _, counts in days], axis)) for name in PLOTTED],
            by_day=[(str(day or "without a day"), counts) for day, counts in self.days()],
            by_source=[(name or "without a name", counts) for name, counts in self.sources()],
            columns=[name for name in RATES if name != Outcome.UNSUPPORTED or self.total[name]],
            outcomes=list(Outcome),
            words=WORDS,
            rate=rate,
        )

    def _plot(self, name: str, days: Iterable[Counts], axis: Axis) -> Chart:
        """A bar for each day, and a line at the rate of all answers."""
        return chart([[(rate(counts, name), rate(self.total, name) or 0.0) for counts in days]], axis)


def _object(counts: Counts) -> dict[str, Any]:
    numbers = {name: counts[name] for name in ("answers", "sentences", *map(str, RATES))}
    return {**numbers, "rates": {str(name): rate(counts, name) for name in RATES}}
