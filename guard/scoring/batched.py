"""A scorer for many answers at once: bounds how many are scored at a time, and drops cancelled requests."""

import asyncio
import contextvars
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.loading import load
from groundrail.entailment.shared import shared
from groundrail.errors import InputError
from groundrail.runtime.leaving import cancelled_with_task
from groundrail.scoring.base import Reader, Score, Scorer, ScorerFacts
from groundrail.types import Source


class BatchedScorer(Scorer):
    """Score with `scorer` for up to `max_concurrency` answers at a time; other answers wait in order of arrival.

    To judge the pairs of several answers in one model call, use `batched`, or build the scorer on
    `groundrail.entailment.shared.shared(model)`; cancelling `Reader.ascore` then removes the waiting pairs. Synchronous
    code scores in the thread of the caller.
    """

    def __init__(self, scorer: Scorer, *, max_concurrency: int = 64) -> None:
        if max_concurrency < 1:
            raise InputError(f"max_concurrency is {max_concurrency}; at least one answer must be scored at a time")
        self.scorer, self.max_concurrency = scorer, max_concurrency
        self._threads = ThreadPoolExecutor(max_concurrency, thread_name_prefix="groundrail-score")

    @property
    def facts(self) -> ScorerFacts:
        """The facts about the wrapped scorer."""
        return self.scorer.facts

    def read(self, source: Source) -> Reader:
        """Read a source with the wrapped scorer."""
        return _PooledReader(self.scorer.read(source), self._threads)

    def close(self) -> None:
        """End the threads as soon as their present work is done."""
        self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _PooledReader(Reader):
    reader: Reader
    threads: ThreadPoolExecutor

    def score(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        return self.reader.score(claims, reach)

    def score_silence(self, claims: Sequence[str]) -> list[Score]:
        return self.reader.score_silence(claims)

    async def ascore(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
        with cancelled_with_task():
            future = self.threads.submit(contextvars.copy_context().run, self.reader.score, claims, reach)
            return await asyncio.wrap_future(future)


def batched(
    scorer: "Scorer | str | None" = None,
    judge: "EntailmentModel | str | None" = None,
    *,
    max_concurrency: int = 64,
    **options: Any,
) -> BatchedScorer:
    """Build a `BatchedScorer` from a scorer and a judge as `Guard` takes them; all answers share the judge.

        Guard(generator, scorer=batched("nearest", max_concurrency=32))

    Args:
        options: Options of `groundrail.entailment.shared.SharedEntailment`.

    Raises: InputError for options beside a scorer object, whose model is built already.
    """
    from groundrail.scoring.registry import DEFAULT, as_scorer, needs_entailment, require_scorer

    require_scorer(scorer)
    if not isinstance(scorer, Scorer) and needs_entailment(scorer or DEFAULT):
        judge = shared(load(judge), **options)
    elif options:
        raise InputError(f"{', '.join(options)} cannot be set on this scorer; share its model instead")
    return BatchedScorer(as_scorer(scorer, judge), max_concurrency=max_concurrency)
