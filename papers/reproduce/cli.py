"""The command `groundrail reproduce`: compute a paper's table and print it beside the paper's figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundrail.cli.scorers import Settings, parsed_settings
from groundrail.cli.screen import as_json, console, progress
from groundrail.errors import InputError

if TYPE_CHECKING:
    from groundrail.papers.reproduce.table import Figures, Job


def reproduce(
    table: str | None = None,
    /,
    *,
    data: Path | None = None,
    model: str | None = None,
    set: Settings = (),
    limit: int | None = None,
    out: Path | None = None,
    json: bool = False,
    smoke: bool = False,
) -> int:
    """Work out a paper's table again; without a name, list the tables.

    Args:
        table: a name such as scale-table5
        data: folder with the table's files, as they are published
        model: another model than the paper's, built-in for the built-in judge
        set: NAME=VALUE, another setting than the paper's
        limit: measure this number of claims of each data set
        out: write scores and pictures here; run again to continue
        json: print JSON, not a table
        smoke: ten bundled rows and the built-in judge: does it run?
    """
    from groundrail.papers.reproduce.table import Job
    from groundrail.papers.reproduce.tables import TABLES

    if table is None:
        for each in TABLES.values():
            print(f"{each.name:<13}  {each.title}")
        print("\nFiles and model of one: groundrail reproduce NAME. It runs with --data DIR.")
        return 0
    if table not in TABLES:
        raise InputError(f"no table is called {table!r}; there are {', '.join(TABLES)}")
    wanted = TABLES[table]
    if smoke == (data is not None):
        raise InputError(
            f"{table} reads {', '.join(wanted.files)} and asks {wanted.settings['model']}; "
            "name the folder with --data, or pass --smoke, and not both"
        )
    settings = parsed_settings(set) | ({} if model is None else {"model": model})
    with progress("claims") as report:
        job = Job(wanted, data, settings=settings, limit=limit, out=out, progress=report)
        here = wanted.run(job)
    if json:
        print(as_json(_report(job, here)))
    else:
        _print(job, here)
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
