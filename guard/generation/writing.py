"""The generator's side of one answer: its session from start to close, and its pieces, each call in time.

`groundrail.generation.loop` decides which steps there are, and the drivers pass them on. Pieces that are read before
their turn wait in `groundrail.generation.read_ahead`.
"""

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundrail.errors import InputError
from groundrail.generation.read_ahead import ReadAhead
from groundrail.generation.steps import Accept, CanRetry, CutOff, NextPiece, Reject, Start
from groundrail.generators import Generator, Session
from groundrail.generators.base import close_late
from groundrail.runtime.deadlines import Calls, NotCalledError, in_time
from groundrail.types import Document

Asked = Start | NextPiece | Accept | Reject | CanRetry | CutOff

_log = logging.getLogger("groundrail.generation.writing")

PATIENCE = 1.0
"""Seconds that closing waits for a piece that is being written; one that takes longer closes at its end."""


class Writing:
    """An answer to `prompt` by `generator`, which is asked for nothing before the first step.

    ahead: whether the session may write on while it is judged, if it does that at all.
    explains: whether the log may quote an error of the generator on closing, which may repeat refused text.
    """

    def __init__(
        self,
        generator: Generator,
        prompt: str,
        documents: Sequence[Document],
        calls: Calls,
        *,
        ahead: bool = True,
        explains: bool = True,
    ) -> None:
        self._generator, self._prompt, self._documents = generator, prompt, documents
        self._calls, self._ahead, self._explains = calls, ahead, explains
        self._session: Session | None = None
        self._pieces: Any = None
        self._busy = False

    @property
    def stats(self) -> Mapping[str, float]:
        """The session's own counts."""
        return {} if self._session is None else self._session.stats

    def do(self, step: Asked) -> Any:
        """Do a step; return the outcome. Raises: OverdueError, and the exceptions of the session."""
        match step:
            case Start():
                started = self._within(
                    step.timeout, self._generator.start, self._prompt, self._documents, late=close_late
                )
                return self._begin(started)
            case NextPiece():
                return self._within(step.timeout, self._read, step.anew)
            case Accept() | Reject():
                return self._within(step.timeout, self._tell, step)
            case _:
                return self._say(step)

    async def ado(self, step: Asked) -> Any:
        """`do` for an event loop: calls without an async form run in a thread."""
        match step:
            case Start():
                with self._calls.current():
                    start = self._generator.astart(self._prompt, self._documents)
                    return self._begin(await in_time(step.timeout, start))
            case NextPiece():
                return await in_time(step.timeout, self._aread(step.anew))
            case Accept() | Reject():
                return await self._awithin(step.timeout, self._tell, step)
            case _:
                return self._say(step)

    def meanwhile(self) -> contextlib.AbstractContextManager[None]:
        """Have the session write on while the block runs, where it can."""
        if isinstance(self._pieces, ReadAhead) and self._started().writes_ahead:
            return self._pieces.meanwhile()
        return contextlib.nullcontext()

    def close(self) -> None:
        """Stop writing and free the pieces and the session; a call that still runs does that at its end.

        The sentences that are decided on stay decided: an error on closing is logged.
        """
        if self._busy or (isinstance(self._pieces, ReadAhead) and not self._pieces.stop(PATIENCE, late=self.close)):
            return
        pieces, self._pieces = self._pieces, None
        for held in (pieces, self._session):
            with self._logged():
                getattr(held, "close", lambda: None)()

    async def aclose(self) -> None:
        """`close` for an event loop."""
        pieces = self._pieces
        if hasattr(pieces, "aclose") and not self._busy:
            self._pieces = None
            with self._logged():
                await pieces.aclose()
        await self._calls.aside(self.close)

    def _within(self, timeout: float | None, function: Any, *arguments: Any, late: Any = None) -> Any:
        with self._busy_until_called():
            return self._calls.within(timeout, self._ending, function, *arguments, late=late or self._left)

    async def _awithin(self, timeout: float | None, function: Any, *arguments: Any) -> Any:
        with self._busy_until_called():
            return await self._calls.awithin(timeout, self._ending, function, *arguments, late=self._left)

    @contextlib.contextmanager
    def _busy_until_called(self) -> Iterator[None]:
        """Mark the session as busy until its call has ended; a call that was left behind then closes it."""
        self._busy = True
        try:
            yield
        except NotCalledError:
            self._busy = False
            raise

    def _ending(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        finally:
            self._busy = False

    def _left(self, _: object) -> None:
        self.close()

    def _read(self, anew: bool) -> str | None:
        if anew:
            self._pieces = self._propose()
        if hasattr(self._pieces, "__anext__"):
            raise InputError("this generator is async; use agenerate or astream")
        return next(self._pieces, None)

    async def _aread(self, anew: bool) -> str | None:
        if anew:
            self._pieces = await self._awithin(None, self._propose)
        if hasattr(self._pieces, "__anext__"):
            piece: str | None = await anext(self._pieces, None)
            return piece
        return await self._awithin(None, next, self._pieces, None)  # type: ignore[no-any-return]

    def _begin(self, session: Session) -> None:
        self._session = session
        self._ahead = self._ahead and session.writes_ahead

    def _propose(self) -> Any:
        pieces = self._started().propose()
        return ReadAhead(pieces, self._calls) if self._ahead and isinstance(pieces, Iterator) else pieces

    def _tell(self, step: Accept | Reject) -> None:
        if isinstance(step, Accept):
            self._started().accept(step.n_chars)
            return
        if isinstance(self._pieces, ReadAhead):
            self._pieces.stop()
        self._started().reject(step.n_chars)

    def _say(self, step: Asked) -> Any:
        return self._started().can_retry if isinstance(step, CanRetry) else self._started().cut_off

    def _started(self) -> Session:
        if self._session is None:
            raise InputError("there is no generator to read from")
        return self._session

    @contextlib.contextmanager
    def _logged(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            _log.warning("a generator raised %s on closing", type(error).__name__, exc_info=self._explains)
