"""An entailment model that asks another only about pairs it has not seen, for as long as one source is read.

The scorers decide what is asked, and in which order.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped
from groundrail.errors import InputError
from groundrail.runtime.progress import step


class Remembered(Wrapped):
    """Answers as `model` does, from the last `most` answers where it can; a NaN is asked again.

    Pairs are kept by a digest of their texts, so that however long these are, 65,536 of them take some 20 MB.
    """

    def __init__(self, model: EntailmentModel, most: int = 65_536) -> None:
        super().__init__(model)
        if most < 1:
            raise InputError(f"most is {most}; at least one answer is kept")
        self.most = most
        self._known: OrderedDict[bytes, FloatArray] = OrderedDict()
        self._lock = threading.Lock()

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """The model's answers, shape (n, 3); no call of the model where every pair is known."""
        names = [_digest(pair) for pair in pairs]
        found = self._recalled(names)
        asked = {name: pair for name, pair in zip(names, pairs, strict=True) if name not in found}
        step(len(pairs) - len(asked))
        if asked:
            found |= zip(asked, self.model.classify(list(asked.values())), strict=True)
            self._keep(list(asked), found)
        return np.array([found[name] for name in names], dtype=np.float64).reshape(-1, 3)

    def _recalled(self, names: Sequence[bytes]) -> dict[bytes, FloatArray]:
        with self._lock:
            found = {name: self._known[name] for name in names if name in self._known}
            for name in found:
                self._known.move_to_end(name)
        return found

    def _keep(self, names: Sequence[bytes], answers: dict[bytes, FloatArray]) -> None:
        with self._lock:
            for name in names[-self.most :]:
                if not np.isnan(answers[name]).any():
                    self._known[name] = answers[name]
            while len(self._known) > self.most:
                self._known.popitem(last=False)


def _digest(pair: Pair) -> bytes:
    """One name for one pair: the claim's part has a fixed length, so no two pairs run together alike."""
    premise, claim = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in pair)
    return premise + claim
