"""The guard's one loop, free of I/O: sentences in, verdicts, retries and releases out.

`checked_text` and `guarded_generation` are coroutines of `groundrail.generation.steps`. `Draft` keeps the undecided
text, `Tries` the tries at its next sentence; `groundrail.generation.judging` gives the verdicts, and
`groundrail.generation.answer` releases.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from groundrail.errors import GenerationError, InputError
from groundrail.generation import correcting
from groundrail.generation.answer import Answer
from groundrail.generation.judging import decided, judged
from groundrail.generation.steps import Asks, Piece, Read, Release, Settle, Steps
from groundrail.policy import Attempts, Policy
from groundrail.runtime.deadlines import OverdueError
from groundrail.text.sentences import Sentence, Stream, is_finished, is_unicode, split
from groundrail.types import CheckedSentence, Verdict

T = TypeVar("T")

_log = logging.getLogger(__name__)


def checked_text(text: str, answer: Answer) -> Steps:
    """Check a text that is already written: every claim in one call, no retries.

    A sentence whose claim changes when the sentence before it is kept back is judged again, alone. An answer whose
    question is not shown is an example.
    """
    answer.begin()
    sentences, previous = split(text, answer.policy.longest_sentence), ""
    found = yield from judged(answer, sentences, time.monotonic())
    for sentence, checked in zip(sentences, found, strict=True):
        if previous != answer.shown and answer.claims_otherwise(sentence, previous):
            (checked,) = yield from judged(answer, [sentence], time.monotonic())
        previous = sentence.text
        checked = yield from decided(answer, sentence, checked, time.monotonic())
        yield Release(answer.settle(checked, lead=sentence.lead))
        if answer.over:
            break
    return answer.result()


def guarded_generation(answer: Answer) -> Steps:
    """Check an answer while it is written: a sentence is judged, then released, written again or replaced.

    Raises: InputError for a wrong call; GenerationError where the generator failed before it wrote any text, unless the
    fallback has a text for it; under the fallback "raise" UnsupportedError for a sentence, GenerationError wherever the
    generator failed; what a fallback or a stop of the policy raises.
    """
    answer.begin()
    draft, tries = Draft(answer.policy.longest_sentence, answer.time_left), Tries(answer.policy)
    failure: Exception | None = None
    while not answer.over and failure is None:
        sentence, failure = yield from _attempted(draft.next_sentence(tries.since))
        if sentence is None:
            break
        (checked,) = yield from judged(answer, [sentence], tries.since)
        checked = yield from decided(answer, sentence, checked, tries.since)
        if tries.allow_another(checked, answer.time_left(tries.since)):
            evidence = correcting.evidence(checked) if answer.policy.fallback == "correct" else ""
            rewritten, failure = yield from _attempted(draft.rewrite(sentence, evidence))
            if rewritten:
                tries.refused.append(checked)
                continue
        if failure is None:
            _, failure = yield from _attempted(draft.keep(sentence))
        yield Release(answer.settle(checked, tries.refused, lead=sentence.lead))
        tries = Tries(answer.policy)
    if failure is not None and not answer.over and not draft.complete:
        sentence = Sentence(draft.rest, answer.length, answer.length + len(draft.rest))
        interrupted = answer.interrupted(sentence, failure)
        if not draft.begun:
            _raise_unless_replaced(failure, interrupted, answer)
        _log.error("the answer is incomplete: %s", _worded(failure, interrupted, answer.policy))
        yield Release(answer.settle(interrupted, tries.refused))
    elif tries.refused:  # the generator wrote nothing else in its place
        *earlier, last = tries.refused
        yield Release(answer.settle(last, earlier))
    return answer.result()


def _raise_unless_replaced(failure: Exception, interrupted: CheckedSentence, answer: Answer) -> None:
    """Raise the failure of a generator that wrote nothing: a reader would take it for an answer without words.

    A missed deadline and a fallback with a text of its own stand in the result.
    """
    policy = answer.policy
    if isinstance(failure, OverdueError) or policy.fallback == "abstain" or callable(policy.fallback):
        return
    reason = _worded(failure, interrupted, policy)
    raise GenerationError(reason, answer.result()) from (failure if policy.keep_refused else None)


def _worded(failure: Exception, interrupted: CheckedSentence, policy: Policy) -> str:
    """The reason that the answer was interrupted, without the words of an error that may quote the answer."""
    return str(interrupted.reason) if policy.keep_refused else f"the generator failed ({type(failure).__name__})"


def _attempted(asks: Asks[T]) -> Asks[tuple[T | None, Exception | None]]:
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


class Draft:
    """The undecided text of one answer.

    time_left: (start of the sentence's deadline) -> seconds that a call to the generator may take, None without limit.
    begun: whether the session wrote any text, refused or not.
    """

    def __init__(self, longest_sentence: int, time_left: Callable[[float], float | None]) -> None:
        self._stream, self._time_left = Stream(longest_sentence), time_left
        self._ready: deque[Sentence] = deque()
        self._cut_off = ""
        self._ended = self.begun = False

    @property
    def rest(self) -> str:
        """The text behind the last sentence that was taken."""
        return "".join(sentence.text for sentence in self._ready) + self._stream.pending

    @property
    def complete(self) -> bool:
        """Whether the answer has ended and every sentence of it was taken."""
        return self._ended and not self.rest

    def next_sentence(self, since: float) -> Asks[Sentence | None]:
        """Take the next sentence, None at the end. Raises: GenerationError for a sentence that was cut off."""
        while not self._ready and not self._ended:
            piece: Piece = yield Read(self._time_left(since))
            self._take(piece)
        if self._cut_off and len(self._ready) == 1:  # the sentences before the half one are whole
            raise GenerationError(self._cut_off)
        return self._ready.popleft() if self._ready else None

    def _take(self, piece: Piece) -> None:
        if piece.text is None:
            self._ended = True
            self._cut_off = "" if is_finished(self._stream.pending) else piece.cut_off
            self._ready.extend(self._stream.flush())
            return
        if not is_unicode(piece.text):
            raise GenerationError("the generator wrote half a surrogate pair, which is no text")
        self.begun = self.begun or bool(piece.text)
        self._ready.extend(self._stream.feed(piece.text))

    def rewrite(self, sentence: Sentence, evidence: str) -> Asks[bool]:
        """Refuse the sentence and have the session write on from before it, if it can; return whether it does."""
        left = self._time_left(time.monotonic())
        if not (yield Settle(len(sentence.text), False, left, evidence)):
            return False
        self._stream.truncate(sentence.start)
        self._ready.clear()
        self._ended, self._cut_off = False, ""
        return True

    def keep(self, sentence: Sentence) -> Asks[None]:
        """Tell the session that the sentence stays, or that another text stands in its place."""
        yield Settle(len(sentence.text), True, self._time_left(time.monotonic()))


class Tries:
    """The tries at one sentence: the refused ones so far, and whether the policy allows another."""

    def __init__(self, policy: Policy) -> None:
        self._attempts = Attempts(policy)
        self.since = time.monotonic()
        self.refused: list[CheckedSentence] = []

    def allow_another(self, checked: CheckedSentence, time_left: float | None) -> bool:
        """Whether to ask for another sentence in place of this one. Raises: what a stop of the policy raises."""
        in_time = time_left is None or time_left > 0
        refused = checked.verdict is Verdict.UNSUPPORTED and checked.corrected is None
        return refused and in_time and self._attempts.another()
