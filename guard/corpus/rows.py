"""Rows of a corpus, each a claim with its source, scored into flat rows that any table can hold.

A claim is read as the guard reads an answer, so that both give it the same verdict. One bad row is an ERROR row and
costs the others nothing. Where rows come from, and how many machines share them, belongs to `groundrail.corpus.folder` and
`groundrail.integrations.ray`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from groundrail.errors import GroundrailError, UncheckableError
from groundrail.generation.judging import Reading
from groundrail.generation.steps import Judge
from groundrail.runtime.deadlines import Calls
from groundrail.scoring.base import Score, Scorer
from groundrail.text.claims import claim_of
from groundrail.text.rendering.visible import is_blank
from groundrail.text.sentences import split
from groundrail.types import Verdict, as_documents

Row: TypeAlias = dict[str, Any]

COLUMNS = ("id", "verdict", "score", "exact", "document_id", "start", "end", "citation", "reason")
"""What is known of a row: text, but for `score` (a number or None), `exact` and the citation's `start` and `end`."""


def scored_rows(scorer: Scorer, rows: Sequence[Mapping[str, Any]], threshold: float | None = None) -> list[Row]:
    """One row of `COLUMNS` for each row with `id`, `claim` and `source` (text, or a list of texts), in order.

    Neighbours with the same source are scored together, the source read once. A claim of several sentences is as good
    as the worst of them, one that says nothing to check is NO_CLAIM. Scores are decisions at `threshold` (the scorer's
    own for None), so that those of supported rows may be lower bounds.
    """
    limit = scorer.facts.threshold if threshold is None else threshold
    found: list[Row] = []
    for group in _same_source(rows):
        found += _scored(scorer, group, limit)
    return found


def _scored(scorer: Scorer, group: Sequence[Mapping[str, Any]], threshold: float) -> list[Row]:
    good = [row for row in group if _fault(row) is None]
    scores: dict[int, Row] = {}
    if good:
        reading = Reading(scorer, as_documents(good[0]["source"]), Calls())
        scores = dict(zip(map(id, good), _decided(reading, good, threshold), strict=True))
    return [scores.get(id(row)) or _failed(row, str(_fault(row))) for row in group]


def _decided(reading: Reading, rows: Sequence[Mapping[str, Any]], threshold: float) -> list[Row]:
    """All claims in one call; each row alone where that fails, so that only what is wrong is lost."""
    parts = [_parts(row["claim"]) for row in rows]
    asked = [part for each in parts for part in each if isinstance(part, str)]
    try:
        scores = dict(zip(asked, reading.do(Judge(asked, None, threshold)), strict=True))
    except Exception as error:  # whatever a scorer throws, these rows were not scored, and others may be
        if len(rows) == 1:
            return [_failed(rows[0], _told(error))]
        return [found for row in rows for found in _decided(reading, [row], threshold)]
    return [
        _row(row, [scores[part] if isinstance(part, str) else part for part in each], threshold)
        for row, each in zip(rows, parts, strict=True)
    ]


def _parts(text: str) -> list[str | Score]:
    """What the sentences of a claim say: each as it is judged, or the refusal of one that cannot be."""
    parts: list[str | Score] = []
    previous = ""
    for sentence in split(text):
        try:
            claim = claim_of(sentence.text, previous)
        except UncheckableError as error:
            parts.append(Score(0.0, refusal=str(error)))
        else:
            parts += [] if claim is None else [claim]
        previous = sentence.text
    return parts


def _row(row: Mapping[str, Any], scores: Sequence[Score], threshold: float) -> Row:
    """The row as the worst of its scores makes it."""
    if not scores:
        return {**_empty(row), "verdict": str(Verdict.NO_CLAIM)}
    unscored = [score.value for score in scores if not math.isfinite(score.value)]
    if unscored:
        return _failed(row, f"the model gave no score ({unscored[0]})")
    score = min(scores, key=lambda score: (_supported(score, threshold), score.refusal is None, score.value))
    best = score.citations[0] if score.citations else None
    supported = _supported(score, threshold)
    return {
        **_empty(row),
        "verdict": str(Verdict.SUPPORTED if supported else Verdict.UNSUPPORTED),
        "score": score.value,
        "exact": score.exact,
        "document_id": best.document_id if best else None,
        "start": best.start if best else None,
        "end": best.end if best else None,
        "citation": best.text if best else None,
        "reason": score.refusal or score.note,
    }


def _supported(score: Score, threshold: float) -> bool:
    """By the threshold of whoever judged it, which is a second scorer's where the first was in doubt."""
    return score.refusal is None and score.value >= (threshold if score.threshold is None else score.threshold)


def _failed(row: Mapping[str, Any], reason: str) -> Row:
    return {**_empty(row), "verdict": str(Verdict.ERROR), "reason": reason}


def _empty(row: Mapping[str, Any]) -> Row:
    return {**dict.fromkeys(COLUMNS), "id": str(row.get("id")), "exact": True}


def _fault(row: Mapping[str, Any]) -> str | None:
    """Why a row cannot be scored, None where it can."""
    claim, source = row.get("claim"), row.get("source")
    if not isinstance(claim, str) or is_blank(claim):
        return "the row has no claim"
    texts = [source] if isinstance(source, str) else source
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        return "the row has no source: it is text, or a list of texts"
    return "the row's source is blank" if all(map(is_blank, texts)) else None


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
