"""An iterator whose items are read before their turn, in another thread, while other work is done."""

import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterator

from groundrail.runtime.deadlines import Calls

READ_AHEAD = 500
"""Characters that are read ahead, the piece that reaches them included: a sentence or a few. Where judging takes longer
than writing, more would not come out any sooner."""


class ReadAhead(Iterator[str]):
    """The pieces of an iterator, in their order; some are read in another thread before their turn.

    One thread at a time asks the iterator, always in the same context. An error ahead of its turn is raised when its
    turn comes; if that never comes, it is dropped.
    """

    def __init__(self, pieces: Iterator[str], calls: Calls) -> None:
        self._pieces, self._calls = pieces, calls
        self._context = contextvars.copy_context()
        self._changed = threading.Condition()  # guards all of the following
        self._read: deque[str] = deque()
        self._wanted = self._reading = self._ended = False
        self._error: BaseException | None = None
        self._late: Callable[[], object] | None = None

    def __next__(self) -> str:
        with self._changed:
            self._changed.wait_for(lambda: self._read or not self._reading)
            if self._read:
                return self._read.popleft()
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopIteration
        return self._context.run(next, self._pieces)

    @contextlib.contextmanager
    def meanwhile(self) -> Iterator[None]:
        """Read ahead while the block runs; a piece that is being written when the block ends still comes."""
        with self._changed:
            self._wanted = True
            if not (self._reading or self._ended or self._error):
                self._calls.begin(self._read_on)
                self._reading = True
        try:
            yield
        finally:
            with self._changed:
                self._wanted = False

    def stop(self, timeout: float | None = None, late: Callable[[], object] | None = None) -> bool:
        """Wait for a piece that is being written; True once there is none, and nobody else asks the iterator.

        After `timeout` seconds False, and `late` is called when that piece has come.
        """
        with self._changed:
            if self._changed.wait_for(lambda: not self._reading, timeout):
                return True
            self._late = late
            return False

    def close(self) -> None:
        """Close the iterator, where it can be closed."""
        close = getattr(self._pieces, "close", None)
        if close is not None:
            self._context.run(close)

    def _read_on(self) -> None:
        while self._has_room():
            try:
                piece = self._context.run(next, self._pieces, None)
            except BaseException as error:  # raised by `__next__`, if it ever comes to that
                with self._changed:
                    self._error = error
            else:
                with self._changed:
                    if piece is None:
                        self._ended = True
                    else:
                        self._read.append(piece)
                    self._changed.notify_all()
        if self._late is not None:
            self._late()

    def _has_room(self) -> bool:
        """Whether to read one more piece. If not, mark that nothing is being read."""
        with self._changed:
            full = sum(map(len, self._read)) >= READ_AHEAD
            self._reading = self._wanted and not (full or self._ended or self._error)
            if not self._reading:
                self._changed.notify_all()
            return self._reading
