"""The seam to generators: writers of text that a guard can stop, rewind and start again.

Two protocols. Adapters are beside this module, language models with caches in `groundrail.decoding`;
`groundrail.generation.loop` decides what to reject.
"""

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol, runtime_checkable

from groundrail.runtime.deadlines import calls
from groundrail.types import Document


@runtime_checkable
class Session(Protocol):
    """One answer being written. Subclass it for the defaults.

    The text is what was accepted, then what was proposed and not yet decided on.
    """

    @property
    def can_retry(self) -> bool:
        """Whether it can write on after a rejection now."""
        return True

    @property
    def cut_off(self) -> str:
        """Why the answer ended before its end, if it did, so that half a sentence is not released."""
        return ""

    @property
    def writes_ahead(self) -> bool:
        """Whether it can, and should, write on while what it wrote is being judged.

        Its iterator is then asked for pieces in another thread, by one at a time, and `accept` may be called meanwhile.
        Useless if the text arrives by itself, as from a server. Asked at the start and before every judgement.
        """
        return False

    @property
    def stats(self) -> Mapping[str, float]:
        """Its own counts, for `GuardResult.generation`."""
        return {}

    @abstractmethod
    def propose(self) -> Iterator[str] | AsyncIterator[str]:
        """Write on after the accepted text, in pieces of any size, until the answer ends."""
        ...

    @abstractmethod
    def accept(self, n_chars: int) -> None:
        """The first `n_chars` undecided characters stay; an iterator in use goes on."""
        ...

    def told(self, evidence: str) -> None:
        """The source says `evidence` instead of the text that is rejected next. A session may show it to its model."""
        return

    @abstractmethod
    def reject(self, n_chars: int) -> None:
        """The first `n_chars` undecided characters are refused and everything undecided is forgotten.

        The next `propose` starts after the accepted text and should not write the refused again.
        """
        ...

    def close(self) -> None:
        """End the session: free caches, connections, slots. May be called more than once."""
        return


@runtime_checkable
class Generator(Protocol):
    """Anything that can start an answer. Subclass it: only `start` is required."""

    @abstractmethod
    def start(self, prompt: str, documents: Sequence[Document]) -> Session:
        """Begin an answer to `prompt` from `documents`; nothing needs to be written yet."""
        ...

    async def astart(self, prompt: str, documents: Sequence[Document]) -> Session:
        """`start` without blocking the event loop, by default in a thread."""
        return await calls().awithin(None, self.start, prompt, documents, late=close_late)


@runtime_checkable
class InProcess(Protocol):
    """A generator whose model is in this process. A judge that asks the same model has to wait for it."""

    weights: object
    """The model that writes, to be compared with `JudgeFacts.weights`."""


def close_late(started: "Future[Session]") -> None:
    """Close a session that nobody waits for any more, where one was started."""
    if started.exception() is None:
        started.result().close()
