"""Print the known judges as a table for a terminal or as JSON."""

import json

from rich import box
from rich.console import Console
from rich.table import Table

from groundrail.entailment.known import JUDGES

_WHOLE = ("judge", "size", "licence", "language")
"""Columns that are not folded in a narrow terminal."""


def print_judges(console: Console) -> None:
    """Print name, hub id, size, licence, language and published figures of each judge, then an example."""
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for title in ("judge", "hub id", "size", "licence", "language", "published"):
        table.add_column(title, overflow="fold", no_wrap=title in _WHOLE)
    for judge in JUDGES:
        table.add_row(
            judge.name, judge.hub_id, judge.parameters, judge.licence, judge.languages, judge.published or "–"
        )
    console.print(table)
    console.print("\nUse one by its name, --judge NAME, or NAME:FOLDER for weights in a folder.", markup=False)


def as_json() -> str:
    """The same facts as JSON, with the address of the code from which each judge's input form was read."""
    names = ("name", "hub_id", "kind", "parameters", "licence", "languages", "published", "threshold", "code", "hint")
    facts = [{name: getattr(judge, name) for name in names} for judge in JUDGES]
    return json.dumps(facts, indent=1)
