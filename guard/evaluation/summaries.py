"""Benchmarks of summaries as their authors publish them: FRANK, SummaC's six sets, AggreFact and DiverSumm.

Each row is a summary with its article; `groundrail.papers.units` cuts summaries into sentences.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from groundrail.errors import InputError
from groundrail.evaluation.examples import Example
from groundrail.evaluation.places import Label, Place, one, read_text

FRANK_LABELS = "human_annotations.json"
"""Name of the file with FRANK's judgements, in the folder of `benchmark_data.json`."""


class _FrankRow(BaseModel):
    hash: str
    model_name: str
    article: str
    summary: str
    split: str = ""


class _SummacRow(BaseModel):
    document: str
    claim: str
    label: Label
    dataset: str
    cut: str = ""
    model_name: str | None = None
    error_type: str | None = None


class _AggrefactRow(BaseModel):
    doc: str
    summary: str
    label: Label
    origin: str
    dataset: str = ""
    cut: str = ""
    id: str | int | None = None
    model_name: str | None = None


def frank(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Read FRANK's `benchmark_data.json`; the label is the grade `Factuality`, 0 to 1, from the file of judgements."""
    parsed = place.parse(_FrankRow, row)
    judged = _judgements(place.path.parent / FRANK_LABELS)
    key = parsed.hash, parsed.model_name
    if key not in judged:
        raise place.error("hash", f"{FRANK_LABELS} has no judgement of {parsed.hash!r} by {parsed.model_name!r}")
    dataset = f"frank-{parsed.split}" if parsed.split else "frank"
    id = "/".join(key)
    yield Example(id, dataset, one(parsed.article), parsed.summary, judged[key], system=parsed.model_name)


@lru_cache(maxsize=1)
def _judgements(path: Path) -> dict[tuple[str, str], float]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; put FRANK's {FRANK_LABELS} beside benchmark_data.json")
    try:
        rows = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: expected JSON: {error}") from error
    wanted = ("hash", "model_name", "Factuality")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and set(wanted) <= row.keys() for row in rows):
        found = (
            ", ".join(rows[0]) if isinstance(rows, list) and rows and isinstance(rows[0], dict) else "something else"
        )
        raise InputError(f"{path}: expected a list of objects with {', '.join(wanted)}; found {found}")
    return {(str(row["hash"]), str(row["model_name"])): float(row["Factuality"]) for row in rows}


def summac(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Read a row of SummaC's benchmark as its loader writes it: a binary label, and the data set's name."""
    parsed = place.parse(_SummacRow, row)
    yield Example(
        str(place.line),
        "-".join(filter(None, (parsed.dataset, parsed.cut))),
        one(parsed.document),
        parsed.claim,
        parsed.label,
        kind=parsed.error_type,
        system=parsed.model_name,
    )


def aggrefact(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Read a row of AggreFact, or of DiverSumm, which names only the `origin` of its articles."""
    parsed = place.parse(_AggrefactRow, row)
    yield Example(
        str(place.line),
        "-".join(filter(None, (parsed.origin, parsed.dataset, parsed.cut))),
        one(parsed.doc),
        parsed.summary,
        parsed.label,
        system=parsed.model_name,
    )
