"""One entailment model asked by many threads at once: pairs wait a few milliseconds and are judged together.

Fair: callers that wait take equal parts of a batch, so a long source does not hold up a short one. A caller that is
cancelled stops waiting. `groundrail.scoring.batched` bounds how many may call at a time.
"""

import contextvars
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped
from groundrail.errors import InputError
from groundrail.runtime.deadlines import Calls
from groundrail.runtime.leaving import leaving

_log = logging.getLogger("groundrail.entailment")


@dataclass(frozen=True, slots=True)
class Batch:
    """One model call, for listeners. `contexts` are its callers', as `contextvars` has them."""

    pairs: int
    calls: int
    seconds: float
    contexts: tuple[contextvars.Context, ...]


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
    on_batch: called with every model call, in the judging thread.

    A batch that the model refuses is judged again call by call, so that one caller's bad pair does not fail the others.
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
        self._calls = Calls()
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_begin_again, weakref.ref(self)))

    def _begin(self) -> None:
        """Begin with nobody waiting: a forked child has no thread of its parent's."""
        self._waiting: list[_Call] = []
        self._is_judging = False
        self._lock = threading.Lock()

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """The model's answers, shape (n, 3). Raises: what the model raises for these pairs; CancelledError."""
        if not pairs:
            return self.model.classify(pairs)
        call = _Call(pairs)
        answer = call.future
        if (left := leaving.get()) is not None:
            left.add_done_callback(lambda _: answer.cancel())
        with self._lock:
            self._waiting.append(call)
            was_judging, self._is_judging = self._is_judging, True
        if not was_judging:
            self._calls.begin(contextvars.Context().run, self._judge_all)
        return answer.result()

    def _judge_all(self) -> None:
        while shares := self._next_batch():
            started = time.monotonic()
            self._judge(shares)
            if self.on_batch is not None:
                pairs = sum(len(pairs) for _, pairs in shares)
                contexts = tuple(call.context for call, _ in shares)
                try:
                    self.on_batch(Batch(pairs, len(shares), time.monotonic() - started, contexts))
                except Exception:  # a listener's fault must not leave callers waiting for ever
                    _log.exception("a listener to model calls failed")

    def _next_batch(self) -> list[tuple[_Call, Sequence[Pair]]]:
        """Calls with the pairs that are judged of each; empty where nothing waits."""
        with self._lock:
            is_full = sum(len(call.pairs) - call.asked for call in self._waiting) >= self.batch_pairs
        if not is_full:
            time.sleep(self.wait)
        with self._lock:
            self._waiting = [call for call in self._waiting if not call.future.done()]  # cancelled, or failed in part
            self._is_judging = bool(self._waiting)
            return self._shares() if self._waiting else []

    def _shares(self) -> list[tuple[_Call, Sequence[Pair]]]:
        """Equal parts for all that wait; what some do not need goes to the others in order."""
        asking, others = self._waiting[: self.batch_pairs], self._waiting[self.batch_pairs :]
        part = self.batch_pairs // len(asking)
        counts = [min(part, len(call.pairs) - call.asked) for call in asking]
        spare = self.batch_pairs - sum(counts)
        shares = []
        for call, count in zip(asking, counts, strict=True):
            more = min(spare, len(call.pairs) - call.asked - count)
            spare -= more
            start, call.asked = call.asked, call.asked + count + more
            shares.append((call, call.pairs[start : call.asked]))
        self._waiting = others + [call for call in asking if call.asked < len(call.pairs)]
        return shares

    def _judge(self, shares: Sequence[tuple[_Call, Sequence[Pair]]]) -> None:
        pairs = [pair for _, share in shares for pair in share]
        try:
            answers = np.asarray(self.model.classify(pairs))
            if len(answers) != len(pairs):
                raise ValueError(f"the model gave {len(answers)} answers for {len(pairs)} pairs")
        except BaseException as error:  # raised in the caller's thread; this thread serves all callers
            if len(shares) > 1:
                for each in shares:
                    self._judge([each])
            elif shares[0][0].future.set_running_or_notify_cancel():
                shares[0][0].future.set_exception(error)
            return
        start = 0
        for call, share in shares:
            call.answers.append(answers[start : start + len(share)])
            start += len(share)
            if sum(map(len, call.answers)) == len(call.pairs) and call.future.set_running_or_notify_cancel():
                call.future.set_result(np.concatenate(call.answers))


def _begin_again(shared: "weakref.ref[SharedEntailment]") -> None:
    if (judge := shared()) is not None:
        judge._begin()


def shared(model: EntailmentModel, **options: Any) -> SharedEntailment:
    """The model for many callers; `options` go to `SharedEntailment`. One that is shared stays as it is."""
    return model if isinstance(model, SharedEntailment) else SharedEntailment(model, **options)
