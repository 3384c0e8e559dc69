"""Scorers: claim and source in, score and citations out.

Names resolve when first used, so that importing the package loads neither torch nor transformers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundrail.scoring.base import Score, Scorer
    from groundrail.scoring.decomposed import FullDocumentScorer, SentencePairScorer, SentliScorer, TopKScorer
    from groundrail.scoring.gain import GainScorer
    from groundrail.scoring.infuse import InfuseScorer
    from groundrail.scoring.nearest import NearestScorer
    from groundrail.scoring.overlap import OverlapScorer
    from groundrail.scoring.q2.extractive import ExtractiveAnswerer
    from groundrail.scoring.q2.scorer import Q2Scorer
    from groundrail.scoring.scale.scorer import ScaleScorer
    from groundrail.scoring.second import SecondOpinion
    from groundrail.scoring.units.base import SentenceUnits
    from groundrail.scoring.units.clauses import ClauseSplitter
    from groundrail.scoring.units.subsentences import Seq2SeqSplitter, SubSentenceUnits

_HOME = {
    "ClauseSplitter": "units.clauses",
    "ExtractiveAnswerer": "q2.extractive",
    "FullDocumentScorer": "decomposed",
    "GainScorer": "gain",
    "InfuseScorer": "infuse",
    "NearestScorer": "nearest",
    "OverlapScorer": "overlap",
    "Q2Scorer": "q2.scorer",
    "ScaleScorer": "scale.scorer",
    "Score": "base",
    "Scorer": "base",
    "SecondOpinion": "second",
    "SentencePairScorer": "decomposed",
    "SentenceUnits": "units.base",
    "SentliScorer": "decomposed",
    "Seq2SeqSplitter": "units.subsentences",
    "SubSentenceUnits": "units.subsentences",
    "TopKScorer": "decomposed",
}

__all__ = [
    "ClauseSplitter",
    "ExtractiveAnswerer",
    "FullDocumentScorer",
    "GainScorer",
    "InfuseScorer",
    "NearestScorer",
    "OverlapScorer",
    "Q2Scorer",
    "ScaleScorer",
    "Score",
    "Scorer",
    "SecondOpinion",
    "SentencePairScorer",
    "SentenceUnits",
    "SentliScorer",
    "Seq2SeqSplitter",
    "SubSentenceUnits",
    "TopKScorer",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
