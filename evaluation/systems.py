"""Measures of whole systems, which a file names, by the mean score of their responses."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from numpy.typing import ArrayLike

from groundrail.errors import InputError
from groundrail.evaluation.metrics import checked, pearson, spearman


@dataclass(frozen=True, slots=True)
class System:
    """The claims of one system: their number, mean label and mean score."""

    name: str
    claims: int
    label: float
    score: float


@dataclass(frozen=True, slots=True)
class SystemCorrelation:
    """Correlation of mean score with mean label over `systems`."""

    systems: tuple[System, ...]
    pearson: float
    spearman: float


def by_system(labels: ArrayLike, scores: ArrayLike, systems: Sequence[str | None]) -> SystemCorrelation:
    """Correlate the mean scores of the named systems with their mean labels.

    Raises: InputError for fewer than three systems, because any two points lie on a line, or if all means are equal.
    """
    y, s = checked(labels, scores)
    names = sorted({name for name in systems if name is not None})
    if len(names) < 3:
        raise InputError(f"a correlation over systems needs at least three, not {len(names)}")
    found = []
    for name in names:
        inside = [place for place, other in enumerate(systems) if other == name]
        found.append(System(name, len(inside), fmean(y[inside].tolist()), fmean(s[inside].tolist())))
    means = [system.label for system in found], [system.score for system in found]
    return SystemCorrelation(tuple(found), pearson(*means), spearman(*means))
