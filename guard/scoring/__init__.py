"""Scorers: claim and source in, score and citations out."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.scoring.base import Score as Score
    from groundrail.scoring.base import Scorer as Scorer
    from groundrail.scoring.nearest import NearestScorer as NearestScorer
    from groundrail.scoring.scale import ScaleScorer as ScaleScorer
    from groundrail.scoring.second import SecondOpinion as SecondOpinion

__getattr__, __dir__, __all__ = exported(
    __name__, {"base": "Score Scorer", "nearest": "NearestScorer", "scale": "ScaleScorer", "second": "SecondOpinion"}
)
