"""Batches of training pairs in an order that the seed alone decides, and that goes on exactly where it was left."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from windows import Pair, Windows


class Batches:
    """Written pairs in batches of about `tokens` tokens, of which the pool's pairs are about `share`.

    windows: draws the written pairs
    pool: public and made pairs; where they end, batches go on without them
    """

    def __init__(self, windows: Windows, pool: Iterator[Pair], tokens: int, share: float) -> None:
        self._windows, self._pool, self._tokens, self._share = windows, pool, tokens, share
        self._written = windows.pairs()
        self._owed = 0.0
        self._taken = 0

    def __iter__(self) -> Iterator[list[Pair]]:
        return self

    def __next__(self) -> list[Pair]:
        batch: list[Pair] = []
        size = 0
        while size < self._tokens:
            pair = next(self._written)
            batch.append(pair)
            size += len(pair)
            self._owed += len(pair) * self._share / (1 - self._share)
            while self._owed > 0 and (taken := next(self._pool, None)) is not None:
                batch.append(taken)
                size += len(taken)
                self._owed -= len(taken)
                self._taken += 1
        return batch

    def state(self) -> dict[str, Any]:
        """All that the next batches depend on, beside the texts and the pool."""
        return {"windows": self._windows.state(), "owed": self._owed, "taken": self._taken}

    def restore(self, state: dict[str, Any], same_texts: bool) -> None:
        """Go on after a `state`; on other texts with a new pass over them."""
        self._windows.restore(state["windows"], same_texts)
        for _ in islice(self._pool, state["taken"]):
            pass
        self._owed, self._taken = state["owed"], state["taken"]


def pool_pairs(folder: Path, tokenizer: Any, seed: int) -> Iterator[Pair]:
    """The public pairs in doses and the made ones, in random order."""
    import pairs

    chosen = [pair for pair in pairs.training_pairs(folder, 12000, seed) if len(pair.premise.split()) <= 200]
    for pair in chosen:
        premise, claim = tokenizer([pair.premise, pair.claim], add_special_tokens=False, verbose=False)["input_ids"]
        if premise and len(claim) < 80:
            yield Pair(premise[:400], tuple(claim), pair.label, "pool")
