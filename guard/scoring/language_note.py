"""A note on scores that an English-only judge gave for text in another language. The scores stay unchanged."""

import re
from collections.abc import Sequence
from functools import lru_cache

from groundrail.scoring.base import Score
from groundrail.sources.reading import read_by_form
from groundrail.text.english.language import is_english, is_latin
from groundrail.types import Document

NOTE = "the judge reads English only; pass a multilingual model for other languages"

_SENTENCE = re.compile(r"[.!?…。！？][^\w\s]*$")
"""The end of a sentence. Fields, cells and titles have no such end, and no language of their own."""


def with_language_note(scores: Sequence[Score], claims: Sequence[str], documents: Sequence[Document]) -> list[Score]:
    """Add `NOTE` to the scores of an English-only judge if the claim or a document is in another language."""
    foreign_source = any(_is_foreign(document.text) for document in documents)
    return [
        score.noting(NOTE) if foreign_source or not (is_english(claim) and is_latin(claim)) else score
        for claim, score in zip(claims, scores, strict=True)
    ]


@lru_cache(maxsize=64)
def _is_foreign(text: str) -> bool:
    """Whether the sentences of a document are in another language. Names and numbers of records and tables are none."""
    if not is_latin(text):
        return True
    if is_english(text):
        return False
    premises = (text[one.start : one.end].rstrip() for one in read_by_form(text).premises())
    return not is_english(" ".join(filter(_SENTENCE.search, premises)))
