"""A note on scores that an English-only judge gave for text in another language. The scores stay unchanged."""

from collections.abc import Sequence
from dataclasses import replace

from groundrail.scoring.base import Score
from groundrail.text.english.language import is_english
from groundrail.types import Document

NOTE = "the judge reads English only; pass a multilingual model for other languages"


def with_language_note(scores: Sequence[Score], claims: Sequence[str], documents: Sequence[Document]) -> list[Score]:
    """Add `NOTE` to the scores of an English-only judge if the claim or a document is in another language.

    Values that are not one `Score` for each claim stay unchanged; the guard refuses them.
    """
    if len(claims) != len(scores):
        return list(scores)
    foreign_source = any(not is_english(document.text) for document in documents)
    return [
        replace(score, note="; ".join(filter(None, [score.note, NOTE])))
        if isinstance(score, Score) and (foreign_source or not is_english(claim))
        else score
        for claim, score in zip(claims, scores, strict=True)
    ]
