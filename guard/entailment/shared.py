"""One entailment model asked by many threads at once: pairs wait a few milliseconds and are judged together.

Fair: callers that wait take equal parts of a batch, so a long source does not hold up a short one. A caller can stop
waiting (`Waits`). `groundrail.scoring.batched` bounds how many may call at a time, and has the form for event loops.
"""

import contextvars
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped
from groundrail.errors import InputError

_log = logging.getLogger("groundrail.entailment")

_IDLE = 5.0
"""Seconds without work after which the judging thread ends; the next call starts another."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One model call, for listeners. `contexts` are its callers', as `contextvars` has them."""

    pairs: int
    calls: int
    seconds: float
    contexts: tuple[contextvars.Context, ...]


class Waits:
    """The calls that one answer waits for; `cancel` ends them all, and every later one, from any thread."""

    def __init__(self) -> None:
        self._lock, self._cancelled = threading.Lock(), False
        self._futures: set[Future[FloatArray]] = set()

    def add(self, future: "Future[FloatArray]") -> None:
        """The answer waits for a call; one that was cancelled takes it along at once."""
        with self._lock:
            self._futures.add(future)
            cancelled = self._cancelled
        if cancelled:
            future.cancel()

    def discard(self, future: "Future[FloatArray]") -> None:
        """A call is over."""
        with self._lock:
            self._futures.discard(future)

    def cancel(self) -> None:
        """End every call that is waited for, and all that come."""
        with self._lock:
            self._cancelled = True
            futures = list(self._futures)
        for future in futures:
            future.cancel()


_waits: contextvars.ContextVar[Waits | None] = contextvars.ContextVar("groundrail_waits", default=None)


@contextmanager
def cancelled_with(waits: Waits) -> Iterator[None]:
    """Calls inside the block, in this context, end with `CancelledError` once `waits` is cancelled."""
    token = _waits.set(waits)
    try:
        yield
    finally:
        _waits.reset(token)


@dataclass(slots=True, eq=False)
class _Call:
    pairs: Sequence[Pair]
    future: Future[FloatArray] = field(default_factory=Future)
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    asked: int = 0
    answers: list[FloatArray] = field(default_factory=list)


class SharedEntailment(Wrapped):
    """Answers as `model` does, with the pairs of calls that arrive together judged in one model call.

    wait: seconds that a call waits for company. batch_pairs: pairs in one model call at most.
    on_batch: told of every model call, in the judging thread.

    A batch that the model refuses is judged again call by call, so that one caller's bad pair costs nobody else.
    """

    def __init__(
        self,
        model: EntailmentModel,
        *,
        wait: float = 0.003,
        batch_pairs: int = 64,
        on_batch: Callable[[Batch], None] | None = None,
    ) -> None:
        super().__init__(model)
        if batch_pairs < 1 or not wait >= 0:
            raise InputError(f"wait is {wait} and batch_pairs {batch_pairs}; pass seconds, and at least one pair")
        self.wait, self.batch_pairs, self.on_batch = wait, batch_pairs, on_batch
        self._waiting: deque[_Call] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """The model's answers, shape (n, 3). Raises: what the model raises for these pairs; CancelledError."""
        if not pairs:
            return self.model.classify(pairs)
        call, waits = _Call(pairs), _waits.get()
        if waits is not None:
            waits.add(call.future)
        with self._changed:
            self._waiting.append(call)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True, name="groundrail-judge")
                self._thread.start()
            self._changed.notify_all()
        try:
            return call.future.result()
        finally:
            if waits is not None:
                waits.discard(call.future)

    def _work(self) -> None:
        while shares := self._gathered():
            started = time.monotonic()
            self._judge(shares)
            if self.on_batch is not None:
                pairs = sum(len(pairs) for _, pairs in shares)
                contexts = tuple(call.context for call, _ in shares)
                try:
                    self.on_batch(Batch(pairs, len(shares), time.monotonic() - started, contexts))
                except Exception:  # a listener's fault must not leave callers waiting for ever
                    _log.exception("a listener to model calls failed")

    def _gathered(self) -> list[tuple[_Call, Sequence[Pair]]]:
        """The next batch: calls with what is judged of each; empty once there has been nothing to do."""
        with self._changed:
            while True:
                if not self._changed.wait_for(lambda: self._waiting, timeout=_IDLE):
                    self._thread = None
                    return []
                self._changed.wait_for(self._is_full, timeout=self.wait)
                self._waiting = deque(call for call in self._waiting if not call.future.cancelled())
                if self._waiting:
                    return self._shares()

    def _is_full(self) -> bool:
        return sum(len(call.pairs) - call.asked for call in self._waiting) >= self.batch_pairs

    def _shares(self) -> list[tuple[_Call, Sequence[Pair]]]:
        """Equal parts for all that wait; what some do not need goes to the others in order."""
        asking = list(self._waiting)[: self.batch_pairs]
        part = self.batch_pairs // len(asking)
        counts = [min(part, len(call.pairs) - call.asked) for call in asking]
        spare = self.batch_pairs - sum(counts)
        shares = []
        for call, count in zip(asking, counts, strict=True):
            more = min(spare, len(call.pairs) - call.asked - count)
            spare -= more
            start, call.asked = call.asked, call.asked + count + more
            shares.append((call, call.pairs[start : call.asked]))
            self._waiting.remove(call)
            if call.asked < len(call.pairs):  # behind those that were not served this time
                self._waiting.append(call)
        return shares

    def _judge(self, shares: Sequence[tuple[_Call, Sequence[Pair]]]) -> None:
        pairs = [pair for _, share in shares for pair in share]
        try:
            answers = np.asarray(self.model.classify(pairs))
            if len(answers) != len(pairs):
                raise ValueError(f"the model gave {len(answers)} answers for {len(pairs)} pairs")
        except BaseException as error:  # whoever asked is told of it; this thread is everybody's
            if len(shares) == 1:
                self._fail(shares[0][0], error)
                return
            for each in shares:
                self._judge([each])
            return
        start = 0
        for call, share in shares:
            call.answers.append(answers[start : start + len(share)])
            start += len(share)
            if sum(map(len, call.answers)) == len(call.pairs) and call.future.set_running_or_notify_cancel():
                call.future.set_result(np.concatenate(call.answers))

    def _fail(self, call: _Call, error: BaseException) -> None:
        with self._changed:
            if call in self._waiting:
                self._waiting.remove(call)
        if call.future.set_running_or_notify_cancel():
            call.future.set_exception(error)


def shared(model: EntailmentModel, **options: Any) -> SharedEntailment:
    """The model for many callers; `options` go to `SharedEntailment`. One that is shared stays as it is."""
    return model if isinstance(model, SharedEntailment) else SharedEntailment(model, **options)


__all__ = ["Batch", "CancelledError", "SharedEntailment", "Waits", "cancelled_with", "shared"]
