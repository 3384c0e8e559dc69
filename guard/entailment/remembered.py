"""An entailment model that asks another only about pairs it has not seen, for as long as one source is read."""

import hashlib
import threading
from collections.abc import Sequence
from itertools import islice

import numpy as np

from groundrail.entailment.asking import Ask, Asking, answered
from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped
from groundrail.runtime.progress import step

MOST = 65_536
"""Answers that are kept: some 20 MB, since a pair is known by a digest of its texts, however long they are."""


class Remembered(Wrapped):
    """Answers as `model` does, from its last answers where it can; a NaN is asked again."""

    def __init__(self, model: EntailmentModel) -> None:
        super().__init__(model)
        self._known: dict[bytes, FloatArray] = {}
        self._lock = threading.Lock()

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """The model's answers, shape (n, 3); no call of the model where every pair is known."""
        return answered(self.asking(pairs))

    def asking(self, pairs: Sequence[Pair]) -> Asking[FloatArray]:
        """`classify` as a coroutine, which asks the model about the pairs that are not known."""
        names = [_digest(pair) for pair in pairs]
        with self._lock:
            found = {name: self._known[name] for name in names if name in self._known}
        asked = {name: pair for name, pair in zip(names, pairs, strict=True) if name not in found}
        step(len(pairs) - len(asked))
        if asked:
            found |= zip(asked, (yield Ask(self.model.classify, list(asked.values()))), strict=True)
        with self._lock:
            for name, answer in found.items():
                self._known.pop(name, None)  # the last that were used stand last
                if not np.isnan(answer).any():
                    self._known[name] = answer
            for name in list(islice(self._known, max(0, len(self._known) - MOST))):
                del self._known[name]
        return np.array([found[name] for name in names], dtype=np.float64).reshape(-1, 3)


def _digest(pair: Pair) -> bytes:
    """One name for one pair: the claim's part has a fixed length, so no two pairs run together alike."""
    premise, claim = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in pair)
    return premise + claim
