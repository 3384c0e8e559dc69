"""Sessions over models that can only be asked again: served ones, and LangChain's. Adapters ask the model.

Keeps the accepted and the refused text, words the request to go on, and removes a repetition of accepted text.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from groundrail.generators.base import Generator, Session
from groundrail.runtime.both_ways import closing, each, iterate
from groundrail.runtime.deadlines import OverdueError, calls, in_time
from groundrail.types import Document


class Refusal(NamedTuple):
    """A refused sentence, and the source's sentence that contradicts it, "" where the model is not shown one."""

    text: str
    evidence: str = ""


Pieces: TypeAlias = Iterator[str] | AsyncIterator[str]
Write: TypeAlias = Callable[[str, Sequence[Refusal]], Pieces]
"""(accepted text, refused sentences) -> pieces that follow the accepted text."""

CONTINUE = "Go on exactly where your answer stops. Do not repeat anything of it."
AVOID = "The source does not support the following, so write nothing like it: "


def request_to_continue(accepted: str, refused: Sequence[Refusal]) -> str:
    """The request to a chat model once `accepted` is released and `refused` is turned down."""
    avoid = AVOID + " ".join(map(_worded, dict.fromkeys(refused))) if refused else ""
    return " ".join(part for part in (CONTINUE if accepted else "", avoid) if part)


def _worded(refused: Refusal) -> str:
    return f'"{refused.text}"' + (f', for it says: "{refused.evidence}"' if refused.evidence else "")


class AskedSession(Session):
    """A `groundrail.generators.Session` that calls `write` again after every refusal.

    write: given what stands and what was refused, asks the model for the rest.
    continues: whether `write` can go on from accepted text; if not, only an answer's first sentence can
        be written again.
    """

    cut_off: str = ""

    def __init__(self, write: Write, *, continues: bool = True) -> None:
        self._write, self._continues = write, continues
        self._accepted = self._undecided = ""
        self._refused: list[Refusal] = []
        self._evidence = ""
        self._opened: Pieces | None = None
        self.counts: dict[str, float] = {"calls": 0}
        self.cut_off = ""

    @property
    def stats(self) -> Mapping[str, float]:
        """Calls of the model, and what else the adapter counts."""
        return self.counts

    @property
    def can_retry(self) -> bool:
        """Always for a model that can go on from a text, else until something stands."""
        return self._continues or not self._accepted

    def open(self, timeout: float | None = None) -> None:
        """Ask now and wait for the first text, so that a call that fails outright raises here.

        One that takes longer than `timeout` seconds is left behind; the session then proposes a TimeoutError.
        """
        try:
            first, pieces = calls().within(timeout, self._first)
        except OverdueError as late:
            self._opened = _late(late)
        else:
            self._opened = chain([] if first is None else [first], pieces)

    def _first(self) -> tuple[str | None, Iterator[str]]:
        pieces: Any = self._ask()
        return next(pieces, None), pieces

    async def aopen(self, timeout: float | None = None) -> None:
        """`open` for a `write` that is async."""
        pieces: Any = self._ask()
        try:
            self._opened = _led_by(await in_time(timeout, anext(pieces, None)), pieces)
        except OverdueError as late:
            self._opened = _late(late)

    def propose(self) -> Pieces:
        """The opened pieces, or the pieces of a new call, without a repetition of the accepted text. Async where
        `write` is.
        """
        pieces, self._opened = self._opened or self._ask(), None
        return self._follow(pieces) if isinstance(pieces, AsyncIterator) else iterate(self._follow(pieces))

    def accept(self, n_chars: int) -> None:
        """The next call is told that these characters stand."""
        self._accepted += self._undecided[:n_chars]
        self._undecided = self._undecided[n_chars:]
        self._refused.clear()

    def show(self, evidence: str) -> None:
        """The next call is shown this beside the refused text."""
        self._evidence = evidence

    def reject(self, n_chars: int) -> None:
        """The next call is told not to write this again; what came after it is forgotten."""
        self._refused.append(Refusal(self._undecided[:n_chars].strip(), self._evidence))
        self._undecided = self._evidence = ""

    def _ask(self) -> Pieces:
        self.counts["calls"] += 1
        self.cut_off = ""
        return self._write(self._accepted, tuple(self._refused))

    async def _follow(self, pieces: Pieces) -> AsyncGenerator[str]:
        fresh = Fresh(self._accepted)
        async with closing(each(pieces)) as written:
            async for piece in written:
                if new := fresh.feed(piece):
                    yield self._noted(new)
        if held := fresh.flush():
            yield self._noted(held)

    def _noted(self, piece: str) -> str:
        self._undecided += piece
        return piece


class AskedGenerator(Generator):
    """A generator of `AskedSession`s around one `write`, for a model whose prompt `write` holds already.

    Example: `guard.with_generator(AskedGenerator(write)).stream(question, source)`.
    """

    def __init__(self, write: Write) -> None:
        self._write = write

    def start(self, prompt: str, documents: Sequence[Document]) -> AskedSession:
        """A session that asks when text is wanted."""
        return AskedSession(self._write)

    async def astart(self, prompt: str, documents: Sequence[Document]) -> AskedSession:
        """`start`, which waits for nothing."""
        return AskedSession(self._write)


class Fresh:
    """Passes on the text that a model adds to `written`, even if the model repeats all of `written` first.

    Text is held only while it could still be that repetition. White space is not doubled where the two meet.
    """

    def __init__(self, written: str) -> None:
        self._written, self._held = written.strip(), ""
        self._at_seam = bool(written) and written[-1].isspace()

    def feed(self, piece: str) -> str:
        """The part of the text so far that is certainly new; empty while it may still be a repetition."""
        if not self._written:
            return self._past_seam(piece)
        self._held += piece
        held = self._held.lstrip()
        if self._written.startswith(held) and len(held) < len(self._written):
            return ""
        if held.startswith(self._written):
            self._held = held[len(self._written) :]
        self._written = ""
        return self.flush()

    def flush(self) -> str:
        """The text that is still held, once nothing more comes."""
        held, self._held = self._held, ""
        return self._past_seam(held)

    def _past_seam(self, text: str) -> str:
        if self._at_seam:
            text = text.lstrip()
            self._at_seam = not text
        return text


def _late(error: TimeoutError) -> Iterator[str]:
    yield from ()
    raise error


async def _led_by(first: str | None, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    async with closing(rest):
        if first is not None:
            yield first
        async for piece in rest:
            yield piece
