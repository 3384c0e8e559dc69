"""The commands `groundrail eval`, `calibrate` and `tune`: they print tables, JSON and pictures.

The other modules of this package do the work; `groundrail.evaluation.arguments` builds the scorer and reads the files.
`groundrail.cli.main` finds these commands as entry points and turns errors into messages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Literal

from groundrail.calibration import Calibration
from groundrail.cli.screen import as_json, progress
from groundrail.errors import InputError
from groundrail.evaluation.answer_summary import AnswerSummary, judge_answers, summarise_answers
from groundrail.evaluation.answers import ANSWER_FORMATS, answer_format
from groundrail.evaluation.arguments import Arguments, Named
from groundrail.evaluation.cited import FORMATS as CITED_FORMATS
from groundrail.evaluation.cited import MarkSummary, cited_format, load_cited, summarise_marks
from groundrail.evaluation.examples import Example
from groundrail.evaluation.kept import read_kept
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import best_balanced_accuracy
from groundrail.evaluation.run import Result, evaluate
from groundrail.evaluation.summary import Summary, scored, scored_sets, summarise
from groundrail.evaluation.tables import print_answer_summaries, print_mark_summaries, print_summaries, print_threshold
from groundrail.evaluation.thresholds import choose_threshold, fit_calibration


def _score(args: Arguments, named: Named, examples: list[Example], name: str = "results.jsonl") -> list[Result]:
    with progress("claims") as report:
        return evaluate(
            named.scorer,
            examples,
            results=None if args.out is None else args.out / name,
            settings=named.settings,
            units=args.units,
            aggregate=args.aggregate,
            splitter=args.splitter,
            counter=named.counter,
            progress=report,
        )


def _tuned(args: Arguments, named: Named, data: Sequence[Path], validation: Sequence[Path]) -> dict[str, float]:
    """The threshold with the best balanced accuracy on the validation file of each data set (SummaC's protocol).

    The validation results have a separate file, because a validation set may have the same name as the test set.
    """
    if len(validation) not in (0, 1, len(data)):
        raise InputError(f"--validation takes one file, or {len(data)} as --data does, not {len(validation)}")
    thresholds = {}
    for number, path in enumerate(validation):
        claims = args.claims([path])
        _, threshold = best_balanced_accuracy(*scored(claims, _score(args, named, claims, "validation.jsonl")))
        paths = data if len(validation) == 1 else [data[number]]
        names = {example.dataset for path in paths for example in load(path, args.format, args.documents)}
        thresholds.update(dict.fromkeys(names, threshold))
    return thresholds


def eval_(
    *,
    data: list[Path],
    args: Arguments = Arguments(),
    threshold: float | None = None,
    bins: int = 10,
    stretch: bool = False,
    plots: Path | None = None,
    validation: tuple[Path, ...] = (),
    leave_out: tuple[str, ...] = (),
    against: Path | None = None,
) -> int:
    """Measure a scorer on benchmark files of claims, of whole answers, or of answers that mark their documents.

    Args:
        threshold: where F1 and accuracy are taken (the scorer's own)
        bins: bins of the calibration error
        stretch: stretch scores to go from 0 to 1 before the calibration error
        plots: folder for pictures of calibration, ROC and precision-recall
        validation: claims to choose the threshold of balanced accuracy on: one file, or one for each of --data
        leave_out: kinds of marked passages of whole answers that count as supported
        against: another scorer's results.jsonl on these claims
    """
    if any((args.format or answer_format(path)) in ANSWER_FORMATS for path in data):
        claims_only = {"plots": plots, "validation": validation, "against": against, "context": args.context}
        given = [name for name, value in {**claims_only, "units": args.units}.items() if value]
        if given:
            raise InputError(f"--{given[0]} is for files of single claims; a guard judges whole answers as it always does")
        return _eval_answers(args, data, threshold, leave_out)
    if any((args.format or cited_format(path)) in CITED_FORMATS for path in data):
        return _eval_marks(args, data, threshold)
    named, examples = args.named(), args.claims(data)
    results = _score(args, named, examples)
    if against is not None and not against.is_file():
        raise InputError(f"{against}: there is no such file; name the results.jsonl of a run with --out")
    summaries = summarise(
        examples,
        results,
        threshold=threshold if threshold is not None else named.scorer.metadata.threshold,
        bins=bins,
        seed=args.seed,
        tuned=_tuned(args, named, data, validation),
        against=list(read_kept(against, Result).values()),
        stretch=stretch,
    )
    if plots is not None:
        _plot(summaries, scored_sets(examples, results), plots, named.name)
    return _report(args, summaries, partial(print_summaries, summaries, named.name))


def _eval_answers(args: Arguments, data: Sequence[Path], threshold: float | None, leave_out: Sequence[str]) -> int:
    """`groundrail eval` on files of whole answers."""
    from groundrail.guard import Guard
    from groundrail.policy import Policy

    named, answers = args.named(), args.answers(data, leave_out)
    guard = Guard(scorer=named.scorer, policy=Policy(threshold=threshold, fallback="flag"))
    with progress("answers") as report:
        results = None if args.out is None else args.out / "answers.jsonl"
        judged = judge_answers(guard, answers, results=results, settings=named.settings, progress=report)
    at = named.scorer.metadata.threshold if threshold is None else threshold
    summaries = summarise_answers(answers, judged, at, seed=args.seed)
    return _report(args, summaries, partial(print_answer_summaries, summaries, named.name))


def _eval_marks(args: Arguments, data: Sequence[Path], threshold: float | None) -> int:
    """`groundrail eval` on files of answers that mark their documents."""
    from groundrail.guard import Guard
    from groundrail.policy import Policy

    named = args.named()
    answers = [answer for path in data for answer in load_cited(path, args.format)]
    guard = Guard(scorer=named.scorer, policy=Policy(threshold=threshold, fallback="flag"))
    with progress("answers") as report:
        summaries = summarise_marks(guard, answers[: args.limit], report)
    return _report(args, summaries, partial(print_mark_summaries, summaries, named.name))


def _report(
    args: Arguments, summaries: Sequence[Summary | AnswerSummary | MarkSummary], print_table: Callable[[], None]
) -> int:
    """Write the summaries to the folder for results, and print them as JSON or as a table."""
    text = as_json(summaries)
    if args.out is not None:
        (args.out / "summary.json").write_text(text + "\n", encoding="utf-8")
    if args.json:
        print(text)
    else:
        print_table()
    return 0


def _plot(
    summaries: Sequence[Summary], sets: Mapping[str, tuple[list[float], list[float]]], folder: Path, scorer: str
) -> None:
    from groundrail.evaluation.plots import precision_recall_curve, reliability_diagram, roc_curve

    for summary in summaries:
        name = f"{scorer}-{summary.dataset}"
        if summary.bins:
            reliability_diagram(summary.bins, folder / f"{name}-reliability.png", name)
        if summary.auc:
            labels, scores = sets[summary.dataset]
            roc_curve(labels, scores, folder / f"{name}-roc.png", name)
            precision_recall_curve(labels, scores, folder / f"{name}-precision-recall.png", name)


def calibrate(
    data: list[Path],
    /,
    *,
    args: Arguments = Arguments(),
    false_release: float | None = None,
    false_block: float | None = None,
    confidence: float | None = None,
    map: Literal["isotonic", "platt"] | None = None,
    save_map: Path | None = None,
) -> int:
    """Find a threshold from labelled sentences.

    Args:
        false_release: the share of unsupported sentences that may be let out; this or the next
        false_block: the share of supported sentences that may be held back
        confidence: make the rate a promise for new sentences, kept with this probability over the labels (0.95, say)
        map: fit a calibration map first
        save_map: write threshold and map for a Policy to load, with the scorer that they hold for
    """
    if (false_release is None) == (false_block is None):
        raise InputError("pass one of --false-release and --false-block, a share from 0 to 1")
    claims = args.claims(data)
    choose = partial(choose_threshold, false_release=false_release, false_block=false_block, guarantee=confidence)
    known = [claim.label for claim in claims if claim.label is not None]
    choose(known, known)  # labels that are too few for a judge that is always right are said at once
    named = args.named()
    labels, scores = scored(claims, _score(args, named, claims))
    calibration = Calibration("none", (), ()) if map is None else fit_calibration(labels, scores, map)
    found = choose(labels, scores, method=map, seed=args.seed)
    calibration = replace(calibration, threshold=found.value, scorer=named.scorer.metadata.identity)
    if save_map is not None:
        calibration.save(save_map)
    left_out = len(claims) - len(labels)
    if args.json:
        print(as_json({**asdict(found), "left_out": left_out, "map": calibration}))
    else:
        print_threshold(found, map, left_out)
    return 0


def tune(data: list[Path], /, *, out: Path, limit: int | None = None, seed: int = 0, json: bool = False) -> int:
    """Train the built-in judge's head on labelled sentences of your own.

    Returns 0 if the judge is better and saved, else 1.

    Args:
        out: folder in which the judge is saved if it is better
        limit: use this number of claims of each file
        seed: seed of the sample and of the parts
        json: print JSON, not a table
    """
    from groundrail.evaluation.tuning import lines
    from groundrail.evaluation.tuning import tune as train

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists already: name a new or empty folder, so that no judge is overwritten")
    with progress("claims") as report:
        tuned = train(Arguments(limit=limit, seed=seed).claims(data), seed=seed, progress=report)
    if tuned.better:
        tuned.save(out)
    if json:
        print(as_json({"saved": tuned.better, "counts": tuned.counts, "rows": tuned.rows}))
        return 0 if tuned.better else 1
    training, validation, held_out = tuned.counts
    print(f"trained on {training} claims, stopped by {validation}, measured on {held_out} held out")
    for line in lines(tuned):
        print(line)
    if tuned.better:
        print(f"Better: saved in {out}, for Guard(judge={str(out)!r}).")
    else:
        print("Not better on the held-out claims, so nothing is saved: label more, or use `groundrail calibrate`.")
    return 0 if tuned.better else 1
