"""A scorer that says what it is told."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.types import Citation, Document, Source, as_documents


class Told(Scorer):
    """Scores a claim by the first of its keys that the claim holds: (value, what supports it, what contradicts it).

    A piece of source is cited where the documents have it; what has no key scores 0.
    """

    def __init__(self, verdicts: Mapping[str, tuple[float, str, str]]) -> None:
        self.verdicts = verdicts

    def read(self, source: Source) -> Reader:
        return Prepared(self._score, as_documents(source))

    def _score(self, claims: Sequence[str], documents: Sequence[Document]) -> list[Score]:
        scores = []
        for claim in claims:
            value, near, conflict = next((v for key, v in self.verdicts.items() if key in claim), (0.0, "", ""))
            scores.append(Score(value, tuple(cited(near, value, documents)), next(cited(conflict, 0.9, documents), None)))
        return scores


def cited(text: str, score: float, documents: Sequence[Document]) -> Iterator[Citation]:
    for document in documents if text else ():
        if (start := document.text.find(text)) >= 0:
            yield Citation(document_id=document.id, start=start, end=start + len(text), text=text, score=score)


@pytest.fixture
def told() -> type[Told]:
    return Told
