"""Print summaries and thresholds as tables (drawn by rich, extra `cli`).

`groundrail.evaluation.summary` and `.calibration` compute the numbers and explain them.
"""

from collections.abc import Sequence

from groundrail.cli.screen import console
from groundrail.evaluation.answer_summary import AnswerSummary
from groundrail.evaluation.comparison import Difference
from groundrail.evaluation.metrics import Interval
from groundrail.evaluation.summary import Summary
from groundrail.evaluation.thresholds import Rate, Threshold


def _interval(value: Interval | None, scale: float = 1.0, digits: int = 3) -> str:
    if value is None:
        return "–"
    return f"{value.value * scale:.{digits}f} [{value.low * scale:.{digits}f}, {value.high * scale:.{digits}f}]"


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _difference(value: Difference | None) -> str:
    if value is None:
        return "–"
    return f"{100 * value.value:+.1f} [{100 * value.low:+.1f}, {100 * value.high:+.1f}], p {value.p:.3f}"


def print_summaries(summaries: Sequence[Summary], scorer: str) -> None:
    """Print a column for each data set, a row for each measure, and notes on missing measures."""
    from rich.table import Table

    table = Table(title=f"{scorer} (95% intervals)", title_justify="left")
    table.add_column("measure")
    for summary in summaries:
        table.add_column(summary.dataset, justify="right")

    def row(name: str, cells: Sequence[str]) -> None:
        table.add_row(name, *cells)

    row("claims measured", [f"{s.measured} of {s.claims}" for s in summaries])
    if any(s.empty or s.failed or s.unscored for s in summaries):
        row("empty / failed / no score", [f"{s.empty} / {s.failed} / {s.unscored}" for s in summaries])
    row("mean score", [_number(s.mean_score) for s in summaries])
    row("ROC-AUC x 100", [_interval(s.auc, 100, 1) for s in summaries])
    row("average precision", [_number(s.average_precision) for s in summaries])
    if any(s.auc_difference for s in summaries):
        row("ROC-AUC x 100, less the other's", [_difference(s.auc_difference) for s in summaries])
    if any(s.auc_t_test for s in summaries):
        row("the same by InFusE's t-test", [_difference(s.auc_t_test) for s in summaries])
    row("Pearson r", [_number(s.pearson) for s in summaries])
    row("Spearman rho", [_number(s.spearman) for s in summaries])
    row("Kendall tau", [_number(s.kendall) for s in summaries])
    row("macro F1, best", [_number(s.best_macro_f1) for s in summaries])
    row(f"macro F1 at {summaries[0].threshold:.3g}", [_number(s.macro_f1) for s in summaries])
    row(
        f"balanced accuracy at {summaries[0].threshold:.3g}",
        [_interval(s.balanced_accuracy_interval) for s in summaries],
    )
    if any(s.tuned_threshold is not None for s in summaries):
        row("threshold of the validation claims", [_number(s.tuned_threshold) for s in summaries])
        row("balanced accuracy at that", [_interval(s.tuned_balanced_accuracy) for s in summaries])
    row("ECE", [_interval(s.ece) for s in summaries])
    if any(s.best_of_group is not None for s in summaries):
        row("best of group", [_number(s.best_of_group) for s in summaries])
    for margin in sorted({margin for s in summaries for margin, _ in s.margins}):
        row(f"best of group by {margin:.3g}", [_number(dict(s.margins).get(margin)) for s in summaries])
    if any(s.systems for s in summaries):
        row("Pearson r over systems", [_number(s.systems.pearson if s.systems else None) for s in summaries])
        row("Spearman rho over systems", [_number(s.systems.spearman if s.systems else None) for s in summaries])
    for label, name in sorted({(kind.label, kind.name) for s in summaries for kind in s.kinds}):
        cells = [
            "".join(
                f"{k.right} of {k.total}, median {k.quartiles[1]:.2f}"
                for k in s.kinds
                if (k.label, k.name) == (label, name)
            )
            for s in summaries
        ]
        row(f"{'released' if label >= 1 else 'blocked'}: {name}", cells)
    if any(s.with_evidence for s in summaries):
        row("evidence hit, first citation", [_number(s.evidence_hit) for s in summaries])
        row("evidence recall, characters", [_number(s.evidence_recall) for s in summaries])
        row("evidence precision, characters", [_number(s.evidence_precision) for s in summaries])
    row("seconds a claim", [_number(s.seconds) for s in summaries])
    row("model calls a claim", [_number(s.calls, 2) for s in summaries])
    row("pairs scored a claim", [_number(s.pairs, 1) for s in summaries])
    out = console()
    out.print(table)
    for summary in summaries:
        for note in summary.notes:
            out.print(f"{summary.dataset}: {note}", markup=False)


def print_answer_summaries(summaries: Sequence[AnswerSummary], scorer: str) -> None:
    """Print a column for each data set: measures x 100 for answers, sentences and passages."""
    from rich.table import Table

    title = f"{scorer} at {summaries[0].threshold:.3g} (x 100, 95% intervals; unsupported is what is to be found)"
    table = Table(title=title, title_justify="left")
    table.add_column("measure", no_wrap=True)
    for summary in summaries:
        table.add_column(summary.dataset, justify="right")
    table.add_row("answers, unsupported", *(f"{s.answers}, {s.unsupported_answers}" for s in summaries))
    table.add_row("sentences, unsupported", *(f"{s.sentences}, {s.unsupported_sentences}" for s in summaries))
    table.add_row("without a claim / failed", *(f"{s.claimless} / {s.errors}" for s in summaries))
    for level in ("answer", "sentence", "span"):
        found = [getattr(summary, f"{level}_level") for summary in summaries]
        for measure in ("balanced_accuracy", "precision", "recall", "f1"):
            if level != "span" or measure != "balanced_accuracy":
                name = f"{level}: {measure.replace('_', ' ').replace('f1', 'F1')}"
                table.add_row(name, *(_interval(getattr(one, measure), 100, 1) for one in found))
    table.add_row("span: F1 if every sentence is judged rightly", *(f"{100 * s.best_span_f1:.1f}" for s in summaries))
    table.add_row("seconds an answer", *(_number(s.seconds, 2) for s in summaries))
    console().print(table)


def print_threshold(found: Threshold, method: str | None, left_out: int) -> None:
    """Print a threshold with both error rates; `method` names the map of scores, if there is one."""
    out = console()
    on = f" on the {method} map's values" if method else ""
    out.print(f"threshold{on}: {found.value:.6g}")
    out.print(f"unsupported sentences let out: {_rate(found.false_release)}")
    out.print(f"supported sentences held back: {_rate(found.false_block)}")
    if found.guarantee is not None:
        out.print(f"the rate asked for holds for new sentences at {found.guarantee:.3g} confidence over the labels")
    if found.held_out_false_release and found.held_out_false_block:
        out.print(f"held out, let out: {_rate(found.held_out_false_release)}")
        out.print(f"held out, held back: {_rate(found.held_out_false_block)}")
    if left_out:
        out.print(f"left out for want of a claim, label or score: {left_out}")


def _rate(rate: Rate) -> str:
    return f"{rate.value:.1%} ({rate.errors} of {rate.total}; 95%: {rate.low:.1%} to {rate.high:.1%})"
