"""A scorer for many answers at once: bounds how many are scored at a time, and drops cancelled requests."""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from groundrail.entailment.asking import Asking
from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.loading import load
from groundrail.entailment.shared import shared
from groundrail.errors import InputError
from groundrail.runtime.deadlines import Calls
from groundrail.runtime.leaving import cancelled_with_task
from groundrail.scoring.base import Reader, Score, Scorer, ScorerMetadata
from groundrail.types import Source

T = TypeVar("T")


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
        self._turns = _Turns(max_concurrency)

    @property
    def metadata(self) -> ScorerMetadata:
        """The metadata of the wrapped scorer."""
        return self.scorer.metadata

    def read(self, source: Source) -> Reader:
        """Read a source with the wrapped scorer."""
        return _PooledReader(self.scorer.read(source), self._turns)

    def close(self) -> None:
        """Cancel what waits for its turn; the threads end a while after their present work."""
        self._turns.cancel()


class _Turns:
    """Makes calls in threads, `most` at a time; the others wait in order of arrival, and one that is cancelled is not made."""

    def __init__(self, most: int) -> None:
        self._most, self._busy, self._calls = most, 0, Calls()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._lock = threading.Lock()

    def begin(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Have a call made in its turn, in this context."""
        outcome: Future[T] = Future()
        call = partial(contextvars.copy_context().run, function, *arguments)
        with self._lock:
            self._waiting.append((outcome, call))
            starts = self._busy < self._most
            self._busy += starts
        if starts:
            self._calls.begin(contextvars.Context().run, self._work)
        return outcome

    def cancel(self) -> None:
        """Cancel what waits."""
        with self._lock:
            for outcome, _ in self._waiting:
                outcome.cancel()

    def _work(self) -> None:
        while turn := self._next():
            outcome, call = turn
            if outcome.set_running_or_notify_cancel():
                try:
                    outcome.set_result(call())
                except BaseException as error:  # raised in the caller's thread; this thread serves all callers
                    outcome.set_exception(error)
            del turn, outcome, call  # an error would keep itself alive by its traceback

    def _next(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._busy -= 1
            return None


@dataclass(frozen=True, slots=True)
class _PooledReader(Reader):
    reader: Reader
    turns: _Turns

    def score(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        return self.reader.score(claims, threshold)

    def asking(self, claims: Sequence[str], threshold: float | None = None) -> Asking[list[Score]]:
        return self.reader.asking(claims, threshold)

    async def ascore(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        with cancelled_with_task():
            return await asyncio.wrap_future(self.turns.begin(self.reader.score, claims, threshold))


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
