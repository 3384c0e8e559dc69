"""Scorers: claim and source in, score and citations out."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.scoring.base import Score, Scorer
    from groundrail.scoring.nearest import NearestScorer
    from groundrail.scoring.scale import ScaleScorer
    from groundrail.scoring.second import SecondOpinion

__all__ = [
    "NearestScorer",
    "ScaleScorer",
    "Score",
    "Scorer",
    "SecondOpinion",
]

__getattr__, __dir__ = exported(
    __name__,
    {
        "base": "Score Scorer",
        "nearest": "NearestScorer",
        "scale": "ScaleScorer",
        "second": "SecondOpinion",
    },
)
