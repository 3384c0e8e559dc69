"""Calling a function that must answer in time, from plain and from async code.

A thread cannot be stopped. What is late is left behind: it runs to its end, its outcome goes to `late`, and only so
many may be left behind at once. At the interpreter's end those still running are told to stop and get a moment to
come back, since a thread that is cut off inside native code takes the process down with it. Threads that wait for a
call end with the `Calls` that keeps them.
"""

import asyncio
import atexit
import contextvars
import ctypes
import queue
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

T = TypeVar("T")

MOMENT = 5.0
"""Seconds that the interpreter waits at its end for calls that were left behind."""


class OverdueError(TimeoutError):
    """A deadline of ours has passed; other TimeoutErrors are the callee's own failures."""

    def __init__(self, seconds: float | None, reason: str = "") -> None:
        super().__init__(
            reason or (f"no answer within {seconds:g} seconds" if seconds is not None else "no answer in time")
        )


class NotCalledError(OverdueError):
    """It was too late to make the call at all: nothing was left behind."""


class Calls:
    """Makes calls in threads that it keeps for the next ones. `most_left`: calls that may be left behind at once.

    Beyond that, calls with a deadline are overdue without being made.
    """

    def __init__(self, most_left: int = 16) -> None:
        self.most_left = most_left
        self._idle: list[_Thread] = []
        self._left: set[_Thread] = set()
        self._lock = threading.Lock()
        weakref.finalize(self, _dismiss, self._idle).atexit = False

    @property
    def left(self) -> int:
        """Calls that were left behind and still run."""
        return len(self._left)

    def within(
        self,
        timeout: float | None,
        function: Callable[..., T],
        *arguments: Any,
        late: "Callable[[Future[T]], object] | None" = None,
    ) -> T:
        """Call a function, in this thread where there is no `timeout`.

        `late` gets what came of it, once it was left behind and has ended.

        Raises: OverdueError after `timeout` seconds; what the function raises, KeyboardInterrupt included.
        """
        if timeout is None:
            return function(*arguments)
        thread, outcome = self._begin(timeout, function, arguments)
        try:
            done = bool(wait({outcome}, timeout).done)
        except BaseException:
            self._leave(thread, outcome, late)
            raise
        if not done:
            self._leave(thread, outcome, late)
            raise OverdueError(timeout)
        return outcome.result()

    async def awithin(
        self,
        timeout: float | None,
        function: Callable[..., T],
        *arguments: Any,
        late: "Callable[[Future[T]], object] | None" = None,
    ) -> T:
        """`within` for an event loop, which it never blocks; cancelled, it leaves the call behind."""
        thread, outcome = self._begin(timeout, function, arguments)
        future = asyncio.wrap_future(outcome)
        try:
            done, _ = await asyncio.wait({future}, timeout=timeout)
        except BaseException:
            self._leave(thread, outcome, late)
            future.cancel()
            raise
        if not done:
            self._leave(thread, outcome, late)
            future.cancel()
            raise OverdueError(timeout)
        return future.result()

    def begin(self, function: Callable[..., object], *arguments: Any) -> None:
        """Have a call made in a thread and wait for nothing; what it raises is its own affair."""
        self._begin(None, function, arguments)

    def _begin(
        self, timeout: float | None, function: Callable[..., T], arguments: tuple[Any, ...]
    ) -> "tuple[_Thread, Future[T]]":
        if timeout is not None and timeout <= 0:
            raise NotCalledError(timeout, "there was no time left")
        if timeout is not None and self.left >= self.most_left:
            raise NotCalledError(timeout, f"{self.left} calls that missed their deadline are still running")
        with self._lock:
            thread = self._idle.pop() if self._idle else _Thread(self._free)
        return thread, thread.call(function, arguments)

    def _free(self, thread: "_Thread") -> None:
        with self._lock:
            self._left.discard(thread)
            self._idle.append(thread)

    def _leave(self, thread: "_Thread", outcome: "Future[T]", late: "Callable[[Future[T]], object] | None") -> None:
        with self._lock:
            if not outcome.done():
                self._left.add(thread)
        if late is not None:
            outcome.add_done_callback(late)


_running: set["_Thread"] = set()


class _Thread:
    """One thread that makes one call after another; `free` is told of every end, and where it is gone, the thread ends.

    It keeps nobody alive while it waits.
    """

    def __init__(self, free: "Callable[[_Thread], None]") -> None:
        self._free = weakref.WeakMethod(free)
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.idle = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True, name="groundrail-call")
        self._thread.start()

    def call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> "Future[T]":
        """Make a call in the caller's context."""
        outcome: Future[T] = Future()
        outcome.set_running_or_notify_cancel()
        context = contextvars.copy_context()

        def job() -> None:
            try:
                value = context.run(function, *arguments)
            except StopIteration as stopped:  # which no future can hold
                self._end(outcome.set_exception, RuntimeError(f"{stopped!r} was raised"))
            except BaseException as raised:  # the caller's to handle, an interrupt too
                self._end(outcome.set_exception, raised)
            else:
                self._end(outcome.set_result, value)

        self.idle.clear()
        _running.add(self)
        self._jobs.put(job)
        return outcome

    def stop(self) -> None:
        """Have the call end at its next step in Python; one that waits in native code goes on waiting."""
        if self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(_Exiting))

    def _end(self, settle: Callable[[Any], None], value: Any) -> None:
        _running.discard(self)
        self.idle.set()
        settle(value)
        free = self._free()
        if free is None:
            self.dismiss()
        else:
            free(self)

    def dismiss(self) -> None:
        """Make no more calls: the thread ends after those it has."""
        self._jobs.put(None)

    def _work(self) -> None:
        while self._next():
            pass

    def _next(self) -> bool:
        job = self._jobs.get()
        if job is not None:
            job()
        return job is not None


def _dismiss(idle: list[_Thread]) -> None:
    for thread in idle:
        thread.dismiss()


class _Exiting(BaseException):
    """The interpreter ends."""


@atexit.register
def _stop_running() -> None:
    running = list(_running)
    for thread in running:
        thread.stop()
    end = time.monotonic() + MOMENT
    for thread in running:
        thread.idle.wait(max(0.0, end - time.monotonic()))


_calls = Calls(most_left=64)
within, awithin = _calls.within, _calls.awithin
