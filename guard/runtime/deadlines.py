"""Calling a function that must answer in time, from plain and from async code.

A thread cannot be stopped. A late call is given up: it runs on, its outcome goes to `late`, and only so many calls may
be given up at once. At the interpreter's end the running calls are told to stop. The interpreter waits for them as long
as they compute, since a thread that is cut off inside native code takes the process down with it; calls that wait for
something themselves get a moment. Neither is possible with the pool of `concurrent.futures`, which waits at the end for
all calls, nor with anyio's, whose threads end with their event loop. Idle threads end with the `Calls` that keeps them.
A forked child has none of its parent's threads and starts its own.
"""

import asyncio
import atexit
import contextvars
import ctypes
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
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
        self._left: dict[Future[Any], _Thread] = {}
        weakref.finalize(self, _dismiss, self._idle).atexit = False

    @property
    def left(self) -> int:
        """Calls that were left behind and still run, none of them in a forked child."""
        return sum(thread.is_alive() for thread in list(self._left.values()))

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
            self._leave(outcome, thread, late)
            raise
        if not done:
            self._leave(outcome, thread, late)
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
            self._leave(outcome, thread, late)
            future.cancel()
            raise
        if not done:
            self._leave(outcome, thread, late)
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

    def _begin(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> "tuple[_Thread, Future[T]]":
        try:
            thread = self._idle.pop()
        except IndexError:
            thread = _Thread(self)
        if not thread.is_alive():  # the parent's, in a forked child
            return self._begin(function, arguments)
        return thread, thread.call(partial(contextvars.copy_context().run, function, *arguments))

    def _leave(self, outcome: Future[T], thread: "_Thread", late: "Callable[[Future[T]], object] | None") -> None:
        """Count a call as left behind until its outcome is collected."""
        self._left[outcome] = thread
        if late is not None:
            outcome.add_done_callback(late)
        outcome.add_done_callback(lambda ended: self._left.pop(ended))

    def settle(self, outcome: Future[T], settled: Callable[[], None], thread: "_Thread") -> None:
        """Settle a call that has ended, and keep its thread for the next.

        The thread is idle before its caller goes on, whose next call would start another thread otherwise; after a call
        that was given up, once its outcome is collected.
        """
        left = outcome in self._left
        if not left:
            self._idle.append(thread)
        settled()
        if left:
            self._idle.append(thread)


_running: dict["_Thread", Future[Any]] = {}


class _Thread(threading.Thread):
    """A thread that makes one call after another, for `calls`, which it does not keep alive."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(daemon=True, name="groundrail-call")
        self._calls = weakref.ref(calls)
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._clock: int | None = None
        self.start()

    def call(self, function: Callable[[], T]) -> Future[T]:
        """Begin a call."""
        outcome: Future[T] = Future()
        outcome.set_running_or_notify_cancel()
        _running[self] = outcome
        self._jobs.put((outcome, function))
        return outcome

    def dismiss(self) -> None:
        """End the thread after its present call."""
        self._jobs.put(None)

    def stop(self) -> None:
        """Have the call end at its next step in Python; one that waits in native code goes on waiting."""
        if self.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(_Exiting))

    def computed(self) -> float:
        """Seconds of processor time that the thread has used; 0 where the system does not tell."""
        try:
            return 0.0 if self._clock is None else time.clock_gettime(self._clock)
        except OSError:  # it has ended
            return 0.0

    def run(self) -> None:
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(threading.get_ident())
        while self._next():
            pass

    def _next(self) -> bool:
        """Make the next call. Returns False where there is none for this thread."""
        job = self._jobs.get()
        if job is None:
            return False
        outcome, function = job
        try:
            settled = partial(outcome.set_result, function())
        except StopIteration as stopped:  # which no future can hold
            settled = partial(outcome.set_exception, RuntimeError(f"{stopped!r} was raised"))
        except BaseException as raised:  # the caller's to handle, an interrupt too
            settled = partial(outcome.set_exception, raised)
        _running.pop(self, None)
        calls = self._calls()
        if calls is None:
            settled()
        else:
            calls.settle(outcome, settled, self)
        del job, outcome, settled  # an error would keep itself alive by its traceback
        return calls is not None


def _dismiss(idle: list[_Thread]) -> None:
    for thread in idle:
        thread.dismiss()


class _Exiting(BaseException):
    """The interpreter ends."""


@atexit.register
def _stop_running() -> None:
    running = {thread: outcome for thread, outcome in list(_running.items()) if thread.is_alive()}
    for thread in running:
        thread.stop()
    while running:
        before = {thread: thread.computed() for thread in running}
        late = wait(running.values(), MOMENT).not_done
        running = {
            thread: outcome
            for thread, outcome in running.items()
            if outcome in late and thread.computed() - before[thread] > BUSY * MOMENT
        }


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
