"""The generator's side of one answer: its session from start to close, each call in time."""

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundrail.errors import InputError
from groundrail.generation.steps import Piece, Read, Settle
from groundrail.generators.base import Generator, Session
from groundrail.runtime.both_ways import called, value_of
from groundrail.runtime.deadlines import Calls, NotCalledError, in_time
from groundrail.runtime.read_ahead import ReadAhead
from groundrail.types import Document

_log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds that closing a stream waits for the piece being written; a slower piece is closed when it is done."""


class Writing:
    """An answer to `prompt` by `generator`, which is asked for nothing before the first step.

    is_async: whether it runs on an event loop, which no call may block; calls without an async form run in a thread.
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
        is_async: bool,
        ahead: bool,
        explains: bool,
    ) -> None:
        self._generator, self._prompt, self._documents = generator, prompt, documents
        self._calls, self._ahead, self._explains = calls, ahead, explains
        self.is_async = is_async
        self._session: Session | None = None
        self._pieces: Any = None
        self._anew = True  # whether the session is asked for a new proposal before the next piece
        self._busy = False  # a call that was left behind still runs

    @property
    def stats(self) -> Mapping[str, float]:
        """The session's own counts."""
        return {} if self._session is None else self._session.stats

    async def read(self, step: Read) -> Piece:
        """The next piece. Raises: OverdueError, and the exceptions of the session."""
        if self.is_async:
            piece: Piece = await in_time(step.timeout, self._aread())
            return piece
        return await self._within(step.timeout, self._read)  # type: ignore[no-any-return]

    async def settle(self, step: Settle) -> bool:
        """Tell the session, which answers whether it can write others. Raises: as `read`."""
        return await self._within(step.timeout, self._settle, step)  # type: ignore[no-any-return]

    def meanwhile(self) -> contextlib.AbstractContextManager[None]:
        """Have the session write on while the block runs, where it can."""
        if isinstance(self._pieces, ReadAhead) and self._started.writes_ahead:
            return self._pieces.meanwhile()
        return contextlib.nullcontext()

    def close(self) -> None:
        """Stop writing and free the pieces and the session; a call that still runs frees them when it is done.

        The sentences that are decided on stay decided: an error on closing is logged.
        """
        if self._busy or (isinstance(self._pieces, ReadAhead) and not self._pieces.stop(PATIENCE, late=self.close)):
            return
        pieces, self._pieces = self._pieces, None
        for held in (pieces, self._session):
            with self._logged():
                getattr(held, "close", lambda: None)()

    async def aclose(self) -> None:
        """`close` without blocking an event loop, if it runs on one."""
        if not self.is_async:
            self.close()
            return
        pieces = self._pieces
        if hasattr(pieces, "aclose") and not self._busy:
            self._pieces = None
            with self._logged():
                await pieces.aclose()
        await self._calls.aside(self.close)

    async def _within(self, timeout: float | None, function: Any, *arguments: Any) -> Any:
        """Call the session; a call that is left behind closes the session when it has ended."""
        if timeout is None and not self.is_async:
            return called(function, *arguments)
        call: Any = self._calls.awithin if self.is_async else self._calls.within
        self._busy = True
        try:
            return await value_of(call(timeout, self._ending, function, *arguments, late=lambda ended: self.close()))
        except NotCalledError:
            self._busy = False
            raise

    def _ending(self, function: Any, *arguments: Any) -> Any:
        try:
            return called(function, *arguments)
        finally:
            self._busy = False

    def _read(self) -> Piece:
        if self._session is None:
            self._begin(self._generator.start(self._prompt, self._documents))
        if self._anew:
            self._propose()
        if hasattr(self._pieces, "__anext__"):
            raise InputError("this generator is async; use agenerate or astream")
        return self._piece(next(self._pieces, None))

    async def _aread(self) -> Piece:
        if self._session is None:
            with self._calls.current():
                self._begin(await self._generator.astart(self._prompt, self._documents))
        if self._anew:
            await self._within(None, self._propose)
        if hasattr(self._pieces, "__anext__"):
            return self._piece(await anext(self._pieces, None))
        return self._piece(await self._within(None, next, self._pieces, None))

    def _begin(self, session: Session) -> None:
        self._session, self._ahead = session, self._ahead and session.writes_ahead

    def _propose(self) -> None:
        pieces = self._started.propose()
        self._pieces = ReadAhead(pieces, self._calls) if self._ahead and isinstance(pieces, Iterator) else pieces
        self._anew = False

    def _piece(self, text: str | None) -> Piece:
        return Piece(text, self._started.cut_off if text is None else "")

    def _settle(self, step: Settle) -> bool:
        session = self._started
        if step.kept:
            session.accept(step.n_chars)
        elif session.can_retry:
            if isinstance(self._pieces, ReadAhead):
                self._pieces.stop()
            if step.evidence:
                session.show(step.evidence)
            session.reject(step.n_chars)
            self._anew = True
        return self._anew

    @property
    def _started(self) -> Session:
        if self._session is None:
            raise InputError("the session is not started; read a piece first")
        return self._session

    @contextlib.contextmanager
    def _logged(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            _log.warning("a generator raised %s on closing", type(error).__name__, exc_info=self._explains)
