"""What a benchmark run amounts to: every measure the labels allow, and why the others are missing.

The measures themselves are in `groundrail.evaluation.metrics` and `.evidence`; printing is left to the
command line.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from groundrail.errors import InputError
from groundrail.evaluation import evidence, metrics
from groundrail.evaluation.examples import Example
from groundrail.evaluation.metrics import Bin, Interval
from groundrail.evaluation.run import Result

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind:
    """How many of the claims made in one way, with one label, were decided rightly at the threshold."""

    name: str
    label: float
    right: int
    total: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One scorer on one data set. A measure is None where `notes` say why.

    Of `claims`, `empty` had no words, `failed` made the scorer fail and `unscored` got no number; only the
    `measured` rest, which also have a label, enter the measures. Counts of model calls and seconds are a
    claim. `threshold` is where `macro_f1` and `balanced_accuracy` are taken, `best_threshold` where
    `best_macro_f1` is. `evidence_hit` is the share of the `with_evidence` claims whose first citation touches
    the evidence; recall and precision are by characters over all citations.
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
    pearson: float | None
    kendall: float | None
    macro_f1: float | None
    best_macro_f1: float | None
    best_threshold: float | None
    balanced_accuracy: float | None
    ece: Interval | None
    bins: tuple[Bin, ...]
    best_of_group: float | None
    kinds: tuple[Kind, ...]
    evidence_hit: float | None
    evidence_recall: float | None
    evidence_precision: float | None
    seconds: float | None
    calls: float | None
    pairs: float | None
    notes: tuple[str, ...]


def match(examples: Sequence[Example], results: Sequence[Result]) -> list[tuple[Example, Result]]:
    """Examples that have a claim, each with its result.

    Raises: InputError where `results` are not of these examples.
    """
    claims = [example for example in examples if example.claim.strip()]
    names = [(example.dataset, example.id) for example in claims]
    if names != [(result.dataset, result.id) for result in results]:
        raise InputError("the results are not of these examples; pass what `evaluate` returned for them")
    return list(zip(claims, results, strict=True))


def labelled(pairs: Sequence[tuple[Example, Result]]) -> tuple[list[float], list[float], list[str | None]]:
    """Label, score and group of every claim that has both a label and a score."""
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
) -> list[Summary]:
    """One summary a data set, in order of appearance. `results` are those of `evaluate` for `examples`."""
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
) -> Summary:
    notes: list[str] = []

    def attempt(measure: Callable[[], T]) -> T | None:
        try:
            return measure()
        except InputError as error:
            if str(error) not in notes:
                notes.append(str(error))
            return None

    y, s, groups = labelled(rows)
    best = attempt(lambda: metrics.best_macro_f1(y, s))
    marked = [(row, example.evidence) for example, row in rows if example.evidence and row.error is None]
    scored = [row for _, row in rows if row.error is None]
    grouped = any(group is not None for group in groups)
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
        auc=attempt(lambda: metrics.bootstrap(metrics.roc_auc, y, s, resamples=resamples, seed=seed)),
        pearson=attempt(lambda: metrics.pearson(y, s)),
        kendall=attempt(lambda: metrics.kendall(y, s)),
        macro_f1=attempt(lambda: metrics.macro_f1(y, s, threshold)),
        best_macro_f1=best[0] if best else None,
        best_threshold=best[1] if best else None,
        balanced_accuracy=attempt(lambda: metrics.balanced_accuracy(y, s, threshold)),
        ece=attempt(
            lambda: metrics.bootstrap(
                lambda a, b: metrics.ece(a, b, bins), y, s, resamples=resamples, seed=seed, biased=True
            )
        ),
        bins=tuple(attempt(lambda: metrics.reliability(y, s, bins)) or ()),
        best_of_group=attempt(lambda: metrics.best_of_group(y, s, groups)) if grouped else None,
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
    decided: dict[tuple[float, str], list[bool]] = {}
    for example, result in rows:
        if example.kind is not None and example.label is not None and result.value is not None:
            right = (result.value >= threshold) == (example.label >= 1)
            decided.setdefault((example.label, example.kind), []).append(right)
    for (label, name), hits in sorted(decided.items()):
        yield Kind(name, label, sum(hits), len(hits))
