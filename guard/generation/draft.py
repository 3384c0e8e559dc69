"""Text that the generator has written and the guard has not decided on yet, and the tries at its next sentence.

Coroutines of steps, as in `groundrail.generation.loop`, which decides what becomes of a sentence.
"""

import time
from collections import deque
from collections.abc import Callable, Generator
from enum import Enum, auto
from typing import Any, TypeAlias, TypeVar

from groundrail.errors import GenerationError
from groundrail.generation.steps import Accept, CanRetry, CutOff, NextPiece, Reject, Start, Step
from groundrail.policy import Attempts, Policy
from groundrail.text.sentences import Sentence, Stream, is_finished, is_unicode
from groundrail.types import Attempt, CheckedSentence, Verdict

T = TypeVar("T")
Asks: TypeAlias = Generator[Step, Any, T]
"""A coroutine of steps that returns a T."""


class _Phase(Enum):
    NEW = auto()
    """The session is not started."""
    PROPOSING = auto()
    """The session is to be asked for a new proposal."""
    WRITING = auto()
    """The session is writing."""
    ENDED = auto()
    """The answer has ended."""


class Draft:
    """The undecided text of one answer.

    time_left: (start of the sentence's deadline) -> seconds that a call to the generator may take, None without limit.
    """

    def __init__(self, longest_sentence: int, time_left: Callable[[float], float | None]) -> None:
        self._stream, self._time_left = Stream(longest_sentence), time_left
        self._ready: deque[Sentence] = deque()
        self._phase, self._cut_off = _Phase.NEW, ""

    @property
    def rest(self) -> str:
        """The text behind the last sentence that was taken."""
        return "".join(sentence.text for sentence in self._ready) + self._stream.pending

    @property
    def complete(self) -> bool:
        """Whether the answer has ended and every sentence of it was taken."""
        return self._phase is _Phase.ENDED and not self.rest

    def next_sentence(self, since: float) -> Asks[Sentence | None]:
        """Take the next sentence, None at the end. Raises: GenerationError for a sentence that was cut off."""
        if self._phase is _Phase.NEW:
            yield Start(self._time_left(since))
            self._phase = _Phase.PROPOSING
        while not self._ready and self._phase is not _Phase.ENDED:
            yield from self._read(since)
        if self._cut_off and len(self._ready) == 1:  # the sentences before the half one are whole
            raise GenerationError(self._cut_off)
        return self._ready.popleft() if self._ready else None

    def _read(self, since: float) -> Asks[None]:
        piece = yield NextPiece(self._phase is _Phase.PROPOSING, self._time_left(since))
        if piece is not None and not is_unicode(piece):
            raise GenerationError("the generator wrote half a surrogate pair, which is no text")
        if piece is None and not is_finished(self._stream.pending):
            self._cut_off = yield CutOff()
        self._phase = _Phase.ENDED if piece is None else _Phase.WRITING
        self._ready.extend(self._stream.flush() if piece is None else self._stream.feed(piece))

    def rewrite(self, sentence: Sentence) -> Asks[bool]:
        """Refuse the sentence and have the session write on from before it, if it can; return whether it does."""
        if not (yield CanRetry()):
            return False
        yield Reject(len(sentence.text), self._time_left(time.monotonic()))
        self._stream.truncate(sentence.start)
        self._ready.clear()
        self._phase, self._cut_off = _Phase.PROPOSING, ""
        return True

    def keep(self, sentence: Sentence) -> Asks[None]:
        """Tell the session that the sentence stays, or that another text stands in its place."""
        yield Accept(len(sentence.text), self._time_left(time.monotonic()))


class Tries:
    """The tries at one sentence: the refused ones so far, and whether the policy allows another."""

    def __init__(self, policy: Policy) -> None:
        self._attempts = Attempts(policy)
        self.since = time.monotonic()
        self.earlier: list[Attempt] = []
        self.refused: CheckedSentence | None = None

    def allow_another(self, checked: CheckedSentence, time_left: float | None) -> bool:
        """Whether to ask for another sentence in place of this one. Raises: what a stop of the policy raises."""
        in_time = time_left is None or time_left > 0
        return checked.verdict is Verdict.UNSUPPORTED and in_time and self._attempts.another()

    def refuse(self, checked: CheckedSentence, attempt: Attempt) -> None:
        """Remember a sentence that is being written again."""
        self.refused = checked
        self.earlier.append(attempt)
