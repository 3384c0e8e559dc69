"""Work in a thread for a task that may be cancelled: it ends at its next step, since nobody waits for it any more.

`groundrail.runtime.progress` asks at each step that it counts: between the batches of a judge, and while a source is read.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from contextvars import ContextVar

leaving: ContextVar[Future[None] | None] = ContextVar("groundrail_leaving", default=None)
"""Cancelled as soon as the task for which this context works is."""


@contextmanager
def cancelled_with_task() -> Iterator[None]:
    """Where a task is cancelled inside the block, its calls in other threads end with `CancelledError`, later ones too."""
    left: Future[None] = Future()
    token = leaving.set(left)
    try:
        yield
    except asyncio.CancelledError:
        left.cancel()
        raise
    finally:
        leaving.reset(token)


def go_on() -> None:
    """Raises: CancelledError where nobody waits for this work any more."""
    left = leaving.get()
    if left is not None and left.cancelled():
        raise CancelledError("nobody waits for this work any more")
