"""The commands `groundrail eval`, `calibrate` and `tune`: they parse arguments and print tables, JSON and pictures.

The other modules of this package do the work; `groundrail.evaluation.arguments` builds the scorer and reads the files.
`groundrail.cli.main` adds these commands and turns errors into messages.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from groundrail.calibration import Calibration
from groundrail.errors import InputError
from groundrail.evaluation.answer_summary import judge_answers, summarise_answers
from groundrail.evaluation.answers import ANSWER_FORMATS, MARKS, answer_format
from groundrail.evaluation.arguments import Named, add_arguments, named_scorer, read_answers, read_claims
from groundrail.evaluation.calibration import fit_calibration
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import best_balanced_accuracy
from groundrail.evaluation.run import Result, evaluate, read_results
from groundrail.evaluation.summary import Summary, labelled, match, summarise
from groundrail.evaluation.tables import (
    Progress,
    finite,
    print_answer_summaries,
    print_json,
    print_summaries,
    print_threshold,
)
from groundrail.evaluation.thresholds import choose_threshold

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_eval_parser(subparsers: "Subparsers") -> None:
    """Add the command `eval`, which calls `run_eval`."""
    parser = subparsers.add_parser("eval", help="measure a scorer on benchmark files")
    parser.add_argument("--data", nargs="+", required=True, type=Path, metavar="FILE")
    add_arguments(parser)
    parser.add_argument("--threshold", type=float, help="where F1 and accuracy are taken (the scorer's own)")
    parser.add_argument("--bins", type=int, default=10, help="bins of the calibration error")
    parser.add_argument(
        "--stretch", action="store_true", help="stretch scores to go from 0 to 1 before the calibration error"
    )
    parser.add_argument("--plots", type=Path, metavar="DIR", help="calibration, ROC and precision-recall as PNG")
    parser.add_argument(
        "--validation",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="claims to choose the threshold of balanced accuracy on: one file, or one for each of --data",
    )
    parser.add_argument(
        "--leave-out",
        nargs="+",
        choices=MARKS,
        default=[],
        metavar="KIND",
        help=f"kinds of marked passages of whole answers that count as supported: {', '.join(MARKS)}",
    )
    parser.add_argument("--against", type=Path, metavar="FILE", help="another scorer's results.jsonl on these claims")
    parser.set_defaults(run=run_eval)


def add_calibrate_parser(subparsers: "Subparsers") -> None:
    """Add the command `calibrate`, which calls `run_calibrate`."""
    parser = subparsers.add_parser("calibrate", help="find a threshold from labelled sentences")
    parser.add_argument("data", nargs="+", type=Path, metavar="LABELLED")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--false-release", type=float, metavar="RATE", help="unsupported sentences let out")
    target.add_argument("--false-block", type=float, metavar="RATE", help="supported sentences held back")
    parser.add_argument(
        "--confidence",
        type=float,
        metavar="SHARE",
        help="make the rate a promise for new sentences, kept with this probability over the labels (0.95, say)",
    )
    parser.add_argument("--map", choices=("isotonic", "platt"), help="fit a calibration map first")
    parser.add_argument(
        "--save-map",
        type=Path,
        metavar="FILE",
        help="write threshold and map for a Policy to load, with the scorer that they hold for",
    )
    add_arguments(parser)
    parser.set_defaults(run=run_calibrate)


def add_tune_parser(subparsers: "Subparsers") -> None:
    """Add the command `tune`, which calls `run_tune`."""
    parser = subparsers.add_parser("tune", help="train the built-in judge's head on labelled sentences of your own")
    parser.add_argument("data", nargs="+", type=Path, metavar="LABELLED")
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help="where the judge is saved if it is better"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="use N claims of each file")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample and of the parts")
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    parser.set_defaults(run=run_tune, format=None, documents=None, context=False, pool=None)


@dataclass(frozen=True, slots=True)
class _Run:
    examples: list[Example]
    results: list[Result]

    def of(self, dataset: str) -> "_Run":
        """The examples and results of one data set."""
        return _Run(
            [example for example in self.examples if example.dataset == dataset],
            [result for result in self.results if result.dataset == dataset],
        )

    def labelled(self) -> tuple[list[float], list[float]]:
        """Labels and scores."""
        labels, scores, _ = labelled(match(self.examples, self.results))
        return labels, scores


def _score(args: argparse.Namespace, named: Named, examples: list[Example], name: str = "results.jsonl") -> _Run:
    with Progress() as progress:
        results = evaluate(
            named.scorer,
            examples,
            results=None if args.out is None else args.out / name,
            settings=named.settings,
            units=args.units,
            aggregate=args.aggregate,
            splitter=args.splitter,
            counter=named.counter,
            progress=progress,
        )
    return _Run(examples, results)


def _tuned(args: argparse.Namespace, named: Named) -> dict[str, float]:
    """The threshold with the best balanced accuracy on the validation file of each data set (SummaC's protocol).

    The validation results have a separate file, because a validation set may have the same name as the test set.
    """
    if len(args.validation) not in (0, 1, len(args.data)):
        raise InputError(f"--validation takes one file, or {len(args.data)} as --data does, not {len(args.validation)}")
    thresholds = {}
    for number, path in enumerate(args.validation):
        found = _score(args, named, read_claims(args, [path]), "validation.jsonl")
        _, threshold = best_balanced_accuracy(*found.labelled())
        paths = args.data if len(args.validation) == 1 else [args.data[number]]
        names = {example.dataset for data in paths for example in load(data, args.format, args.documents)}
        thresholds.update(dict.fromkeys(names, threshold))
    return thresholds


def run_eval(args: argparse.Namespace) -> int:
    """Run `groundrail eval`. Raises: GroundrailError for errors that the caller can correct."""
    if any((args.format or answer_format(path)) in ANSWER_FORMATS for path in args.data):
        return _eval_answers(args)
    named, examples = named_scorer(args), read_claims(args, args.data)
    run = _score(args, named, examples)
    if args.against is not None and not args.against.is_file():
        raise InputError(f"{args.against}: there is no such file; name the results.jsonl of a run with --out")
    summaries = summarise(
        run.examples,
        run.results,
        threshold=args.threshold if args.threshold is not None else named.scorer.facts.threshold,
        bins=args.bins,
        seed=args.seed,
        tuned=_tuned(args, named),
        against=list(read_results(args.against).values()) if args.against else (),
        stretch=args.stretch,
    )
    if args.out is not None:
        report = json.dumps(finite([asdict(summary) for summary in summaries]), indent=1)
        (args.out / "summary.json").write_text(report + "\n", encoding="utf-8")
    if args.plots is not None:
        _plot(run, summaries, args.plots, named.name)
    if args.json:
        print_json([asdict(summary) for summary in summaries])
    else:
        print_summaries(summaries, named.name)
    return 0


def _eval_answers(args: argparse.Namespace) -> int:
    """Run `groundrail eval` on files of whole answers."""
    from groundrail.guard import Guard
    from groundrail.policy import Policy

    of_claims = ("plots", "validation", "against", "context")
    given = [name for name in of_claims if getattr(args, name)] + (["units"] if args.units else [])
    if given:
        raise InputError(f"--{given[0]} is of files of single claims; whole answers are judged as a guard judges them")
    named, answers = named_scorer(args), read_answers(args, args.data)
    guard = Guard(scorer=named.scorer, policy=Policy(threshold=args.threshold, fallback="flag"))
    with Progress("answers") as progress:
        results = None if args.out is None else args.out / "answers.jsonl"
        judged = judge_answers(guard, answers, results=results, settings=named.settings, progress=progress)
    threshold = named.scorer.facts.threshold if args.threshold is None else args.threshold
    summaries = summarise_answers(answers, judged, threshold, seed=args.seed)
    if args.out is not None:
        report = json.dumps(finite([asdict(summary) for summary in summaries]), indent=1)
        (args.out / "summary.json").write_text(report + "\n", encoding="utf-8")
    if args.json:
        print_json([asdict(summary) for summary in summaries])
    else:
        print_answer_summaries(summaries, args.scorer)
    return 0


def _plot(run: _Run, summaries: Sequence[Summary], folder: Path, scorer: str) -> None:
    from groundrail.evaluation.plots import precision_recall_curve, reliability_diagram, roc_curve

    for summary in summaries:
        name = f"{scorer}-{summary.dataset}"
        if summary.bins:
            reliability_diagram(summary.bins, folder / f"{name}-reliability.png", name)
        if summary.auc:
            labels, scores = run.of(summary.dataset).labelled()
            roc_curve(labels, scores, folder / f"{name}-roc.png", name)
            precision_recall_curve(labels, scores, folder / f"{name}-precision-recall.png", name)


def run_calibrate(args: argparse.Namespace) -> int:
    """Run `groundrail calibrate`. Raises: GroundrailError for errors that the caller can correct."""
    named = named_scorer(args)
    run = _score(args, named, read_claims(args, args.data))
    labels, scores = run.labelled()
    calibration = Calibration("none", (), ()) if args.map is None else fit_calibration(labels, scores, args.map)
    found = choose_threshold(
        labels,
        scores,
        false_release=args.false_release,
        false_block=args.false_block,
        method=args.map,
        guarantee=args.confidence,
        seed=args.seed,
    )
    calibration = replace(calibration, threshold=found.value, scorer=named.scorer.facts.identity)
    if args.save_map is not None:
        calibration.save(args.save_map)
    left_out = len(run.examples) - len(labels)
    if args.json:
        report = {"left_out": left_out, "map": asdict(calibration)}
        print_json({**asdict(found), **report})
        return 0
    print_threshold(found, args.map, left_out)
    return 0


def run_tune(args: argparse.Namespace) -> int:
    """Run `groundrail tune`; return 0 if the judge is better and saved, else 1. Raises: GroundrailError."""
    from groundrail.evaluation.tuning import lines, tune

    if args.out.exists() and (not args.out.is_dir() or any(args.out.iterdir())):
        raise InputError(f"{args.out} exists already: name a new or empty folder, so that no judge is overwritten")
    with Progress() as progress:
        tuned = tune(read_claims(args, args.data), seed=args.seed, progress=progress)
    if tuned.better:
        tuned.save(args.out)
    if args.json:
        print_json({"saved": tuned.better, "counts": tuned.counts, "rows": [asdict(row) for row in tuned.rows]})
        return 0 if tuned.better else 1
    training, validation, held_out = tuned.counts
    print(f"trained on {training} claims, stopped by {validation}, measured on {held_out} held out")
    for line in lines(tuned):
        print(line)
    if tuned.better:
        print(f"Better: saved in {args.out}, for NearestScorer({str(args.out)!r}).")
    else:
        print("Not better on the held-out claims, so nothing is saved: label more, or use `groundrail calibrate`.")
    return 0 if tuned.better else 1
