"""The tree of LangChain runs as a callback handler sees it, and the documents each run can see.

Knows nothing of language models or verdicts.
"""

import threading
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from groundrail.integrations.langchain.retrieved import SourceDocuments, documents_in
from groundrail.text.echoes import Echoes


class RunTree:
    """Runs by id, with what retrievers and tools found below them, documents in their inputs and the echoes of calls.

    A run sees the documents of its nearest ancestor that has any: parallel branches, each with its own
    retriever, do not see each other's, and a retriever that found nothing counts as having looked. Runs whose
    start was not seen have nothing, so that nothing outlives its run.
    """

    def __init__(self, input_keys: tuple[str, ...]) -> None:
        self._input_keys = input_keys
        self._parents: dict[UUID, UUID | None] = {}
        self._sources: dict[UUID, SourceDocuments] = {}
        self._echoes: dict[UUID, Echoes] = {}
        self._lock = threading.Lock()

    def start(self, run: UUID, parent: UUID | None, inputs: Any = None) -> None:
        """A run begins; lists of documents under the input keys of its inputs are its sources."""
        found = [documents_in(inputs.get(key)) for key in self._input_keys] if isinstance(inputs, Mapping) else []
        with self._lock:
            self._parents[run] = parent
            if any(found):
                self._sources.setdefault(run, SourceDocuments()).add(found)

    def end(self, run: UUID) -> None:
        """A run is over; the documents that it found stay with the runs around it."""
        with self._lock:
            self._parents.pop(run, None)
            self._sources.pop(run, None)
            self._echoes.pop(run, None)

    def found(self, run: UUID | None, documents: Any) -> None:
        """Documents turned up in a run: it and every run around it has them."""
        with self._lock:
            for ancestor in self._upwards(run):
                self._sources.setdefault(ancestor, SourceDocuments()).add(documents)

    def echoes(self, run: UUID | None) -> Echoes:
        """The echoes of tool calls around a run: those of the outermost run around it."""
        with self._lock:
            *_, outermost = None, *self._upwards(run)
            return Echoes() if outermost is None else self._echoes.setdefault(outermost, Echoes())

    def visible_from(self, run: UUID | None) -> SourceDocuments:
        """A copy of the sources of the run, or of its nearest ancestor that has sources."""
        with self._lock:
            nearest = next((self._sources[r] for r in self._upwards(run) if r in self._sources), SourceDocuments())
            copied = SourceDocuments(nearest.documents)
            copied.empty = nearest.empty
            return copied

    def __len__(self) -> int:
        return len(self._parents)

    def _upwards(self, run: UUID | None) -> Iterator[UUID]:
        while run in self._parents:
            yield run
            run = self._parents[run]
