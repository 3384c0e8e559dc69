"""The papers' other systems, which `Guard()` alone never runs: Q², InFusE, text decomposition, grounding gain, overlap."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.papers.decomposed import FullDocumentScorer as FullDocumentScorer
    from groundrail.papers.decomposed import SentencePairScorer as SentencePairScorer
    from groundrail.papers.decomposed import SentliScorer as SentliScorer
    from groundrail.papers.decomposed import TopKScorer as TopKScorer
    from groundrail.papers.gain import GainScorer as GainScorer
    from groundrail.papers.infuse import InfuseScorer as InfuseScorer
    from groundrail.papers.overlap import OverlapScorer as OverlapScorer
    from groundrail.papers.q2.extractive import ExtractiveAnswerer as ExtractiveAnswerer
    from groundrail.papers.q2.q2 import Q2Scorer as Q2Scorer
    from groundrail.papers.units.clauses import ClauseSplitter as ClauseSplitter
    from groundrail.papers.units.subsentences import Seq2SeqSplitter as Seq2SeqSplitter

__getattr__, __dir__, __all__ = exported(
    __name__,
    {
        "decomposed": "FullDocumentScorer SentencePairScorer SentliScorer TopKScorer",
        "gain": "GainScorer",
        "infuse": "InfuseScorer",
        "overlap": "OverlapScorer",
        "q2.extractive": "ExtractiveAnswerer",
        "q2.q2": "Q2Scorer",
        "units.clauses": "ClauseSplitter",
        "units.subsentences": "Seq2SeqSplitter",
    },
)
