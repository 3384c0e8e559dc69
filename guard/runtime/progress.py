"""How far long work has come, for a bar or a log. The code that counts the steps of a stage does not know who listens."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from groundrail.runtime.leaving import go_on

Report: TypeAlias = Callable[[str, int, int], None]
"""Called with a stage's name, its steps done, and its steps in all."""

_REPORTS = 1000
"""Reports of a stage at most, so that listening costs the same however many steps there are."""


@contextmanager
def heard_by(report: Report) -> Iterator[None]:
    """Within the block `report` is called at the beginning of each stage and then up to 1,000 times while it goes on."""
    token = _listener.set(_Listener(report))
    try:
        yield
    finally:
        _listener.reset(token)


def begin(stage: str, total: int) -> None:
    """Begin a stage of `total` steps and end the stage before, finished or not."""
    listener = _listener.get()
    if listener is not None:
        listener.begin(stage, total)


def step(count: int = 1) -> None:
    """So many steps of the stage are done; nothing where none has begun.

    Raises: CancelledError where nobody waits for the work any more (`groundrail.runtime.leaving`).
    """
    go_on()
    listener = _listener.get()
    if listener is not None:
        listener.step(count)


def stepping(texts: Iterable[str]) -> Iterator[str]:
    """The texts, one after the other; a character is a step."""
    for text in texts:
        yield text
        step(len(text))


class _Listener:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._stage, self._done, self._total, self._reported = "", 0, 0, 0

    def begin(self, stage: str, total: int) -> None:
        self._stage, self._done, self._total, self._reported = stage, 0, total, 0
        self._report(stage, 0, total)

    def step(self, count: int) -> None:
        self._done = min(self._done + count, self._total)
        new, is_last = self._done - self._reported, self._done == self._total
        if new and (is_last or new * _REPORTS >= self._total):
            self._reported = self._done
            self._report(self._stage, self._done, self._total)


_listener: ContextVar[_Listener | None] = ContextVar("groundrail_progress", default=None)
