"""Calling a function that must answer in time, from plain and from async code.

A thread cannot be stopped. A late call is given up: it runs on, its outcome goes to `late`, and only so many calls may
be given up at once. At the interpreter's end the running calls are told to stop. The interpreter waits for them as long
as they compute, since a thread that is cut off inside native code takes the process down with it; calls that wait for
something themselves get a moment. Idle threads end with the `Calls` that keeps them. A forked child has none of its
parent's threads and starts its own.
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
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

MOMENT = 5.0
"""Seconds that the interpreter, before it exits, waits for calls that were given up; longer while they compute."""

BUSY = 0.01
"""The share of that time from which on a thread counts as computing: little, as the machine may be busy."""


class OverdueError(TimeoutError):
    """A deadline of ours has passed; other TimeoutErrors are the callee's own failures."""

    def __init__(self, seconds: float | None, reason: str = "") -> None:
        super().__init__(
            reason or (f"no answer within {seconds:g} seconds" if seconds is not None else "no answer in time")
        )


class NotCalledError(OverdueError):
    """It was too late to make the call at all: nothing was left behind."""


class Calls:
    """Makes calls in threads that it keeps for the next ones.

    most_left: once this many calls were given up and still run, further calls in threads time out at once. Calls that
        were already running by then may still be left behind, too.
    """

    def __init__(self, most_left: int = 16) -> None:
        self.most_left = most_left
        self._idle: list[_Thread] = []
        self._left: set[_Thread] = set()
        self._lock = threading.Lock()
        weakref.finalize(self, _dismiss, self._idle).atexit = False
        _everyones.add(self)

    def forget_threads(self) -> None:
        """Start again without threads, in a forked child: none of the parent's threads runs there."""
        self._lock = threading.Lock()
        self._idle.clear()
        self._left.clear()

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
        self._require_room(timeout)
        thread, outcome = self._begin(function, arguments)
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
        self._require_room(timeout)
        thread, outcome = self._begin(function, arguments)
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
        self._begin(function, arguments)

    async def aside(self, function: Callable[..., T], *arguments: Any) -> T:
        """Have a call made beside the event loop however many were left behind: for our own work, and for closing."""
        return await asyncio.wrap_future(self._begin(function, arguments)[1])

    @contextmanager
    def current(self) -> Iterator[None]:
        """Calls by this module's `within` and `awithin` are made by these, inside the block and in this context."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def _require_room(self, timeout: float | None) -> None:
        if timeout is not None and timeout <= 0:
            raise NotCalledError(timeout, "there was no time left")
        if self.left >= self.most_left:
            raise NotCalledError(timeout, f"{self.left} calls that were left behind are still running")

    def _begin(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> "tuple[_Thread, _Outcome[T]]":
        with self._lock:
            thread = self._idle.pop() if self._idle else _Thread(self._end)
        return thread, thread.call(function, arguments)

    def _end(self, thread: "_Thread", outcome: "_Outcome[Any]", settle: Callable[[], None]) -> None:
        """Settle a call that has ended, and have its thread wait for the next.

        The thread waits before its caller goes on, whose next call would start another thread otherwise. A call that
        was given up counts until its outcome is collected.
        """
        with self._lock:
            left = thread in self._left
            outcome.ended = True
            if not left:
                self._idle.append(thread)
        settle()
        if left:
            with self._lock:
                self._left.discard(thread)
                self._idle.append(thread)

    def _leave(self, thread: "_Thread", outcome: "_Outcome[T]", late: "Callable[[Future[T]], object] | None") -> None:
        with self._lock:
            if not outcome.ended:
                self._left.add(thread)
        if late is not None:
            outcome.add_done_callback(late)


_running: set["_Thread"] = set()
_everyones: "weakref.WeakSet[Calls]" = weakref.WeakSet()


class _Outcome(Future[T]):
    """The outcome of a call. `ended`: the call has ended, though the outcome may not be settled yet."""

    ended = False


class _Thread:
    """One thread that makes one call after another; `end` settles each of them, and once it is gone, the thread ends.

    A waiting thread does not keep the owner of `end` alive.
    """

    def __init__(self, end: "Callable[[_Thread, _Outcome[Any], Callable[[], None]], None]") -> None:
        self._end_call = weakref.WeakMethod(end)
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.idle = threading.Event()
        self._clock: int | None = None
        self._thread = threading.Thread(target=self._work, daemon=True, name="groundrail-call")
        self._thread.start()

    def call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> _Outcome[T]:
        """Make a call in the caller's context."""
        outcome: _Outcome[T] = _Outcome()
        outcome.set_running_or_notify_cancel()
        context = contextvars.copy_context()

        def job() -> None:
            try:
                value = context.run(function, *arguments)
            except StopIteration as stopped:  # which no future can hold
                self._end(outcome, outcome.set_exception, RuntimeError(f"{stopped!r} was raised"))
            except BaseException as raised:  # the caller's to handle, an interrupt too
                self._end(outcome, outcome.set_exception, raised)
            else:
                self._end(outcome, outcome.set_result, value)

        self.idle.clear()
        _running.add(self)
        self._jobs.put(job)
        return outcome

    def stop(self) -> None:
        """Have the call end at its next step in Python; one that waits in native code goes on waiting."""
        if self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(_Exiting))

    def computed(self) -> float:
        """Seconds of processor time that the thread has used; 0 where the system does not tell."""
        try:
            return 0.0 if self._clock is None else time.clock_gettime(self._clock)
        except OSError:  # it has ended
            return 0.0

    def _end(self, outcome: _Outcome[Any], settle: Callable[[Any], None], value: Any) -> None:
        _running.discard(self)
        self.idle.set()
        end = self._end_call()
        if end is None:
            settle(value)
            self.dismiss()
        else:
            end(self, outcome, lambda: settle(value))

    def dismiss(self) -> None:
        """Make no more calls: the thread ends after its present calls."""
        self._jobs.put(None)

    def _work(self) -> None:
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(threading.get_ident())
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
    while running:
        before = [thread.computed() for thread in running]
        end = time.monotonic() + MOMENT
        for thread in running:
            thread.idle.wait(max(0.0, end - time.monotonic()))
        running = [
            thread
            for thread, computed in zip(running, before, strict=True)
            if not thread.idle.is_set() and thread.computed() - computed > BUSY * MOMENT
        ]


def _forget_threads() -> None:
    _running.clear()
    for calls in list(_everyones):
        calls.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)

_everybodys = Calls(most_left=64)
_current: contextvars.ContextVar[Calls] = contextvars.ContextVar("groundrail_calls", default=_everybodys)
aside = _everybodys.aside


def within(timeout: float | None, function: Callable[..., T], *arguments: Any) -> T:
    """`Calls.within`, by the calls of the guard for which this runs, else by everybody's."""
    return _current.get().within(timeout, function, *arguments)


async def awithin(
    timeout: float | None,
    function: Callable[..., T],
    *arguments: Any,
    late: "Callable[[Future[T]], object] | None" = None,
) -> T:
    """`Calls.awithin`, by the calls of the guard for which this runs, else by everybody's."""
    return await _current.get().awithin(timeout, function, *arguments, late=late)


async def in_time(timeout: float | None, awaitable: Any) -> Any:
    """Await something, cancelled after `timeout` seconds. Raises: OverdueError then."""
    if timeout is not None and timeout <= 0:
        awaitable.close()
        raise OverdueError(timeout, "there was no time left")
    try:
        async with asyncio.timeout(timeout) as limit:
            return await awaitable
    except TimeoutError as error:
        if limit.expired():
            raise OverdueError(timeout) from error
        raise
