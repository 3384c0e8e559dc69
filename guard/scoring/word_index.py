"""Texts searchable by the stems of their words (BM25, by bm25s).

What the texts are, sentences or chunks, and what they say about a claim belongs to whoever asks.
"""

from collections.abc import Sequence

import bm25s  # type: ignore[import-untyped]
import numpy as np

from groundrail.english.stems import stems


class WordIndex:
    """Texts by number, in the order in which they were given."""

    def __init__(self, texts: Sequence[str]) -> None:
        words = [stems(text) for text in texts]
        self._bm25: bm25s.BM25 | None = None
        if any(words):
            self._bm25 = bm25s.BM25()
            self._bm25.index(words, show_progress=False)

    def ranked(self, claim: str) -> list[int]:
        """Texts that share a word with the claim, the most alike first; equals in order."""
        if self._bm25 is None:
            return []
        words = [word for word in dict.fromkeys(stems(claim)) if word in self._bm25.vocab_dict]
        if not words:
            return []
        likeness = np.asarray(self._bm25.get_scores(words), dtype=np.float64)
        order = np.argsort(-likeness, kind="stable")
        return [int(place) for place in order[: int((likeness > 0).sum())]]
