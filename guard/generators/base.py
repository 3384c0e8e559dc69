"""The seam to generators: whatever writes text a guard can stop, rewind and start again.

Two protocols. Adapters are beside this module, language models with caches in `groundrail.decoding`; deciding
what to reject is up to `groundrail.loop`.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Protocol, runtime_checkable

from groundrail.types import Document


@runtime_checkable
class Session(Protocol):
    """One answer being written.

    The text is what was accepted, then what was proposed and not yet decided on. A session may carry
    `can_retry: bool` (True where it does not): whether it can write on after a rejection now;
    `cut_off: str`: why the answer ended before its end, if it did, so that half a sentence is not released;
    and `stats: dict[str, float]`, its own counts.
    """

    def propose(self) -> Iterator[str] | AsyncIterator[str]:
        """Write on after the accepted text, in pieces of any size, until the answer ends."""
        ...

    def accept(self, n_chars: int) -> None:
        """The first `n_chars` undecided characters stay; an iterator in use goes on."""
        ...

    def reject(self, n_chars: int) -> None:
        """The first `n_chars` undecided characters are refused and everything undecided is forgotten.

        The next `propose` starts after the accepted text and should not write the refused again.
        """
        ...


@runtime_checkable
class Generator(Protocol):
    """Anything that can start an answer. May carry an async twin `astart`."""

    def start(self, prompt: str, documents: Sequence[Document]) -> Session: ...
