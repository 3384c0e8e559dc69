"""Summaries of a benchmark run: every measure that the labels allow, and reasons for the missing measures.

`MEASURES` lists the measures: how each is computed, and its row in the table that the command line prints. The
formulas are in `groundrail.evaluation.metrics` and `.evidence`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import numpy as np

from groundrail.errors import InputError
from groundrail.evaluation import evidence, metrics
from groundrail.evaluation.comparison import Difference, paired_bootstrap, paired_t_test
from groundrail.evaluation.examples import Example
from groundrail.evaluation.metrics import Interval
from groundrail.evaluation.run import Result
from groundrail.evaluation.systems import SystemCorrelation, by_system

MARGINS = (math.log(100), math.log(1000))
"""Margins of West et al.'s table 2, in nats."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The claims of one kind with one label: the number decided correctly at the threshold, and quartiles of scores."""

    name: str
    label: float
    right: int
    total: int
    quartiles: tuple[float, float, float]

    @property
    def title(self) -> str:
        """The name of its row in the table."""
        return f"{'released' if self.label >= 1 else 'blocked'}: {self.name}"

    def __str__(self) -> str:
        return f"{self.right} of {self.total}, median {self.quartiles[1]:.2f}"


class Summary(SimpleNamespace):
    """The measures of one scorer on one data set, by the names of `MEASURES`; None if `notes` gives a reason.

    claims, empty, failed, unscored, measured: number of all claims, of claims without words, of claims that made the
        scorer fail, of claims without a score, and of claims with a label and a score, which enter the measures.
    calls, pairs, seconds: means for each claim.
    threshold: the threshold of `macro_f1` and `balanced_accuracy`.
    best_threshold: the threshold of `best_macro_f1`.
    evidence_hit: share of the `with_evidence` claims whose first citation touches the evidence. Evidence recall and
        precision count characters over all citations.
    best_of_group, margins: measures of claims in groups; `margins` has pairs of a margin and the share above it, for
        scores that are no probabilities.
    tuned_balanced_accuracy: balanced accuracy at a threshold chosen on other claims (SummaC).
    auc_difference, auc_t_test: difference of ROC-AUC to another scorer on the same claims, by a bootstrap and by
        InFusE's t-test.
    """


class _Run:
    """One scorer's run on one data set, with the settings of `summarise`."""

    def __init__(self, examples: Sequence[Example], rows: Sequence[tuple[Example, Result]], **settings: Any) -> None:
        self.examples, self.rows, self.settings = examples, rows, SimpleNamespace(**settings)
        self.scored = [result for _, result in rows if result.error is None]
        both = [(e, e.label, r.value) for e, r in rows if e.label is not None and r.value is not None]
        self.measured = [example for example, _, _ in both]
        self.labels, self.scores = [label for _, label, _ in both], [score for _, _, score in both]
        self.marked = [(result.citations, e.evidence) for e, result in rows if e.evidence and result.error is None]
        self.groups = [example.group for example in self.measured]
        self.grouped = any(group is not None for group in self.groups)

    def of(self, measure: Callable[..., Any], *more: Any) -> Any:
        """A measure of the labels and scores."""
        return measure(self.labels, self.scores, *more)

    def interval(self, measure: Callable[..., float], scores: Sequence[float] | None = None, **more: Any) -> Interval:
        drawn = {"resamples": self.settings.resamples, "seed": self.settings.seed, **more}
        return metrics.bootstrap(measure, self.labels, self.scores if scores is None else scores, **drawn)

    def balanced(self, threshold: float | None) -> Interval | None:
        return None if threshold is None else self.interval(partial(metrics.balanced_accuracy, threshold=threshold))

    def probabilities(self) -> Sequence[float]:
        return metrics.min_max(self.scores).tolist() if self.settings.stretch else self.scores

    def difference(self, test: Callable[..., Difference]) -> Difference | None:
        others = self.settings.others
        if not others:
            return None
        theirs = [others.get((example.dataset, example.id)) for example in self.measured]
        shared = sum(value is not None for value in theirs)
        if not shared or shared < len(theirs):
            raise InputError(f"the other scorer has a score for {shared} of the {len(theirs)} claims measured here")
        return test(metrics.roc_auc, self.labels, self.scores, theirs, seed=self.settings.seed)

    def margins(self) -> tuple[tuple[float, float], ...]:
        unbounded = self.grouped and (min(self.scores) < 0 or max(self.scores) > 1)
        return tuple((m, self.of(metrics.best_of_group, self.groups, m)) for m in MARGINS if unbounded)

    def systems(self) -> SystemCorrelation | None:
        names = [example.system for example in self.measured]
        found: SystemCorrelation | None = self.of(by_system, names) if len(set(names) - {None}) > 2 else None
        return found

    def kinds(self) -> Iterator[Kind]:
        scores: dict[tuple[float, str], list[float]] = {}
        for example, label, score in zip(self.measured, self.labels, self.scores, strict=True):
            if example.kind is not None:
                scores.setdefault((label, example.kind), []).append(score)
        for (label, name), found in sorted(scores.items()):
            right = sum((score >= self.settings.threshold) == (label >= 1) for score in found)
            first, second, third = map(float, np.quantile(found, [0.25, 0.5, 0.75]))
            yield Kind(name, label, right, len(found), (first, second, third))


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure: its name, the function that computes it, and its row in the table.

    title: the name of its row, with a place for the threshold; the table leaves out a measure without a title.
    scale, digits: the factor and the decimal places in the table.
    split: makes several rows, their titles and values, of a value.
    """

    name: str
    of: Callable[[_Run], Any]
    title: str = ""
    scale: float = 1
    digits: int = 3
    split: Callable[[Any], Mapping[str, Any]] | None = None

    def rows(self, summary: Summary) -> Mapping[str, Any]:
        """Its rows in the table: titles and values."""
        value = getattr(summary, self.name)
        if value is not None and self.split:
            return self.split(value)
        return {self.title.format(summary.threshold): value} if value is not None and self.title else {}


MEASURES = (
    Measure("dataset", lambda run: run.settings.dataset),
    Measure("threshold", lambda run: run.settings.threshold),
    Measure("claims", lambda run: len(run.examples)),
    Measure("empty", lambda run: len(run.examples) - len(run.rows)),
    Measure("failed", lambda run: len(run.rows) - len(run.scored)),
    Measure("unscored", lambda run: sum(result.value is None for result in run.scored)),
    Measure("measured", lambda run: len(run.labels)),
    Measure("with_evidence", lambda run: len(run.marked)),
    Measure("mean_score", lambda run: _mean(run.scores), "mean score"),
    Measure("auc", lambda run: run.interval(metrics.roc_auc), "ROC-AUC x 100", 100, 1),
    Measure("average_precision", lambda run: run.of(metrics.average_precision), "average precision"),
    Measure(
        "auc_difference",
        lambda run: run.difference(partial(paired_bootstrap, resamples=run.settings.resamples)),
        "ROC-AUC x 100, less the other's",
    ),
    Measure("auc_t_test", lambda run: run.difference(paired_t_test), "the same by InFusE's t-test"),
    Measure("pearson", lambda run: run.of(metrics.pearson), "Pearson r"),
    Measure("spearman", lambda run: run.of(metrics.spearman), "Spearman rho"),
    Measure("kendall", lambda run: run.of(metrics.kendall), "Kendall tau"),
    Measure("best_macro_f1", lambda run: run.of(metrics.best_macro_f1)[0], "macro F1, best"),
    Measure("best_threshold", lambda run: run.of(metrics.best_macro_f1)[1]),
    Measure("macro_f1", lambda run: run.of(metrics.macro_f1, run.settings.threshold), "macro F1 at {:.3g}"),
    Measure("balanced_accuracy", lambda run: run.of(metrics.balanced_accuracy, run.settings.threshold)),
    Measure("balanced_accuracy_interval", lambda run: run.balanced(run.settings.threshold), "balanced accuracy at {:.3g}"),
    Measure("tuned_threshold", lambda run: run.settings.tuned, "threshold of the validation claims"),
    Measure("tuned_balanced_accuracy", lambda run: run.balanced(run.settings.tuned), "balanced accuracy at that"),
    Measure(
        "ece",
        lambda run: run.interval(partial(metrics.ece, bins=run.settings.bins), run.probabilities(), biased=True),
        "ECE",
    ),
    Measure("bins", lambda run: tuple(metrics.reliability(run.labels, run.probabilities(), run.settings.bins))),
    Measure(
        "best_of_group",
        lambda run: run.of(metrics.best_of_group, run.groups) if run.grouped else None,
        "best of group",
    ),
    Measure("margins", _Run.margins, split=lambda pairs: {f"best of group by {m:.3g}": share for m, share in pairs}),
    Measure(
        "systems",
        _Run.systems,
        split=lambda found: {"Pearson r over systems": found.pearson, "Spearman rho over systems": found.spearman},
    ),
    Measure("kinds", lambda run: tuple(run.kinds()), split=lambda kinds: {kind.title: str(kind) for kind in kinds}),
    Measure("evidence_hit", lambda run: _mean(starmap(evidence.hit, run.marked)), "evidence hit, first citation"),
    Measure("evidence_recall", lambda run: _mean(starmap(evidence.recall, run.marked)), "evidence recall, characters"),
    Measure(
        "evidence_precision",
        lambda run: _mean(starmap(evidence.precision, run.marked)),
        "evidence precision, characters",
    ),
    Measure("seconds", lambda run: _mean(result.seconds for result in run.scored), "seconds a claim"),
    Measure("calls", lambda run: _mean(result.calls for result in run.scored), "model calls a claim", digits=2),
    Measure("pairs", lambda run: _mean(result.pairs for result in run.scored), "pairs scored a claim", digits=1),
)
"""All measures, in the order of the table."""


def match(examples: Sequence[Example], results: Sequence[Result]) -> list[tuple[Example, Result]]:
    """The examples that have a claim, each with its result.

    Raises: InputError if `results` belong to other examples.
    """
    claims = [example for example in examples if example.claim.strip()]
    names = [(example.dataset, example.id) for example in claims]
    if names != [(result.dataset, result.id) for result in results]:
        raise InputError("the results are not of these examples; pass what `evaluate` returned for them")
    return list(zip(claims, results, strict=True))


def scored(examples: Sequence[Example], results: Sequence[Result]) -> tuple[list[float], list[float]]:
    """Labels and scores of the claims that have both. Raises: InputError if `results` belong to other examples."""
    both = [(e.label, r.value) for e, r in match(examples, results) if e.label is not None and r.value is not None]
    return [label for label, _ in both], [value for _, value in both]


def scored_sets(examples: Sequence[Example], results: Sequence[Result]) -> dict[str, tuple[list[float], list[float]]]:
    """Labels and scores as from `scored`, by data set."""
    return {
        name: scored([e for e in examples if e.dataset == name], [r for r in results if r.dataset == name])
        for name in dict.fromkeys(example.dataset for example in examples)
    }


def summarise(
    examples: Sequence[Example],
    results: Sequence[Result],
    *,
    threshold: float = 0.5,
    bins: int = 10,
    resamples: int = 1000,
    seed: int = 0,
    tuned: Mapping[str, float] | None = None,
    against: Sequence[Result] = (),
    stretch: bool = False,
) -> list[Summary]:
    """Summarise the results of `evaluate`, a summary for each data set, in order of appearance.

        summarise(examples, evaluate(scorer, examples))

    Args:
        tuned: A threshold for each data set that was chosen on other claims.
        against: The results of another scorer on the same claims.
        stretch: Map the scores to the range 0 to 1 for the calibration error (SCALE, table 4).
    """
    others: dict[tuple[str, str], float | None] = {}
    for result in against:
        place = (result.dataset, result.id)
        if place in others:
            raise InputError(f"claim {place[1]} of {place[0]} was scored by several runs; name a file of one run")
        others[place] = result.value
    rows, settings = match(examples, results), {"bins": bins, "resamples": resamples, "seed": seed, "stretch": stretch}
    return [
        _summarise(
            [example for example in examples if example.dataset == name],
            [row for row in rows if row[0].dataset == name],
            dataset=name,
            threshold=threshold,
            tuned=(tuned or {}).get(name),
            others=others,
            **settings,
        )
        for name in dict.fromkeys(example.dataset for example in examples)
    ]


def _summarise(examples: Sequence[Example], rows: Sequence[tuple[Example, Result]], **settings: Any) -> Summary:
    run, values, notes = _Run(examples, rows, **settings), dict[str, Any](), dict[str, None]()
    for measure in MEASURES:
        try:
            values[measure.name] = measure.of(run)
        except InputError as error:
            values[measure.name] = None
            notes[str(error)] = None
    return Summary(**values, notes=tuple(notes))
