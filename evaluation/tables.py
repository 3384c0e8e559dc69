"""Print summaries and thresholds as tables (drawn by rich, extra `cli`).

`groundrail.evaluation.summary` and `.thresholds` compute the numbers and explain them.
"""

from collections.abc import Sequence
from typing import Any

from groundrail.cli.screen import console
from groundrail.evaluation.answer_summary import AnswerSummary, KindRate
from groundrail.evaluation.cited import MarkSummary
from groundrail.evaluation.comparison import Difference
from groundrail.evaluation.metrics import Interval
from groundrail.evaluation.summary import MEASURES, Summary
from groundrail.evaluation.thresholds import Rate, Threshold


def _cell(value: Any, scale: float = 1, digits: int = 3) -> str:
    match value:
        case None:
            return "–"
        case Interval(middle, low, high):
            return f"{middle * scale:.{digits}f} [{low * scale:.{digits}f}, {high * scale:.{digits}f}]"
        case Difference(middle, low, high, p):
            return f"{100 * middle:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}], p {p:.3f}"
        case float():
            return f"{value * scale:.{digits}f}"
    return str(value)


def print_summaries(summaries: Sequence[Summary], scorer: str) -> None:
    """Print a column for each data set, a row for each measure that any has, and notes on missing measures."""
    from rich.table import Table

    table = Table(title=f"{scorer} (95% intervals)", title_justify="left")
    table.add_column("measure")
    for summary in summaries:
        table.add_column(summary.dataset, justify="right")
    table.add_row("claims measured", *(f"{s.measured} of {s.claims}" for s in summaries))
    if any(s.empty or s.failed or s.unscored for s in summaries):
        table.add_row("empty / failed / no score", *(f"{s.empty} / {s.failed} / {s.unscored}" for s in summaries))
    for measure in MEASURES:
        columns = [measure.rows(summary) for summary in summaries]
        for title in sorted({title for rows in columns for title in rows}):
            table.add_row(title, *(_cell(rows.get(title), measure.scale, measure.digits) for rows in columns))
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
                table.add_row(name, *(_cell(getattr(one, measure), 100, 1) for one in found))
    table.add_row("span: F1 if every sentence is judged rightly", *(f"{100 * s.best_span_f1:.1f}" for s in summaries))
    table.add_row("seconds an answer", *(_cell(s.seconds, digits=2) for s in summaries))
    rates = [{(each.wrong, each.kind): each for each in summary.kinds} for summary in summaries]
    for wrong, kind in dict.fromkeys(key for found in rates for key in found):
        cells = [found.get((wrong, kind)) for found in rates]
        table.add_row(f"{'wrong, caught' if wrong else 'right, out'}: {kind}", *(map(_share, cells)))
    console().print(table)


def print_mark_summaries(summaries: Sequence[MarkSummary], scorer: str) -> None:
    """Print citation recall and precision x 100, a row for each data set."""
    from rich.table import Table

    table = Table(title=f"{scorer}: marks of documents (x 100)", title_justify="left")
    for name in ("data", "answers", "sentences", "marks", "recall", "precision"):
        table.add_column(name, justify="left" if name == "data" else "right")
    for each in summaries:
        rates = (f"{100 * each.recall:.1f}", f"{100 * each.precision:.1f}")
        table.add_row(each.dataset, str(each.answers), str(each.sentences), str(each.marks), *rates)
    console().print(table)


def _share(rate: KindRate | None) -> str:
    return f"{100 * rate.decided_rightly / rate.total:.1f} ({rate.decided_rightly}/{rate.total})" if rate else "–"


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
