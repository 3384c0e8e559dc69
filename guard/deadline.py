"""Calling a function that must answer in time, from plain and from async code."""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class OverdueError(TimeoutError):
    """A deadline of ours has passed; other TimeoutErrors are the callee's own failures."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__(f"no answer within {seconds:g} seconds" if seconds is not None else "no answer in time")


def within(timeout: float | None, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function; if it takes longer than `timeout` seconds, leave it behind and raise OverdueError.

    A thread cannot be stopped: what was left behind runs to its end, and its outcome is forgotten.
    """
    if timeout is None:
        return function(*arguments)
    outcome: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()
    _in_thread(lambda value, error: outcome.put((value, error)), function, arguments)
    try:
        value, error = outcome.get(timeout=timeout)
    except queue.Empty:
        raise OverdueError(timeout) from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


async def awithin(timeout: float | None, function: Callable[..., T], *arguments: Any) -> T:
    """`within` for an event loop: the function has its own thread, which nothing waits for once it is late."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: Any, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def tell(value: T | None, error: Exception | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    _in_thread(tell, function, arguments)
    done, _ = await asyncio.wait({future}, timeout=timeout)
    if not done:
        future.cancel()
        raise OverdueError(timeout)
    return future.result()


def _in_thread(
    tell: Callable[[Any, Exception | None], object], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    """Call the function in a thread of its own, in the caller's context; tell its value or its error."""

    def work() -> None:
        try:
            value = function(*arguments)
        except StopIteration as stopped:  # which a future cannot hold
            tell(None, RuntimeError(f"{stopped!r} was raised"))
        except Exception as raised:
            tell(None, raised)
        else:
            tell(value, None)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), daemon=True, name="groundrail-deadline").start()
