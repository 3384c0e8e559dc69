"""The command `groundrail reproduce`: compute a paper's table and print it beside the paper's figures."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundrail.cli.scorers import parsed_settings
from groundrail.errors import InputError
from groundrail.evaluation.tables import Progress, console, print_json

if TYPE_CHECKING:
    from groundrail.papers.reproduce.table import Figures, Job

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_reproduce_parser(subparsers: "Subparsers") -> None:
    """Add the command `reproduce`, which calls `run_reproduce`."""
    parser = subparsers.add_parser("reproduce", help="work out a paper's table again; without a name, list them")
    parser.add_argument("table", nargs="?", metavar="TABLE", help="such as scale-table5")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the table's files, as they are published")
    parser.add_argument("--model", metavar="ID", help="another model than the paper's, built-in for the built-in judge")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another setting than the paper's"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="measure on N claims of each data set")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write scores and pictures here; run again to continue")
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    parser.add_argument("--smoke", action="store_true", help="ten bundled rows and the built-in judge: does it run?")
    parser.set_defaults(run=run_reproduce)


def run_reproduce(args: argparse.Namespace) -> int:
    """Run `groundrail reproduce`. Raises: GroundrailError for errors that the caller can correct."""
    from groundrail.papers.reproduce.table import Job
    from groundrail.papers.reproduce.tables import table_named

    if args.table is None:
        return _list()
    table = table_named(args.table)
    if args.smoke == (args.data is not None):
        needs = f"{table.name} reads {', '.join(table.files)} and asks {table.settings['model']}"
        raise InputError(f"{needs}; name the folder with --data, or pass --smoke, and not both")
    settings = parsed_settings(args.set) | ({} if args.model is None else {"model": args.model})
    with Progress() as progress:
        job = Job(table, args.data, settings=settings, limit=args.limit, out=args.out, progress=progress)
        here = table.run(job)
    if args.json:
        print_json(_report(job, here))
    else:
        _print(job, here)
    return 0


def _list() -> int:
    from groundrail.papers.reproduce.tables import TABLES

    for table in TABLES.values():
        print(f"{table.name:<13}  {table.title}")
    print("\nFiles and model of one: groundrail reproduce NAME. It runs with --data DIR.")
    return 0


def _print(job: "Job", here: "Figures") -> None:
    from rich.table import Table

    out, theirs = console(), job.theirs()
    out.print(job.table.title, markup=False)
    if job.smoke:
        out.print("Bundled rows: the figures here say nothing about quality.")
    shown = Table("row", "measure", "the paper", "here")
    for row in dict.fromkeys([*theirs, *here]):
        for measure in dict.fromkeys([*theirs.get(row, {}), *here.get(row, {})]):
            shown.add_row(row, measure, _number(theirs, row, measure), _number(here, row, measure))
    out.print(shown)
    for name, value in job.settings.items():
        out.print(f"{name}: {value}", markup=False)
    for note in (job.table.protocol, *dict.fromkeys(job.notes), f"{job.calls} model calls, {job.pairs} pairs."):
        out.print(note, markup=False)


def _number(figures: "Figures", row: str, measure: str) -> str:
    value = figures.get(row, {}).get(measure)
    return "–" if value is None else f"{value:.4g}"


def _report(job: "Job", here: "Figures") -> dict[str, Any]:
    return {
        "table": job.table.name,
        "settings": dict(job.settings),
        "smoke": job.smoke,
        "paper": job.theirs(),
        "here": here,
        "notes": [job.table.protocol, *job.notes],
        "calls": job.calls,
        "pairs": job.pairs,
    }
