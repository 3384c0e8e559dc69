"""Retrieve, then judge: the claim against the few source sentences whose words are most like its own.

A handful of pairs a claim however long the source, and a small judge is spared the many sentences that
have nothing to do with the claim, each of which it may misjudge. Word likeness is BM25's (bm25s).
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import bm25s  # type: ignore[import-untyped]
import numpy as np

from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.loading import load
from groundrail.errors import InputError
from groundrail.scoring.base import Score
from groundrail.scoring.passages import Passage, fitted, room
from groundrail.types import Document, Source, as_documents

_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+")
_STEM = 5
"""Letters of a word that count, so that `descaling` finds `descaled`."""

_Place = tuple[int, int, int]
"""(number of the document, start, end) of a sentence without white space at its ends."""


@dataclass(frozen=True, slots=True)
class _Premise:
    """What is read for a claim, and the sentences, by their places, that it is made of."""

    text: str
    places: tuple[int, ...]


class NearestScorer:
    """The `k` sentences nearest to the claim, each alone and after the one before it; the highest score counts.

    Sentences of all documents compete for the `k` places. The citation is the sentence that reached the
    score, of two the one that scores higher alone. A sentence too long to be read beside the claim is cut,
    none is truncated.
    """

    takes_context = True

    def __init__(self, entailment: EntailmentModel | str | None = None, *, k: int = 3) -> None:
        if k < 1:
            raise InputError(f"k is {k}; at least one sentence must be read")
        self.entailment = load(entailment)
        self.k = k
        self.threshold: float = getattr(self.entailment, "threshold", 0.5)

    def score(self, claims: Sequence[str], source: Source) -> list[Score]:
        """One score a claim, NaN where the source is blank; all claims in one model call.

        Raises: ClaimTooLongError for a claim that leaves no room for a premise.
        """
        documents = as_documents(source)
        index = _Index.of(tuple(document.text for document in documents))
        read = [self._premises(claim, documents, index) for claim in claims]
        pairs = [(premise.text, claim) for claim, of_claim in zip(claims, read, strict=True) for premise in of_claim]
        values = iter(self.entailment.entailment(pairs) if pairs else np.empty(0))
        judged = [[(premise, float(next(values))) for premise in of_claim] for of_claim in read]
        return [_best(of_claim, documents, index) for of_claim in judged]

    def _premises(self, claim: str, documents: Sequence[Document], index: "_Index") -> list[_Premise]:
        size = room(claim, self.entailment)
        nearest = index.nearest(claim, self.k)
        pairs = [(place - 1, place) for place in nearest if index.together(place - 1, place)]
        premises = []
        for place in dict.fromkeys([*nearest, *(before for before, _ in pairs)]):
            number, start, end = index.places[place]
            sentence = Passage(documents[number], start, end, self._tokens(documents[number].text[start:end]))
            premises += [_Premise(piece.text, (place,)) for piece in fitted([sentence], size, self.entailment)]
        for before, place in pairs:
            number, _, end = index.places[place]
            both = documents[number].text[index.places[before][1] : end]
            if self._tokens(both) <= size:
                premises.append(_Premise(both, (before, place)))
        return premises

    def _tokens(self, text: str) -> int:
        return len(self.entailment.offsets(text))


def _best(judged: Sequence[tuple[_Premise, float]], documents: Sequence[Document], index: "_Index") -> Score:
    known = [(premise, value) for premise, value in judged if not math.isnan(value)]
    if not known:
        return Score(math.nan)
    premise, value = max(known, key=lambda each: each[1])
    alone = dict.fromkeys(premise.places, -1.0)
    for other, own in known:
        if len(other.places) == 1 and other.places[0] in alone:
            alone[other.places[0]] = max(own, alone[other.places[0]])
    number, start, end = index.places[max(alone, key=alone.__getitem__)]
    document = documents[number]
    return Score(value, (Passage(document, start, end, 0).cite(value),))


class _Index:
    """The sentences of a source, searchable by their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        from groundrail.sentences import split

        self.places: list[_Place] = []
        for number, text in enumerate(texts):
            for part in split(text):
                bare = part.text.strip()
                start = part.start + part.text.find(bare)
                if bare:
                    self.places.append((number, start, start + len(bare)))
        words = [_words(texts[number][start:end]) for number, start, end in self.places]
        self._bm25: bm25s.BM25 | None = None
        if any(words):
            self._bm25 = bm25s.BM25()
            self._bm25.index(words, show_progress=False)

    @staticmethod
    @lru_cache(maxsize=16)
    def of(texts: tuple[str, ...]) -> "_Index":
        """The index of these texts, kept while an answer's sentences are checked one after another."""
        return _Index(texts)

    def together(self, before: int, place: int) -> bool:
        """Whether there are both, in one document."""
        return before >= 0 and self.places[before][0] == self.places[place][0]

    def nearest(self, claim: str, k: int) -> list[int]:
        """Places of the `k` sentences most like the claim, the best first; equals in document order."""
        words = [word for word in dict.fromkeys(_words(claim)) if self._bm25 and word in self._bm25.vocab_dict]
        if not words or self._bm25 is None:
            return list(range(min(k, len(self.places))))
        likeness = np.asarray(self._bm25.get_scores(words), dtype=np.float64)
        return [int(place) for place in np.argsort(-likeness, kind="stable")[:k]]


def _words(text: str) -> list[str]:
    return [word.replace(",", "") if word[0].isdigit() else word.lower()[:_STEM] for word in _WORD.findall(text)]
