"""Sentences of a source as the papers' scorers read them: split, ranked, joined and cited."""

import math
from collections.abc import Callable, Iterable, Sequence

from groundrail.entailment.base import EntailmentModel, FloatArray
from groundrail.scoring.base import Score, below_all, best_first
from groundrail.scoring.index import Passage, joined
from groundrail.text.sentences import split
from groundrail.types import Citation, Source, as_documents


def sentences(source: Source, model: EntailmentModel) -> list[list[Passage]]:
    """The sentences of every document, in order, blank ones and blank documents left out."""
    documents = []
    for document in as_documents(source):
        found = [Passage.trimmed(document, part.start, part.end, model) for part in split(document.text)]
        passages = [passage for passage in found if passage.end > passage.start]
        if passages:
            documents.append(passages)
    return documents


def as_many_as_fit(ranked: Sequence[Passage], size: int, model: EntailmentModel) -> list[Passage]:
    """The longest run of best passages that, joined, has at most `size` tokens; at least the first."""
    chosen = list(ranked[:1])
    for passage in ranked[1:]:
        if len(model.offsets(joined([*chosen, passage]))) > size:
            break
        chosen.append(passage)
    return chosen


def ranked(scores: FloatArray) -> list[int]:
    """Indices from the highest score to the lowest, equals in order, NaN last."""
    return sorted(range(len(scores)), key=lambda index: below_all(float(scores[index])), reverse=True)


def cited(passages: Iterable[Passage], score_of: Callable[[Passage], float]) -> tuple[Citation, ...]:
    """Citations of passages, the best score first."""
    return best_first(passage.cite(score_of(passage)) for passage in passages)


def best(scores: Sequence[Score]) -> Score:
    """The highest of a claim's scores against each document; NaN where there is none."""
    return max(scores, key=lambda score: below_all(score.value), default=Score(math.nan))
