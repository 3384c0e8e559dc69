"""The scorer's side of one answer: its documents read once, its claims scored in time.

Which claims are scored and which verdict a score leads to is decided by `groundrail.generation.verdicts`.
"""

import threading
from collections.abc import Sequence

from groundrail.generation.steps import Judge
from groundrail.runtime.deadlines import Calls, in_time
from groundrail.scoring.base import Reader, Score, Scorer
from groundrail.scoring.language_note import with_language_note
from groundrail.types import Document


class Reading:
    """A scorer and the documents of one answer, read when the first claim needs them."""

    def __init__(self, scorer: Scorer, documents: Sequence[Document], calls: Calls) -> None:
        self._scorer, self._documents, self._calls = scorer, documents, calls
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
        """Exact scores without a threshold, else scores that tell which claims reach it."""
        reader, claims = self._read(), step.claims
        return self._noted(claims, reader.score(claims, step.threshold))

    async def _ascore(self, step: Judge) -> list[Score]:
        reader = await self._calls.awithin(None, self._read) if self._reader is None else self._reader
        return self._noted(step.claims, await reader.ascore(step.claims, step.threshold))

    def _read(self) -> Reader:
        with self._lock:
            if self._reader is None:
                self._reader = self._scorer.read(self._documents)
            return self._reader

    def _noted(self, claims: Sequence[str], scores: Sequence[Score]) -> list[Score]:
        return with_language_note(scores, claims, self._documents) if self._scorer.facts.english_only else list(scores)
