"""The sources of the last requests as they were read: one that comes again is not read again."""

from collections.abc import Sequence
from itertools import accumulate, takewhile

from groundrail.scoring.read_source import ReadSource
from groundrail.types import Document

MOST = 32
"""Maximum number of sources: each keeps the judge's answers, too."""


class ReadSources:
    """Sources by their documents, the last used first, of at most `characters` together; for the event loop's thread only."""

    def __init__(self, characters: int) -> None:
        self._characters = characters
        self._kept: list[ReadSource] = []

    def of(self, documents: Sequence[Document]) -> ReadSource:
        """The source that was read of equal documents, or else a new one."""
        same = (each for each in self._kept if each.documents == tuple(documents))
        source = next(same, None)
        if source is None:
            source = ReadSource(documents)
        used = [source, *(each for each in self._kept if each is not source)][:MOST]
        sizes = accumulate(sum(len(document.text) for document in each) for each in used)
        fitting = len(list(takewhile(lambda size: size <= self._characters, sizes)))
        self._kept = used[:fitting]
        return source
