"""The papers' systems that `Guard()` does not run by default: Q², InFusE, text decomposition, grounding gain, overlap.

Each name is imported at its first use, so that importing the package loads neither torch nor transformers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundrail.papers.decomposed import FullDocumentScorer, SentencePairScorer, SentliScorer, TopKScorer
    from groundrail.papers.gain import GainScorer
    from groundrail.papers.infuse import InfuseScorer
    from groundrail.papers.overlap import OverlapScorer
    from groundrail.papers.q2.extractive import ExtractiveAnswerer
    from groundrail.papers.q2.q2 import Q2Scorer
    from groundrail.papers.units.base import SentenceUnits
    from groundrail.papers.units.clauses import ClauseSplitter
    from groundrail.papers.units.subsentences import Seq2SeqSplitter, SubSentenceUnits

_HOME = {
    "ClauseSplitter": "units.clauses",
    "ExtractiveAnswerer": "q2.extractive",
    "FullDocumentScorer": "decomposed",
    "GainScorer": "gain",
    "InfuseScorer": "infuse",
    "OverlapScorer": "overlap",
    "Q2Scorer": "q2.q2",
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
    "OverlapScorer",
    "Q2Scorer",
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
