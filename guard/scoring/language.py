"""A word of caution where a judge made for English reads another language.

What is scored, and how, stays as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from groundrail.scoring.base import Score, Scorer
from groundrail.types import Document

_WORD = re.compile(r"[^\W\d_]+")
_COMMON = frozenset(
    "the of and to a in is it that for was on are with as be this have from or by not but at they you we his her "
    "their which will would there been has had were can all if must may should your each when who what no more".split()
)
_SHARE = 0.18
"""Of English prose some 40 % are such words, of languages that share some of them mostly under 12 %."""
_FEW = 8
_MANY = 40
"""Words from which the share of a text is known well; of fewer, at least one must be such a word."""
_READ = 4000
"""Characters of a text that tell its language."""

NOTE = "the judge reads English only; pass a multilingual model for other languages"


class LanguageNote:
    """Adds `NOTE` to scores where the documents or the claim are not English."""

    def __init__(self, scorer: Scorer, documents: Sequence[Document]) -> None:
        self._on = scorer.english_only
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


def is_english(text: str) -> bool:
    """Whether a text may be English; one of few words may be."""
    words = [word.lower() for word in _WORD.findall(text[:_READ])]
    common = sum(word in _COMMON for word in words)
    return len(words) < _FEW or (common >= _SHARE * len(words) if len(words) >= _MANY else common > 0)
