"""Measures of how well citations match the evidence that people marked.

Only offsets are compared, not words. Measures of scores are in `groundrail.evaluation.metrics`.
"""

from collections.abc import Sequence

from groundrail.evaluation.examples import EvidenceSet
from groundrail.types import Span


def _characters(spans: Sequence[Span]) -> set[tuple[str, int]]:
    return {(span.document_id, place) for span in spans for place in range(span.start, span.end)}


def hit(citations: Sequence[Span], evidence: Sequence[EvidenceSet]) -> bool:
    """Whether the best citation touches a sentence of any evidence set (SCALE's recall)."""
    marked = [span for chosen in evidence for span in chosen]
    return bool(_characters(citations[:1]) & _characters(marked))


def recall(citations: Sequence[Span], evidence: Sequence[EvidenceSet]) -> float:
    """Share of the evidence's characters that citations cover, for the evidence set with the highest share."""
    cited = _characters(citations)
    sets = [_characters(chosen) for chosen in evidence]
    return max((len(cited & chosen) / len(chosen) for chosen in sets if chosen), default=0.0)


def precision(citations: Sequence[Span], evidence: Sequence[EvidenceSet]) -> float:
    """Share of the cited characters that are in any evidence set; 0 if nothing is cited."""
    cited = _characters(citations)
    marked = _characters([span for chosen in evidence for span in chosen])
    return len(cited & marked) / len(cited) if cited else 0.0
