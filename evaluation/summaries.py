"""FRANK and ScreenEval as their authors publish them: a summary with its article is a claim.

Cutting summaries into sentences belongs to `groundrail.evaluation.units`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from groundrail.errors import InputError
from groundrail.evaluation.examples import Example
from groundrail.evaluation.places import Label, Place, lines, one, read_text

FRANK_LABELS = "human_annotations.json"
"""Name of the file with FRANK's judgements, in the folder of `benchmark_data.json`."""


class _FrankRow(BaseModel):
    hash: str
    model_name: str
    article: str
    summary: str
    split: str = ""


class _ScreenColumns(BaseModel):
    inferred_summary: dict[str, str]
    agg_label: dict[str, Label]
    convo: dict[str, list[str]] = Field(default_factory=dict)
    original_convo: dict[str, str] = Field(default_factory=dict)
    rel_utt: dict[str, list[int] | None] = Field(default_factory=dict)

    def check(self, place: Place, ids: Iterable[str]) -> None:
        """Every row has a summary sentence and a label. Raises: InputError."""
        for id in ids:
            for column in ("inferred_summary", "agg_label"):
                if id not in getattr(self, column):
                    raise place.error(column, f"expected a value for row {id!r}")


def frank(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Read FRANK's `benchmark_data.json`; the label is the grade `Factuality`, 0 to 1, from the file of judgements."""
    parsed = place.parse(_FrankRow, row)
    judged = place.file(place.path.parent / FRANK_LABELS, _judgements)
    key = parsed.hash, parsed.model_name
    if key not in judged:
        raise place.error("hash", f"{FRANK_LABELS} has no judgement of {parsed.hash!r} by {parsed.model_name!r}")
    dataset = f"frank-{parsed.split}" if parsed.split else "frank"
    id = "/".join(key)
    yield Example(id, dataset, one(parsed.article), parsed.summary, judged[key], system=parsed.model_name)


def _judgements(path: Path) -> dict[tuple[str, str], float]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; put FRANK's {FRANK_LABELS} beside benchmark_data.json")
    try:
        rows = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: expected JSON: {error}") from error
    wanted = ("hash", "model_name", "Factuality")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and set(wanted) <= row.keys() for row in rows):
        found = ", ".join(rows[0]) if isinstance(rows, list) and rows and isinstance(rows[0], dict) else "something else"
        raise InputError(f"{path}: expected a list of objects with {', '.join(wanted)}; found {found}")
    return {(str(row["hash"]), str(row["model_name"])): float(row["Factuality"]) for row in rows}


def screeneval(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Lattimer et al.'s pandas dump, one object a column, each from row number to value.

    The conversation is `convo`, a list of utterances, which their scripts for tables 5 and 6 read.
    """
    columns = place.parse(_ScreenColumns, row)
    columns.check(place, columns.convo)
    for id, utterances in columns.convo.items():
        yield Example(id, name, one("\n".join(utterances)), columns.inferred_summary[id], columns.agg_label[id])


def utterances(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """The same file as their scripts for table 7 read it: `original_convo`, whose lines `rel_utt` counts."""
    columns = place.parse(_ScreenColumns, row)
    columns.check(place, columns.original_convo)
    for id, convo in columns.original_convo.items():
        document, spans = lines(convo.split("\n"))
        chosen = place.numbered(f"rel_utt.{id}", spans, columns.rel_utt.get(id) or [])
        evidence = tuple((span,) for span in chosen) or None
        yield Example(id, name, (document,), columns.inferred_summary[id], columns.agg_label[id], evidence)
