"""Summaries of a benchmark run: every measure that the labels allow, and reasons for the missing measures.

The measures are in `groundrail.evaluation.metrics` and `.evidence`; the command line prints them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TypeVar

import numpy as np

from groundrail.errors import InputError
from groundrail.evaluation import evidence, metrics
from groundrail.evaluation.comparison import Difference, paired_bootstrap, paired_t_test
from groundrail.evaluation.examples import Example
from groundrail.evaluation.metrics import Bin, Floats, Interval
from groundrail.evaluation.run import Result
from groundrail.evaluation.systems import SystemCorrelation, by_system

T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Summary:
    """The measures of one scorer on one data set. A measure is None if `notes` gives a reason.

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

    dataset: str
    claims: int
    empty: int
    failed: int
    unscored: int
    measured: int
    with_evidence: int
    mean_score: float | None
    threshold: float
    auc: Interval | None
    average_precision: float | None
    auc_difference: Difference | None
    auc_t_test: Difference | None
    pearson: float | None
    spearman: float | None
    kendall: float | None
    macro_f1: float | None
    best_macro_f1: float | None
    best_threshold: float | None
    balanced_accuracy: float | None
    balanced_accuracy_interval: Interval | None
    tuned_threshold: float | None
    tuned_balanced_accuracy: Interval | None
    ece: Interval | None
    bins: tuple[Bin, ...]
    best_of_group: float | None
    margins: tuple[tuple[float, float], ...]
    systems: SystemCorrelation | None
    kinds: tuple[Kind, ...]
    evidence_hit: float | None
    evidence_recall: float | None
    evidence_precision: float | None
    seconds: float | None
    calls: float | None
    pairs: float | None
    notes: tuple[str, ...]


def match(examples: Sequence[Example], results: Sequence[Result]) -> list[tuple[Example, Result]]:
    """The examples that have a claim, each with its result.

    Raises: InputError if `results` belong to other examples.
    """
    claims = [example for example in examples if example.claim.strip()]
    names = [(example.dataset, example.id) for example in claims]
    if names != [(result.dataset, result.id) for result in results]:
        raise InputError("the results are not of these examples; pass what `evaluate` returned for them")
    return list(zip(claims, results, strict=True))


def labelled(pairs: Sequence[tuple[Example, Result]]) -> tuple[list[float], list[float], list[str | None]]:
    """Labels, scores and groups of the claims that have both a label and a score."""
    kept = [
        (example.label, result.value, example.group)
        for example, result in pairs
        if example.label is not None and result.value is not None
    ]
    return [row[0] for row in kept], [row[1] for row in kept], [row[2] for row in kept]


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
    others = _values(against)
    rows = match(examples, results)
    return [
        _summarise(
            name,
            [example for example in examples if example.dataset == name],
            [row for row in rows if row[0].dataset == name],
            threshold,
            bins,
            resamples,
            seed,
            (tuned or {}).get(name),
            others,
            stretch,
        )
        for name in dict.fromkeys(example.dataset for example in examples)
    ]


def _summarise(
    name: str,
    examples: Sequence[Example],
    rows: Sequence[tuple[Example, Result]],
    threshold: float,
    bins: int,
    resamples: int,
    seed: int,
    tuned: float | None,
    others: Mapping[tuple[str, str], float | None],
    stretch: bool,
) -> Summary:
    notes: list[str] = []

    def attempt(measure: Callable[[], T]) -> T | None:
        try:
            return measure()
        except InputError as error:
            if str(error) not in notes:
                notes.append(str(error))
            return None

    def interval(measure: Callable[[Floats, Floats], float]) -> Interval | None:
        return attempt(lambda: metrics.bootstrap(measure, y, s, resamples=resamples, seed=seed))

    def calibration_error() -> Interval:
        measure = partial(metrics.ece, bins=bins)
        return metrics.bootstrap(measure, y, probabilities(), resamples=resamples, seed=seed, biased=True)

    def probabilities() -> Sequence[float]:
        return metrics.min_max(s).tolist() if stretch else s

    def difference(test: Callable[..., Difference]) -> Difference:
        both = [(e.label, r.value, others.get((e.dataset, e.id))) for e, r in rows if e.label is not None]
        shared = [row for row in both if row[1] is not None and row[2] is not None]
        if not shared or len(shared) < len(y):
            raise InputError(f"the other scorer has a score for {len(shared)} of the {len(y)} claims measured here")
        return test(metrics.roc_auc, *zip(*shared, strict=True), seed=seed)

    y, s, groups = labelled(rows)
    best = attempt(lambda: metrics.best_macro_f1(y, s))
    marked = [(row, example.evidence) for example, row in rows if example.evidence and row.error is None]
    scored = [row for _, row in rows if row.error is None]
    grouped = any(group is not None for group in groups)
    systems = [e.system for e, r in rows if e.label is not None and r.value is not None]
    unbounded = grouped and (min(s) < 0 or max(s) > 1)
    return Summary(
        dataset=name,
        claims=len(examples),
        empty=len(examples) - len(rows),
        failed=len(rows) - len(scored),
        unscored=sum(row.value is None for row in scored),
        measured=len(y),
        with_evidence=len(marked),
        mean_score=fmean(s) if s else None,
        threshold=threshold,
        auc=interval(metrics.roc_auc),
        average_precision=attempt(lambda: metrics.average_precision(y, s)),
        auc_difference=attempt(lambda: difference(partial(paired_bootstrap, resamples=resamples))) if others else None,
        auc_t_test=attempt(lambda: difference(paired_t_test)) if others else None,
        pearson=attempt(lambda: metrics.pearson(y, s)),
        spearman=attempt(lambda: metrics.spearman(y, s)),
        kendall=attempt(lambda: metrics.kendall(y, s)),
        macro_f1=attempt(lambda: metrics.macro_f1(y, s, threshold)),
        best_macro_f1=best[0] if best else None,
        best_threshold=best[1] if best else None,
        balanced_accuracy=attempt(lambda: metrics.balanced_accuracy(y, s, threshold)),
        balanced_accuracy_interval=interval(partial(metrics.balanced_accuracy, threshold=threshold)),
        tuned_threshold=tuned,
        tuned_balanced_accuracy=None
        if tuned is None
        else interval(partial(metrics.balanced_accuracy, threshold=tuned)),
        ece=attempt(calibration_error),
        bins=tuple(attempt(lambda: metrics.reliability(y, probabilities(), bins)) or ()),
        best_of_group=attempt(lambda: metrics.best_of_group(y, s, groups)) if grouped else None,
        margins=attempt(lambda: tuple((m, metrics.best_of_group(y, s, groups, m)) for m in MARGINS)) or ()
        if unbounded
        else (),
        systems=attempt(lambda: by_system(y, s, systems)) if len(set(systems) - {None}) > 2 else None,
        kinds=tuple(_kinds(rows, threshold)),
        evidence_hit=fmean(evidence.hit(r.citations, e) for r, e in marked) if marked else None,
        evidence_recall=fmean(evidence.recall(r.citations, e) for r, e in marked) if marked else None,
        evidence_precision=fmean(evidence.precision(r.citations, e) for r, e in marked) if marked else None,
        seconds=fmean(row.seconds for row in scored) if scored else None,
        calls=fmean(row.calls for row in scored) if scored else None,
        pairs=fmean(row.pairs for row in scored) if scored else None,
        notes=tuple(notes),
    )


def _kinds(rows: Sequence[tuple[Example, Result]], threshold: float) -> Iterator[Kind]:
    scores: dict[tuple[float, str], list[float]] = {}
    for example, result in rows:
        if example.kind is not None and example.label is not None and result.value is not None:
            scores.setdefault((example.label, example.kind), []).append(result.value)
    for (label, name), found in sorted(scores.items()):
        right = sum((score >= threshold) == (label >= 1) for score in found)
        first, second, third = map(float, np.quantile(found, [0.25, 0.5, 0.75]))
        yield Kind(name, label, right, len(found), (first, second, third))


def _values(results: Sequence[Result]) -> dict[tuple[str, str], float | None]:
    """The values of another scorer by claim. Raises: InputError if several runs scored the same claim."""
    values: dict[tuple[str, str], float | None] = {}
    for result in results:
        place = (result.dataset, result.id)
        if place in values:
            raise InputError(
                f"claim {result.id} of {result.dataset} was scored by several runs; name a file of one run"
            )
        values[place] = result.value
    return values
