"""An entailment model that asks another only about pairs it has not seen, for as long as one source is read.

What is asked, and in which order, belongs to the scorers.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped
from groundrail.errors import InputError


class Remembered(Wrapped):
    """Answers as `model` does, from the last `most` answers where it can; a NaN is asked again.

    Pairs are kept by their text: 65,536 of them take some 20 MB beside the texts themselves.
    """

    def __init__(self, model: EntailmentModel, most: int = 65_536) -> None:
        super().__init__(model)
        if most < 1:
            raise InputError(f"most is {most}; at least one answer is kept")
        self.most = most
        self._known: OrderedDict[Pair, float] = OrderedDict()
        self._lock = threading.Lock()

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim), shape (n,); no call of the model where every pair is known."""
        found = self._recalled(pairs)
        asked = [pair for pair in dict.fromkeys(pairs) if pair not in found]
        if asked:
            answers = self.model.entailment(asked)
            found |= zip(asked, map(float, answers), strict=True)
            self._keep(asked, found)
        return np.array([found[pair] for pair in pairs], dtype=np.float64)

    def _recalled(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        with self._lock:
            found = {pair: self._known[pair] for pair in pairs if pair in self._known}
            for pair in found:
                self._known.move_to_end(pair)
        return found

    def _keep(self, pairs: Sequence[Pair], answers: dict[Pair, float]) -> None:
        with self._lock:
            for pair in pairs[-self.most :]:
                if not math.isnan(answers[pair]):
                    self._known[pair] = answers[pair]
            while len(self._known) > self.most:
                self._known.popitem(last=False)
