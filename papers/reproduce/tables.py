"""The tables and figures that `groundrail reproduce` computes, by name.

`tables.toml` has the data, the protocol, the settings and the paper's figures of each.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import Any

from groundrail.papers.reproduce import ablation, q2, scale, summaries
from groundrail.papers.reproduce.table import Figures, Job, Table

_RUN: dict[str, Callable[[Job], Figures]] = {
    "scale-table3": partial(scale.on_true, measure=scale.AUC),
    "scale-table4": partial(scale.on_true, measure=scale.ECE),
    "scale-table5": scale.screen_correlations,
    "scale-table6": scale.screen_f1,
    "scale-table7": scale.retrieval,
    "scale-figure4": partial(scale.by_chunk_size, measure=scale.ECE),
    "scale-figure5": partial(scale.by_chunk_size, measure=scale.AUC),
    "q2-table2": q2.absolute,
    "q2-table4": q2.correlation,
    "q2-table7": q2.variants,
    "q2-figure3": q2.curves,
    "q2-figure4": partial(q2.robust, shares=q2.TENTHS),
    "q2-figure5": partial(q2.robust, shares=q2.REAL_SHARES),
    "infuse-table2": summaries.infuse,
    "glover-summac": summaries.glover_summac,
    "glover-frank": summaries.glover_frank,
    "west-table2": ablation.factual_ablation,
}


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if value == "" else value for name, value in given.items()}


def _tables() -> dict[str, Table]:
    tables = tomllib.loads((files(__package__) / "tables.toml").read_text(encoding="utf-8"))
    return {
        name: Table(name, run=run, settings=_settings(facts.pop("settings")), smoke=_settings(facts.pop("smoke")), **facts)
        for name, run in _RUN.items()
        for facts in [tables[name]]
    }


TABLES = _tables()
"""All tables by name."""
