"""The papers' other systems, which `Guard()` alone never runs: Q², InFusE, text decomposition, grounding gain, overlap."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

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

__getattr__, __dir__ = exported(
    __name__,
    {
        "decomposed": "FullDocumentScorer SentencePairScorer SentliScorer TopKScorer",
        "gain": "GainScorer",
        "infuse": "InfuseScorer",
        "overlap": "OverlapScorer",
        "q2.extractive": "ExtractiveAnswerer",
        "q2.q2": "Q2Scorer",
        "units.base": "SentenceUnits",
        "units.clauses": "ClauseSplitter",
        "units.subsentences": "Seq2SeqSplitter SubSentenceUnits",
    },
)
