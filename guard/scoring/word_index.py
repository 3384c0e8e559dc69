"""Texts searchable by the stems of their words (BM25, by bm25s).

The texts are sentences or chunks of a source.
"""

from array import array
from collections.abc import Iterable

import bm25s  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from groundrail.text.english.stems import stems


class WordIndex:
    """Texts by number, in the given order; each text is read once and not kept."""

    def __init__(self, texts: Iterable[str]) -> None:
        known: dict[str, int] = {}
        words = [array("i", (known.setdefault(word, len(known)) for word in stems(text))) for text in texts]
        self._texts = len(words)
        self._bm25: bm25s.BM25 | None = None
        if known:
            self._bm25 = bm25s.BM25()
            self._bm25.index((words, known), show_progress=False)

    def likeness(self, claim: str) -> NDArray[np.float64]:
        """BM25 score of each text for the words of the claim, shape (texts,); 0 if they share no word."""
        words = [word for word in dict.fromkeys(stems(claim)) if self._bm25 and word in self._bm25.vocab_dict]
        if self._bm25 is None or not words:
            return np.zeros(self._texts)
        return np.asarray(self._bm25.get_scores(words), dtype=np.float64)

    def ranked(self, claim: str) -> list[int]:
        """Numbers of the texts that share a word with the claim, the highest score first; equal scores in order."""
        likeness = self.likeness(claim)
        order = np.argsort(-likeness, kind="stable")
        return [int(place) for place in order[: int((likeness > 0).sum())]]
