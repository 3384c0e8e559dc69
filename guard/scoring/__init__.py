"""Scorers: they take claims and a source, and return scores with citations.

Each name is imported at its first use, so that importing the package loads neither torch nor transformers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundrail.scoring.base import Score, Scorer
    from groundrail.scoring.nearest import NearestScorer
    from groundrail.scoring.scale.scale import ScaleScorer
    from groundrail.scoring.second import SecondOpinion

_HOME = {
    "NearestScorer": "nearest",
    "ScaleScorer": "scale.scale",
    "Score": "base",
    "Scorer": "base",
    "SecondOpinion": "second",
}

__all__ = [
    "NearestScorer",
    "ScaleScorer",
    "Score",
    "Scorer",
    "SecondOpinion",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
