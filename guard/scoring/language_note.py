"""A word of caution where a judge made for English reads another language.

What is scored, and how, stays as it is.
"""

from collections.abc import Sequence
from dataclasses import replace

from groundrail.scoring.base import Score, Scorer
from groundrail.text.english.language import is_english
from groundrail.types import Document

NOTE = "the judge reads English only; pass a multilingual model for other languages"


class LanguageNote:
    """Adds `NOTE` to scores where the documents or the claim are not English."""

    def __init__(self, scorer: Scorer, documents: Sequence[Document]) -> None:
        self._on = scorer.facts.english_only
        self._strange = self._on and any(not is_english(document.text) for document in documents)

    def added(self, claims: Sequence[str], scores: Sequence[Score]) -> list[Score]:
        """The scores, some with the note."""
        if not self._on or len(claims) != len(scores):
            return list(scores)
        return [
            replace(score, note="; ".join(filter(None, [score.note, NOTE])))
            if isinstance(score, Score) and (self._strange or not is_english(claim))
            else score
            for claim, score in zip(claims, scores, strict=True)
        ]
