"""Everything that a consumer can see of an answer: text, results, events, callbacks, logs, exceptions."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.conformance.scripts import HIDDEN

_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


class Seen:
    """One consumer's view of one answer.

    `text` is what a reader is shown, piece by piece; `result` the text of the result, where the host has one; `error`
    the exception that ended the answer. `note` takes anything else.
    """

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.result: str | None = None
        self.error: BaseException | None = None
        self._rest: list[str] = []

    @property
    def text(self) -> str:
        """All text that a reader is shown."""
        return "".join(self.pieces)

    def note(self, thing: Any) -> None:
        """Keep something that a consumer can look at: text as it is, other things as their `repr` and their fields."""
        self._rest += [thing] if isinstance(thing, str) else [repr(thing), repr(getattr(thing, "__dict__", ""))]

    @property
    def leaked(self) -> str:
        """Letters of false sentences that were seen anywhere, also those that JSON escapes."""
        told = "".join([*self.pieces, self.result or "", *self._rest])
        plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), told)
        return "".join(sorted(HIDDEN & set(plain)))


@contextmanager
def recorded() -> Iterator[Seen]:
    """Record an answer: an exception ends it, and is seen with everything that it holds, as are logs."""
    seen = Seen()
    root, handler = logging.getLogger(), _Logs(seen)
    root.addHandler(handler)
    try:
        yield seen
    except Exception as error:
        seen.error = error
        _note_error(seen, error)
    finally:
        root.removeHandler(handler)


def _note_error(seen: Seen, error: BaseException | None) -> None:
    known: list[BaseException] = []
    waiting = [error]
    while waiting:
        met = waiting.pop()
        if met is not None and met not in known:
            known.append(met)
            seen.note(met)
            seen.note(str(met))
            waiting += [met.__cause__, met.__context__, *getattr(met, "exceptions", ())]


class _Logs(logging.Handler):
    def __init__(self, seen: Seen) -> None:
        super().__init__(logging.INFO)
        self._seen = seen

    def emit(self, record: logging.LogRecord) -> None:
        self._seen.note(record.getMessage())
        self._seen.note(record)
