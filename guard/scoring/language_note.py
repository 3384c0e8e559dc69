"""A note on scores that an English-only judge gave for text in another language. The scores stay unchanged."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from groundrail.scoring.base import Score
from groundrail.sources.reading import read_by_form
from groundrail.text.english.language import is_english
from groundrail.types import Document

NOTE = "the judge reads English only; pass a multilingual model for other languages"


_PROSE = 8
"""Words from which a field of a record or a cell of a table counts as prose: shorter ones have no language."""


def with_language_note(scores: Sequence[Score], claims: Sequence[str], documents: Sequence[Document]) -> list[Score]:
    """Add `NOTE` to the scores of an English-only judge if the claim or a document is in another language.

    Values that are not one `Score` for each claim stay unchanged; the guard refuses them.
    """
    if len(claims) != len(scores):
        return list(scores)
    foreign_source = any(_is_foreign(document.text) for document in documents)
    return [
        replace(score, note="; ".join(filter(None, [score.note, NOTE])))
        if isinstance(score, Score) and (foreign_source or not is_english(claim))
        else score
        for claim, score in zip(claims, scores, strict=True)
    ]


@lru_cache(maxsize=64)
def _is_foreign(text: str) -> bool:
    """Whether the prose of a document is in another language. Names and numbers of records and tables are no prose."""
    if is_english(text):
        return False
    premises = read_by_form(text).premises()
    prose = (text[one.start : one.end] for one in premises if one.said is None or len(one.said.split()) >= _PROSE)
    return not is_english(" ".join(prose))
