"""A source that is read once, however many answers are checked against it, in any number of threads."""

import threading
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import overload

from groundrail.errors import GroundrailWarning
from groundrail.runtime.memory import bytes_of
from groundrail.scoring.base import Reader, Scorer
from groundrail.text.form import SourceText
from groundrail.text.kinds import words_of
from groundrail.types import Document, Source, as_documents

MOST_READERS = 32
"""Sets of documents that are held ready, as marks name them."""

MOST_SCORERS = 4
"""Scorers whose readers are held ready."""


class Readers:
    """Documents as one scorer reads them, all together or some of them: each set once, when a claim first needs it."""

    def __init__(self, scorer: Scorer, documents: Sequence[Document]) -> None:
        self.scorer, self._documents = scorer, documents
        self._readers: dict[tuple[int, ...], Reader] = {}
        self._lock = threading.Lock()

    def known(self, named: tuple[int, ...] = ()) -> Reader | None:
        """The reader that `read` returns, if these documents are read already."""
        return self._readers.get(named)

    def read(self, named: tuple[int, ...] = ()) -> Reader:
        """The reader of the documents in these places, () for all; other threads wait while it is made."""
        with self._lock:
            if named not in self._readers:
                if len(self._readers) >= MOST_READERS:
                    del self._readers[next(filter(None, self._readers))]  # the oldest set but all
                documents = [self._documents[place] for place in named] or self._documents
                self._readers[named] = (self.scorer.of_source if named else self.scorer).read(documents)
            return self._readers[named]


class ReadSource(Sequence[Document]):
    """The documents of a source, with all that scorers have read of them. `Guard.read` makes one.

    It is taken wherever a source is, and gives the same results. Another guard's scorer reads the documents for itself,
    once; a warning says so. Threads may share it, so several may ask a reader at a time.

    >>> lease = ReadSource("The rent is 1,450 euros.")
    >>> lease[0].id
    'source'
    """

    def __init__(self, source: Source) -> None:
        self.documents = as_documents(source)
        self.text = SourceText(self.documents)
        self._readers: tuple[Readers, ...] = ()
        self._lock = threading.Lock()

    @staticmethod
    def of(source: Source) -> "ReadSource":
        """The source itself if it is one that is read once, else one of its documents. Raises: InputError."""
        return source if isinstance(source, ReadSource) else ReadSource(source)

    def by(self, scorer: Scorer) -> Readers:
        """The documents as this scorer reads them."""
        with self._lock:
            for readers in self._readers:
                if readers.scorer == scorer:
                    return readers
            if self._readers:
                read, new = self._readers[-1].scorer.metadata.identity, scorer.metadata.identity
                warnings.warn(
                    f"this source was read for another guard's scorer ({read}), so it is read again for {new}; make one "
                    "for each guard with its own read(source)",
                    GroundrailWarning,
                    stacklevel=2,
                )
            self._readers = (*self._readers, Readers(scorer, self.documents))[-MOST_SCORERS:]
            return self._readers[-1]

    @cached_property
    def words(self) -> set[str]:
        """The words of the documents, in small letters."""
        return words_of("\n".join(document.text for document in self.documents))

    @property
    def n_bytes(self) -> int:
        """Bytes of memory that the documents and their readers take now, without the scorers' models; about a second for
        20 MB of text. Judging adds the answers that the judge gave, 20 MB at most for each set of documents."""
        return bytes_of(self, [readers.scorer for readers in self._readers])

    @overload
    def __getitem__(self, place: int) -> Document: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Document, ...]: ...

    def __getitem__(self, place: int | slice) -> Document | tuple[Document, ...]:
        return self.documents[place]

    def __len__(self) -> int:
        return len(self.documents)

    def __repr__(self) -> str:
        return f"<ReadSource of {len(self)} documents, {sum(len(each.text) for each in self):,} characters>"
