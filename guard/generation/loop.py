"""The guard's one loop, free of I/O: sentences in, verdicts, retries and releases out.

`checked_text` and `guarded_generation` are coroutines of steps: they yield a step (read a piece, judge claims, rewind
the session) and are sent its outcome. `groundrail.generation.drivers` does the steps, in plain and in async code.
`Draft` keeps the undecided text, `Tries` the tries at its next sentence; `groundrail.generation.verdicts` turns scores
into verdicts, `groundrail.generation.correcting` exchanges a wrong detail for the source's.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from enum import Enum, auto
from typing import Any, TypeAlias, TypeVar

from groundrail.errors import GenerationError, InputError
from groundrail.generation.correcting import corrected, evidence
from groundrail.generation.steps import Accept, CanRetry, CutOff, NextPiece, Reject, Release, Start, Step, Steps
from groundrail.generation.verdicts import Answer, ReadClaim
from groundrail.policy import Attempts, Policy
from groundrail.runtime.deadlines import OverdueError
from groundrail.text.sentences import Sentence, Stream, is_finished, is_unicode, split
from groundrail.types import Attempt, CheckedSentence, Verdict

T = TypeVar("T")
Asks: TypeAlias = Generator[Step, Any, T]
"""A coroutine of steps that returns a T."""


def checked_text(text: str, read: ReadClaim, has_source: bool, policy: Policy, threshold: float) -> Steps:
    """Check a text that is already written: every claim in one call, no retries.

    A sentence whose claim changes when the sentence before it is kept back is judged again, alone. An answer whose
    question is not shown is an example.
    """
    answer = Answer(read, has_source, policy, threshold)
    sentences, previous = split(text, policy.longest_sentence), ""
    judged = yield from answer.judged(sentences, time.monotonic())
    for sentence, checked in zip(sentences, judged, strict=True):
        if previous != answer.shown and answer.claims_otherwise(sentence, previous):
            (checked,) = yield from answer.judged([sentence], time.monotonic())
        previous = sentence.text
        checked = answer.in_place(sentence, checked)
        checked = yield from corrected(answer, sentence, checked, time.monotonic())
        yield Release(answer.settle(checked, lead=sentence.lead))
        if answer.over:
            break
    return answer.result()


def guarded_generation(read: ReadClaim, has_source: bool, policy: Policy, threshold: float) -> Steps:
    """Check an answer while it is written: a sentence is judged, then released, written again or replaced.

    Raises: InputError for a wrong call; under the fallback "raise" UnsupportedError for a sentence, GenerationError
    where the generator failed; what a fallback or a stop of the policy raises.
    """
    answer = Answer(read, has_source, policy, threshold)
    draft, tries = Draft(policy.longest_sentence, answer.time_left), Tries(policy)
    failure: Exception | None = None
    while not answer.over and failure is None:
        sentence, failure = yield from _attempted(draft.next_sentence(tries.since))
        if sentence is None:
            break
        (checked,) = yield from answer.judged([sentence], tries.since)
        checked = answer.in_place(sentence, checked)
        checked = yield from corrected(answer, sentence, checked, tries.since)
        if tries.allow_another(checked, answer.time_left(tries.since)):
            rewritten, failure = yield from _attempted(draft.rewrite(sentence, evidence(answer, checked)))
            if rewritten:
                tries.refuse(checked, answer.attempt(answer.kept(checked)))
                continue
        if failure is None:
            _, failure = yield from _attempted(draft.keep(sentence))
        yield Release(answer.settle(checked, tries.earlier, lead=sentence.lead))
        tries = Tries(policy)
    if failure is not None and not answer.over and not draft.complete:
        yield Release(_interrupted(answer, draft.rest, failure, tries.earlier))
    elif tries.refused is not None:  # the generator wrote nothing else in its place
        yield Release(answer.settle(tries.refused, tries.earlier[:-1]))
    return answer.result()


def _attempted(asks: Asks[T]) -> Generator[Step, Any, tuple[T | None, Exception | None]]:
    """Have the generator do something: return the outcome, and the failure if it failed.

    The failure is returned, so that an error that is raised later does not hold it as its context. Raises: InputError,
    which says that the call itself was wrong.
    """
    try:
        return (yield from asks), None
    except InputError:
        raise
    except Exception as error:
        return None, error


def _interrupted(answer: Answer, rest: str, error: Exception, earlier: Sequence[Attempt]) -> CheckedSentence:
    """Settle the text that a failed generator left undecided. Raises: GenerationError under the fallback "raise"."""
    sentence = Sentence(rest, answer.length, answer.length + len(rest))
    if isinstance(error, OverdueError):
        checked = answer.unscored(sentence, Verdict.TIMEOUT, "the generator did not write on in time")
    elif isinstance(error, GenerationError):
        checked = answer.unscored(sentence, Verdict.ERROR, str(error))
    else:
        checked = answer.unscored(sentence, Verdict.ERROR, f"the generator failed: {type(error).__name__}: {error}")
    if answer.policy.fallback == "raise":
        before, kept = answer.result(), answer.policy.keep_refused
        told = checked.reason if kept else f"the generator failed ({type(error).__name__})"
        raise GenerationError(f"{told}; released before: {before.text!r}", before) from (error if kept else None)
    return answer.settle(checked, earlier)


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

    def rewrite(self, sentence: Sentence, evidence: str) -> Asks[bool]:
        """Refuse the sentence and have the session write on from before it, if it can; return whether it does."""
        if not (yield CanRetry()):
            return False
        yield Reject(len(sentence.text), self._time_left(time.monotonic()), evidence)
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
        refused = checked.verdict is Verdict.UNSUPPORTED and checked.corrected is None
        return refused and in_time and self._attempts.another()

    def refuse(self, checked: CheckedSentence, attempt: Attempt) -> None:
        """Remember a sentence that is being written again."""
        self.refused = checked
        self.earlier.append(attempt)
