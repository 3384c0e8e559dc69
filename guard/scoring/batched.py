"""A scorer for many answers at once, around one model: what an event loop asks at the same time is judged together.

Bounds how many are scored at a time, and lets go of what nobody waits for any more. How pairs meet in one model
call is `groundrail.entailment.shared`.
"""

import asyncio
import contextvars
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.loading import load
from groundrail.entailment.shared import Waits, cancelled_with, shared
from groundrail.errors import InputError
from groundrail.scoring.base import Reader, Score, Scorer, ScorerFacts
from groundrail.types import Source


class BatchedScorer(Scorer):
    """Scores as `scorer` does, for up to `max_concurrency` answers at a time; the rest wait, first come first served.

    A scorer is taken as it is: build it on `groundrail.entailment.shared.shared(model)` to have its pairs judged
    together with others', or use `batched`, which does. Cancelling `Reader.ascore` takes what still waits off the
    queue; plain code scores in its own thread.
    """

    def __init__(self, scorer: Scorer, *, max_concurrency: int = 64) -> None:
        if max_concurrency < 1:
            raise InputError(f"max_concurrency is {max_concurrency}; at least one answer must be scored at a time")
        self.scorer, self.max_concurrency = scorer, max_concurrency
        self._threads = ThreadPoolExecutor(max_concurrency, thread_name_prefix="groundrail-score")

    @property
    def facts(self) -> ScorerFacts:
        """The scorer's."""
        return self.scorer.facts

    def read(self, source: Source) -> Reader:
        """As the scorer."""
        return _PooledReader(self.scorer.read(source), self._threads)

    def close(self) -> None:
        """End the threads once what they do is done."""
        self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _PooledReader(Reader):
    reader: Reader
    threads: ThreadPoolExecutor

    def score(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        return self.reader.score(claims, reach)

    async def ascore(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        waits = Waits()

        def work() -> list[Score]:
            with cancelled_with(waits):
                return self.reader.score(claims, reach)

        future = self.threads.submit(contextvars.copy_context().run, work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            waits.cancel()
            raise


def batched(
    scorer: "Scorer | str | None" = None,
    judge: "EntailmentModel | str | None" = None,
    *,
    max_concurrency: int = 64,
    **options: Any,
) -> BatchedScorer:
    """A `BatchedScorer` of the scorer and the judge that `Guard` takes, the judge shared by all answers.

    `options` are those of `groundrail.entailment.shared.SharedEntailment`; a scorer that exists already has no use
    for them. Raises: InputError.
    """
    from groundrail.scoring.registry import DEFAULT, as_meant, as_scorer, needs_entailment

    scorer, judge = as_meant(scorer, judge)
    if not isinstance(scorer, Scorer) and needs_entailment(scorer or DEFAULT):
        judge = shared(load(judge), **options)
    elif options:
        raise InputError(f"{', '.join(options)} cannot be set on this scorer; share its model instead")
    return BatchedScorer(as_scorer(scorer, judge), max_concurrency=max_concurrency)
