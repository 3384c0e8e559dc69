"""Rows of a corpus, each a claim with its source, scored into flat rows that any table can hold.

One bad row is an ERROR row and costs the others nothing. Where rows come from, and how many machines share them,
belongs to `groundrail.corpus` and `groundrail.integrations.ray`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from groundrail.errors import GroundrailError
from groundrail.scoring.base import Reader, Score, Scorer
from groundrail.types import Verdict

Row: TypeAlias = dict[str, Any]

COLUMNS = ("id", "verdict", "score", "exact", "document_id", "start", "end", "citation", "reason")
"""What is known of a row: text, but for `score` (a number or None), `exact` and the citation's `start` and `end`."""


def scored_rows(scorer: Scorer, rows: Sequence[Mapping[str, Any]], threshold: float | None = None) -> list[Row]:
    """One row of `COLUMNS` for each row with `id`, `claim` and `source` (text, or a list of texts), in order.

    Neighbours with the same source are scored together, the source read once. Scores are decisions at `threshold`
    (the scorer's own for None), so that those of supported rows may be lower bounds.
    """
    limit = scorer.threshold if threshold is None else threshold
    found: list[Row] = []
    for group in _same_source(rows):
        found += _scored(scorer, group, limit)
    return found


def _scored(scorer: Scorer, group: Sequence[Mapping[str, Any]], threshold: float) -> list[Row]:
    good = [row for row in group if _fault(row) is None]
    scores: dict[int, Row] = {}
    if good:
        try:
            reader = scorer.read(good[0]["source"])
        except Exception as error:  # whatever a scorer throws, these rows were not scored, and others may be
            scores = {id(row): _failed(row, _told(error)) for row in good}
        else:
            scores = dict(zip(map(id, good), _decided(reader, good, threshold), strict=True))
    return [scores.get(id(row)) or _failed(row, str(_fault(row))) for row in group]


def _decided(reader: Reader, rows: Sequence[Mapping[str, Any]], threshold: float) -> list[Row]:
    """All claims in one call; each alone where that fails, so that only what is wrong is lost."""
    try:
        scores = reader.decide([row["claim"] for row in rows], threshold)
    except Exception as error:  # as above
        if len(rows) == 1:
            return [_failed(rows[0], _told(error))]
        return [found for row in rows for found in _decided(reader, [row], threshold)]
    return [_row(row, score, threshold) for row, score in zip(rows, scores, strict=True)]


def _row(row: Mapping[str, Any], score: Score, threshold: float) -> Row:
    if not math.isfinite(score.value):
        return _failed(row, f"the model gave no score ({score.value})")
    best = score.citations[0] if score.citations else None
    supported = score.refusal is None and score.value >= threshold
    return {
        "id": str(row["id"]),
        "verdict": str(Verdict.SUPPORTED if supported else Verdict.UNSUPPORTED),
        "score": score.value,
        "exact": score.exact,
        "document_id": best.document_id if best else None,
        "start": best.start if best else None,
        "end": best.end if best else None,
        "citation": best.text if best else None,
        "reason": score.refusal or score.note,
    }


def _failed(row: Mapping[str, Any], reason: str) -> Row:
    empty = dict.fromkeys(COLUMNS)
    return {**empty, "id": str(row.get("id")), "verdict": str(Verdict.ERROR), "exact": True, "reason": reason}


def _fault(row: Mapping[str, Any]) -> str | None:
    """Why a row cannot be scored, None where it can."""
    claim, source = row.get("claim"), row.get("source")
    if not isinstance(claim, str) or not claim.strip():
        return "the row has no claim"
    texts = [source] if isinstance(source, str) else source
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        return "the row has no source: it is text, or a list of texts"
    return None if any(text.strip() for text in texts) else "the row's source is blank"


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, GroundrailError) else f"{type(error).__name__}: {error}"


def _same_source(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    group: list[Mapping[str, Any]] = []
    for row in rows:
        if group and row.get("source") != group[0].get("source"):
            yield group
            group = []
        group.append(row)
    if group:
        yield group
