"""Calling a function that must answer in time."""

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def within(timeout: float | None, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function; if it takes longer than `timeout` seconds, leave it behind and raise TimeoutError."""
    if timeout is None:
        return function(*arguments)
    outcome: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcome.put((True, function(*arguments)))
        except Exception as raised:
            outcome.put((False, raised))

    threading.Thread(target=work, daemon=True, name="groundrail-deadline").start()
    try:
        done, value = outcome.get(timeout=timeout)
    except queue.Empty:
        raise TimeoutError(f"no answer within {timeout:g} seconds") from None
    if done:
        return value  # type: ignore[no-any-return]
    raise value
