"""The two sides of one answer that the loop's steps reach: the scorer's and the generator's, each call in time.

`Judging` asks the scorer, `Writing` the generator's session from start to close. `ReadAhead` holds pieces that are read
before their turn: the next sentence is written while one is judged, where the session can (`Session.writes_ahead`).
"""

import contextlib
import contextvars
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from groundrail.entailment.asking import Asking, answered
from groundrail.errors import InputError, ScoringError
from groundrail.generation.loop import Accept, CanRetry, CutOff, Judge, NextPiece, Reject, Start
from groundrail.generators.base import Generator, Session, close_late
from groundrail.runtime.both_ways import value_of
from groundrail.runtime.deadlines import Calls, NotCalledError, in_time
from groundrail.scoring.base import Reader, Score, Scorer
from groundrail.scoring.language_note import with_language_note
from groundrail.scoring.read_source import ReadSource
from groundrail.text.claims import NoClaim
from groundrail.text.context import claimed
from groundrail.text.kinds import Kind
from groundrail.types import Document

Asked: TypeAlias = Start | NextPiece | Accept | Reject | CanRetry | CutOff

_log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds that closing a stream waits for the piece being written; a slower piece is closed when it is done."""

READ_AHEAD = 500
"""Characters that are read ahead, the piece that reaches them included: a sentence or a few. Where judging takes longer
than writing, more would not come out any sooner."""


class Judging:
    """A scorer and the source of one answer, read when the first claim needs it."""

    def __init__(self, scorer: Scorer, source: ReadSource, calls: Calls) -> None:
        self._english_only, self._source, self._calls = scorer.facts.english_only, source, calls
        self._readers = source.by(scorer)

    def do(self, step: Judge) -> list[Score | NoClaim]:
        """One score a claim, or `NoClaim` for talk. Raises: OverdueError, ScoringError for anything but one score each, what the scorer raises."""
        return self._calls.within(step.timeout, self._score, step)

    async def ado(self, step: Judge) -> list[Score | NoClaim]:
        """`do` without blocking the event loop."""
        with self._calls.current():
            scores: list[Score | NoClaim] = await in_time(step.timeout, self._ascore(step))
        return scores

    def _score(self, step: Judge) -> list[Score | NoClaim]:
        return answered(self.asking(step))

    def asking(self, step: Judge) -> Asking[list[Score | NoClaim]]:
        """`do` as a coroutine without a deadline, so that several answers can share the judge's calls."""
        kinds = yield from self._kinds(step)
        scores: dict[int, Score] = {}
        for named, places in _by_documents(step, kinds).items():
            claims = [step.claims[place] for place in places]
            found = yield from self._readers.read(named).asking(claims, step.threshold)
            scores |= zip(places, self._noted(claims, found), strict=True)
        return self._in_order(kinds, _sorted(scores), self._silence(step, kinds))

    async def _ascore(self, step: Judge) -> list[Score | NoClaim]:
        kinds = await self._calls.awithin(None, answered, self._kinds(step))
        scores: dict[int, Score] = {}
        for named, places in _by_documents(step, kinds).items():
            claims = [step.claims[place] for place in places]
            known = self._readers.known(named)
            reader: Reader = await self._calls.awithin(None, self._readers.read, named) if known is None else known
            scores |= zip(places, self._noted(claims, await reader.ascore(claims, step.threshold)), strict=True)
        return self._in_order(kinds, _sorted(scores), await self._calls.awithin(None, self._silence, step, kinds))

    def _kinds(self, step: Judge) -> Asking[list[Kind]]:
        """The kind of each claim."""
        asked = [
            (around, claimed(claim))
            for around, claim in zip(step.around, step.claims, strict=True)
            if around is not None
        ]
        if not asked:
            return [Kind.CLAIM] * len(step.claims)
        from groundrail.entailment.builtin.kinds import kinds_of  # imports torch

        found = iter((yield from kinds_of(asked, self._source.words.__contains__)))
        return [Kind.CLAIM if around is None else next(found) for around in step.around]

    def _silence(self, step: Judge, kinds: Sequence[Kind]) -> list[Score]:
        """The scores of claims that the source does not say something."""
        claims = _of_kind(step, kinds, Kind.SILENCE)
        return self._readers.read().score_silence(claims) if claims else []

    def _in_order(
        self, kinds: Sequence[Kind], claims: Iterable[Score], silences: Iterable[Score]
    ) -> list[Score | NoClaim]:
        upcoming = {Kind.CLAIM: iter(claims), Kind.SILENCE: iter(silences)}
        return [NoClaim() if kind is Kind.TALK else next(upcoming[kind]) for kind in kinds]

    def _noted(self, claims: Sequence[str], scores: Sequence[Score]) -> list[Score]:
        if len(scores) != len(claims) or not all(
            isinstance(s, Score) and isinstance(s.value, int | float) for s in scores
        ):
            raise ScoringError(f"the scorer gave {scores!r:.100} for {len(claims)} claims; it must give one Score each")
        return with_language_note(scores, claims, self._source) if self._english_only else list(scores)


def _of_kind(step: Judge, kinds: Sequence[Kind], kind: Kind) -> list[str]:
    return [claim for claim, each in zip(step.claims, kinds, strict=True) if each is kind]


def _by_documents(step: Judge, kinds: Sequence[Kind]) -> dict[tuple[int, ...], list[int]]:
    """The places of the claims in the step by the documents that each is scored against, () for all; a step without claims has ()."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, (named, kind) in enumerate(zip(step.named, kinds, strict=True)):
        if kind is Kind.CLAIM:
            groups.setdefault(named, []).append(place)
    return groups or {(): []}


def _sorted(scores: Mapping[int, Score]) -> list[Score]:
    return [scores[place] for place in sorted(scores)]


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
        self._busy = False

    @property
    def stats(self) -> Mapping[str, float]:
        """The session's own counts."""
        return {} if self._session is None else self._session.stats

    async def do(self, step: Asked) -> Any:
        """Do a step; return the outcome. Raises: OverdueError, and the exceptions of the session."""
        match step:
            case Start(timeout):
                self._session = await self._start(timeout)
                self._ahead = self._ahead and self._session.writes_ahead
            case NextPiece(anew, timeout) if self.is_async:
                return await in_time(timeout, self._aread(anew))
            case NextPiece(anew, timeout):
                return await self._within(timeout, self._read, anew)
            case Accept() | Reject():
                await self._within(step.timeout, self._tell, step)
            case CanRetry():
                return self._started.can_retry
            case CutOff():
                return self._started.cut_off
        return None

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

    async def _start(self, timeout: float | None) -> Session:
        if not self.is_async:
            start, given = self._generator.start, (self._prompt, self._documents)
            return await self._within(timeout, start, *given, late=close_late)  # type: ignore[no-any-return]
        with self._calls.current():
            started = self._generator.astart(self._prompt, self._documents)
            return await in_time(timeout, started)  # type: ignore[no-any-return]

    async def _within(self, timeout: float | None, function: Any, *arguments: Any, late: Any = None) -> Any:
        """Call the session, which is busy until the call has ended; a call that was left behind then closes it."""
        call: Any = self._calls.awithin if self.is_async else self._calls.within
        self._busy = True
        try:
            return await value_of(
                call(timeout, self._ending, function, *arguments, late=late or (lambda ended: self.close()))
            )
        except NotCalledError:
            self._busy = False
            raise

    def _ending(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except StopIteration as stopped:  # which no coroutine can raise
            raise RuntimeError(f"{stopped!r} was raised") from stopped
        finally:
            self._busy = False

    def _read(self, anew: bool) -> str | None:
        if anew:
            self._propose()
        if hasattr(self._pieces, "__anext__"):
            raise InputError("this generator is async; use agenerate or astream")
        return next(self._pieces, None)

    async def _aread(self, anew: bool) -> str | None:
        if anew:
            await self._within(None, self._propose)
        if hasattr(self._pieces, "__anext__"):
            piece: str | None = await anext(self._pieces, None)
            return piece
        return await self._within(None, next, self._pieces, None)  # type: ignore[no-any-return]

    def _propose(self) -> None:
        pieces = self._started.propose()
        self._pieces = ReadAhead(pieces, self._calls) if self._ahead and isinstance(pieces, Iterator) else pieces

    def _tell(self, step: Accept | Reject) -> None:
        if isinstance(step, Accept):
            self._started.accept(step.n_chars)
            return
        if isinstance(self._pieces, ReadAhead):
            self._pieces.stop()
        if step.evidence:
            self._started.told(step.evidence)
        self._started.reject(step.n_chars)

    @property
    def _started(self) -> Session:
        if self._session is None:
            raise InputError("the session is not started; do the step Start first")
        return self._session

    @contextlib.contextmanager
    def _logged(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            _log.warning("a generator raised %s on closing", type(error).__name__, exc_info=self._explains)


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
