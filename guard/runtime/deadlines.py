"""Calling a function that must answer in time, from plain and from async code.

A thread cannot be stopped. A late call is given up: it runs on, its outcome goes to `late`, and only so many calls may
be given up at once. The pool of `concurrent.futures` and anyio's hold up the end of the process for every call; here a
process waits only for calls that compute, since a thread that is cut off inside native code takes the process down.
"""

import asyncio
import atexit
import contextvars
import ctypes
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar

from groundrail.runtime.leaving import cancelled_with_task

T = TypeVar("T")

Late: TypeAlias = Callable[[Future[Any]], object] | None

MOMENT = 5.0
"""Seconds that the interpreter, before it exits, waits for calls that were given up; longer while they compute."""

IDLE = 60.0
"""Seconds after which a thread without a call ends."""

BUSY = 0.01
"""The share of that time from which on a process counts as computing: little, as the machine may be busy."""


class OverdueError(TimeoutError):
    """A deadline of ours has passed; other TimeoutErrors are the callee's own failures."""


class NotCalledError(OverdueError):
    """It was too late to make the call at all: nothing was left behind."""


class Calls:
    """Makes calls in threads that it keeps for the next ones; a forked child starts its own.

    most_left: once this many calls were given up and still run, further calls in threads time out at once. Calls that
        were already running by then may still be left behind, too.
    """

    def __init__(self, most_left: int = 16) -> None:
        self.most_left = most_left
        self._idle: list[_Thread] = []
        self._left: dict[Future[Any], int] = {}
        """Each call that was left behind, with its process."""
        weakref.finalize(self, _dismiss, self._idle).atexit = False

    @property
    def left(self) -> int:
        """Calls that were left behind and still run, none of them in a forked child."""
        return list(self._left.values()).count(os.getpid())

    def within(self, timeout: float | None, function: Callable[..., T], *arguments: Any, late: Late = None) -> T:
        """Call a function, in this thread where there is no `timeout`.

        `late` gets what came of it, once it was left behind and has ended.

        Raises: OverdueError after `timeout` seconds; what the function raises, KeyboardInterrupt included.
        """
        if timeout is None:
            return function(*arguments)
        with self._begun(timeout, late, function, *arguments) as outcome:
            if not wait({outcome}, timeout).done:
                raise OverdueError(f"no answer within {timeout:g} seconds")
        return outcome.result()

    async def awithin(self, timeout: float | None, function: Callable[..., T], *arguments: Any, late: Late = None) -> T:
        """`within` for an event loop, which it never blocks; cancelled, it leaves the call behind, which ends at its next step
        if it counts any (`groundrail.runtime.leaving`).
        """
        with cancelled_with_task(), self._begun(timeout, late, function, *arguments) as outcome:
            future = asyncio.wrap_future(outcome)
            try:
                done, _ = await asyncio.wait({future}, timeout=timeout)
            finally:
                future.cancel()  # if it is not done
            if not done:
                raise OverdueError(f"no answer within {timeout:g} seconds")
        return future.result()

    async def aside(self, function: Callable[..., T], *arguments: Any) -> T:
        """Make a call in a thread and await it, even while late calls still run: for our own work, and for closing."""
        return await asyncio.wrap_future(self.begin(function, *arguments))

    def begin(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Begin a call in a thread, even while late calls still run."""
        call = partial(contextvars.copy_context().run, function, *arguments)
        while self._idle:
            with suppress(IndexError):  # another thread took it
                thread = self._idle.pop()
                if thread.is_alive():  # not the parent's, in a forked child
                    return thread.call(call)
        return _Thread(self).call(call)

    @contextmanager
    def current(self) -> Iterator[None]:
        """`calls()` gives these, inside the block and in this context."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def _begun(
        self, timeout: float | None, late: Late, function: Callable[..., T], *arguments: Any
    ) -> "Iterator[Future[T]]":
        """A call, left behind where the block raises. Raises: NotCalledError where no call may be made."""
        if timeout is not None and timeout <= 0:
            raise NotCalledError("there was no time left")
        if self.left >= self.most_left:
            raise NotCalledError(f"{self.left} calls that were left behind are still running")
        outcome = self.begin(function, *arguments)
        try:
            yield outcome
        except BaseException:
            self._left[outcome] = os.getpid()
            if late is not None:
                outcome.add_done_callback(late)
            outcome.add_done_callback(self._left.pop)
            raise

    def keep(self, thread: "_Thread", outcome: Future[Any]) -> bool:
        """Keep a thread for the next call, unless its call was left behind: `late` may then take its time."""
        kept = outcome not in self._left
        if kept:
            self._idle.append(thread)
        return kept

    def forget(self, thread: "_Thread") -> bool:
        """Keep a thread no longer; return whether it was still kept, so that no call comes any more."""
        with suppress(ValueError):
            self._idle.remove(thread)
            return True
        return False


class _Thread(threading.Thread):
    """A thread that makes one call after another, for `calls`, which it does not keep alive."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(daemon=True, name="groundrail-call")
        self._calls = weakref.ref(calls)
        self.jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self.running: Future[Any] | None = None
        self.start()

    def call(self, function: Callable[[], T]) -> Future[T]:
        """Begin a call."""
        outcome: Future[T] = Future()
        outcome.set_running_or_notify_cancel()
        self.running = outcome
        self.jobs.put((outcome, function))
        return outcome

    def run(self) -> None:
        kept = True
        while kept and (job := self._next()):
            outcome, function = job
            try:
                settle = partial(outcome.set_result, function())
            except StopIteration as stopped:  # which no future can hold
                settle = partial(outcome.set_exception, RuntimeError(f"{stopped!r} was raised"))
            except BaseException as raised:  # the caller's to handle, an interrupt too
                settle = partial(outcome.set_exception, raised)
            self.running, calls = None, self._calls()
            kept = calls is not None and calls.keep(self, outcome)  # before the caller goes on and calls again
            settle()
            del job, outcome, function, settle, calls  # an error would keep itself alive by its traceback

    def _next(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        """The next call; None where none has come for a while, or the calls are gone."""
        with suppress(queue.Empty):
            return self.jobs.get(timeout=IDLE)
        calls = self._calls()
        if calls is None or calls.forget(self):
            return None
        return self.jobs.get()  # another thread has just taken this one for a call

    def stop(self) -> None:
        """Have the call end at its next step in Python; one that waits in native code goes on waiting."""
        if self.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(_Exiting))


def _dismiss(idle: list[_Thread]) -> None:
    for thread in idle:
        thread.jobs.put(None)


class _Exiting(BaseException):
    """The interpreter ends."""


@atexit.register
def _stop_running() -> None:
    threads = [thread for thread in threading.enumerate() if isinstance(thread, _Thread)]
    running = {thread.running for thread in threads if thread.running}
    for thread in threads:
        if thread.running:
            thread.stop()
    while running:
        before = time.process_time()
        running = wait(running, MOMENT).not_done
        if time.process_time() - before < BUSY * MOMENT:
            return  # they wait for something themselves


_everybodys = Calls(most_left=64)
_current: contextvars.ContextVar[Calls] = contextvars.ContextVar("groundrail_calls", default=_everybodys)
aside = _everybodys.aside


def calls() -> Calls:
    """The calls of the guard for which this runs, else everybody's."""
    return _current.get()


async def in_time(timeout: float | None, awaitable: Any) -> Any:
    """Await something, cancelled after `timeout` seconds. Raises: OverdueError then."""
    if timeout is not None and timeout <= 0:
        awaitable.close()
        raise OverdueError("there was no time left")
    try:
        async with asyncio.timeout(timeout) as limit:
            return await awaitable
    except TimeoutError as error:
        if limit.expired():
            raise OverdueError(f"no answer within {timeout:g} seconds") from error
        raise
