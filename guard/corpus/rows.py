"""Check the rows of a corpus (each a claim with its source) and write the verdicts as flat rows of a table.

A bad row becomes an ERROR row and does not affect the others.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from groundrail.guard import Guard
from groundrail.policy import Policy
from groundrail.scoring.base import Scorer
from groundrail.text.rendering.visible import is_blank
from groundrail.text.sentences import is_unicode
from groundrail.types import GuardResult, Verdict

Row: TypeAlias = dict[str, Any]

COLUMNS = ("id", "verdict", "score", "exact", "document_id", "start", "end", "citation", "reason")
"""Columns of a scored row. All are text except `score` (number or None), `exact`, and the citation's `start`, `end`."""


def scored_rows(scorer: Scorer, rows: Sequence[Mapping[str, Any]], threshold: float | None = None) -> list[Row]:
    """Score rows with `id`, `claim` and `source` (text, or a list of texts) into rows of `COLUMNS`, in order.

    Neighbouring rows with the same source are scored together, and the source is read once. A claim of several
    sentences gets the verdict of its worst sentence; a claim without anything to check is NO_CLAIM. Each score is only
    computed until the decision at `threshold` (None: the scorer's threshold) is certain, so that the score of a
    supported row may be a lower bound. A refused claim has the score 0.
    """
    # all sentences are released, so that each is read after the sentence that stands before it
    policy = Policy(threshold=threshold, fallback="flag", on_error="open")
    guard = Guard(scorer=scorer, policy=policy)
    found: list[Row] = []
    for _, neighbours in groupby(rows, key=lambda row: row.get("source")):
        group = [(row, _fault(row)) for row in neighbours]
        good = [row for row, fault in group if fault is None]
        results = iter(guard.check_all([row["claim"] for row in good], good[0]["source"]) if good else ())
        found += [_row(row, next(results)) if fault is None else _failed(row, fault) for row, fault in group]
    return found


def _row(row: Mapping[str, Any], result: GuardResult) -> Row:
    """The scored row, with the verdict of the worst sentence."""
    claims = [sentence for sentence in result.sentences if sentence.verdict is not Verdict.NO_CLAIM]
    if not claims:
        return {**_empty(row), "verdict": str(Verdict.NO_CLAIM)}
    if failed := [sentence for sentence in claims if sentence.verdict is Verdict.ERROR]:
        return _failed(row, str(failed[0].reason))
    worst = min(claims, key=lambda s: (s.verdict is Verdict.SUPPORTED, s.score is not None, s.score or 0.0))
    best = worst.citations[0] if worst.citations else None
    return {
        **_empty(row),
        "verdict": str(worst.verdict),
        "score": 0.0 if worst.score is None else worst.score,
        "exact": worst.exact,
        "document_id": best.document_id if best else None,
        "start": best.start if best else None,
        "end": best.end if best else None,
        "citation": best.text if best else None,
        "reason": worst.reason if worst.score is None else worst.note,
    }


def _failed(row: Mapping[str, Any], reason: str) -> Row:
    return {**_empty(row), "verdict": str(Verdict.ERROR), "reason": reason}


def _empty(row: Mapping[str, Any]) -> Row:
    return {**dict.fromkeys(COLUMNS), "id": str(row.get("id")), "exact": True}


def _fault(row: Mapping[str, Any]) -> str | None:
    """The reason why a row cannot be checked, None if it can be checked."""
    claim, source = row.get("claim"), row.get("source")
    if not isinstance(claim, str) or is_blank(claim):
        return "the row has no claim"
    texts = [source] if isinstance(source, str) else source
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        return "the row has no source: it is text, or a list of texts"
    if not all(map(is_unicode, [claim, *texts])):
        return "the row holds half of a surrogate pair, which is no text"
    return "the row's source is blank" if all(map(is_blank, texts)) else None
