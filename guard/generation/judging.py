"""The scorer's side of one answer: its documents read once, its claims scored in time.

What is claimed and what a score leads to is decided by `groundrail.generation.verdicts`.
"""

import threading
from collections.abc import Sequence

from groundrail.generation.steps import Judge
from groundrail.runtime.deadlines import Calls, in_time
from groundrail.scoring.base import Reader, Score, Scorer
from groundrail.scoring.language_note import LanguageNote
from groundrail.text.form import FormCheck
from groundrail.types import Document


class Reading:
    """A scorer and the documents of one answer, read when the first claim asks for it."""

    def __init__(self, scorer: Scorer, documents: Sequence[Document], calls: Calls) -> None:
        self._scorer, self._documents, self._calls = scorer, documents, calls
        self._form = FormCheck(scorer, documents)
        self._language = LanguageNote(scorer, documents)
        self._reader: Reader | None = None
        self._lock = threading.Lock()

    def do(self, step: Judge) -> list[Score]:
        """One score a claim. Raises: OverdueError, and whatever the scorer raises."""
        return self._calls.within(step.timeout, self._score, step)

    async def ado(self, step: Judge) -> list[Score]:
        """`do` without blocking the event loop."""
        with self._calls.current():
            scores: list[Score] = await in_time(step.timeout, self._ascore(step))
        return scores

    def _score(self, step: Judge) -> list[Score]:
        """Exact without a threshold, else good enough to tell which claims reach it."""
        asked, all_of = self._form.sorted(step.claims)
        if not asked:
            return all_of([])
        reader = self._read()
        return all_of(self._language.added(asked, reader.score(asked, step.threshold)))

    async def _ascore(self, step: Judge) -> list[Score]:
        asked, all_of = await self._calls.awithin(None, self._form.sorted, step.claims)
        if not asked:
            return all_of([])
        reader = await self._calls.awithin(None, self._read) if self._reader is None else self._reader
        return all_of(self._language.added(asked, await reader.ascore(asked, step.threshold)))

    def _read(self) -> Reader:
        with self._lock:
            if self._reader is None:
                self._reader = self._scorer.read(self._documents)
            return self._reader
