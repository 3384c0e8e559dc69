"""The guard's one loop, free of I/O: sentences in, verdicts, retries and releases out.

`checked_text` and `guarded_generation` are coroutines of steps: they yield a step (read a piece, judge claims, rewind
the session) and are sent its outcome. `groundrail.generation.streams` does the steps, in plain and in async code.
`Answer` turns scores into verdicts and applies the policy, `Draft` keeps the undecided text, `Tries` the tries at its
next sentence.
"""

import contextlib
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Sequence
from enum import Enum
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar

from groundrail.errors import GenerationError, InputError
from groundrail.generation import correcting, marking
from groundrail.generation.verdicts import Answer
from groundrail.policy import Attempts, Policy
from groundrail.runtime.deadlines import OverdueError
from groundrail.scoring.base import Score
from groundrail.text.claims import Claim, NoClaim
from groundrail.text.sentences import Sentence, Stream, is_finished, is_unicode, split
from groundrail.types import CheckedSentence, GuardResult, Verdict

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Start(NamedTuple):
    """Have the generator start its session. Send nothing back."""

    timeout: float | None


class NextPiece(NamedTuple):
    """Send the next piece of text, or None at the end of the answer. `anew`: call `propose` first."""

    anew: bool
    timeout: float | None


class Judge(NamedTuple):
    """Send one `Score` for each claim: exact, or good enough to tell which claims reach `threshold`; `NoClaim` for talk.

    around: `Claim.around` of each claim.
    named: for each claim the places of the documents that alone have to support it, () for all documents.
    """

    claims: Sequence[str]
    around: Sequence[str | None]
    named: Sequence[tuple[int, ...]]
    timeout: float | None
    threshold: float | None


class Accept(NamedTuple):
    """Tell the session that its next `n_chars` characters stay. Send nothing back."""

    n_chars: int
    timeout: float | None


class Reject(NamedTuple):
    """Tell the session that its next `n_chars` characters are refused. Send nothing back.

    evidence: the source's sentence to show to the writer, or "".
    """

    n_chars: int
    timeout: float | None
    evidence: str


class CanRetry(NamedTuple):
    """Send whether the session can write on after a rejection."""


class CutOff(NamedTuple):
    """Send why the answer stopped before its end, "" for a complete answer."""


class Release(NamedTuple):
    """Show a sentence that is decided on to the caller."""

    sentence: CheckedSentence


Step: TypeAlias = Start | NextPiece | Judge | Accept | Reject | CanRetry | CutOff | Release
Asks: TypeAlias = Generator[Step, Any, T]
"""A coroutine of steps that returns a T."""
Steps: TypeAlias = Asks[GuardResult]


def advance(steps: Steps, outcome: Any = None) -> Step | GuardResult:
    """The loop's next step after the outcome of its last one, or the result that it ends with.

    outcome: what the step asks for, or the exception that it raised, which the loop turns into a verdict or raises.
    """
    if isinstance(outcome, StopIteration):  # thrown into a coroutine of steps it would end that
        outcome = RuntimeError(f"{outcome!r} was raised")
    try:
        return steps.throw(outcome) if isinstance(outcome, Exception) else steps.send(outcome)
    except StopIteration as stop:
        result: GuardResult = stop.value
        return result


def checked_text(text: str, answer: Answer) -> Steps:
    """Check a text that is already written: every claim in one call, no retries.

    A sentence whose claim changes when the sentence before it is kept back is judged again, alone. An answer whose
    question is not shown is an example.
    """
    answer.begin()
    sentences, previous = split(text, answer.policy.longest_sentence), ""
    judged = yield from _judged(answer, sentences, time.monotonic())
    for sentence, checked in zip(sentences, judged, strict=True):
        if previous != answer.shown and answer.claims_otherwise(sentence, previous):
            (checked,) = yield from _judged(answer, [sentence], time.monotonic())
        previous = sentence.text
        checked = yield from _decided(answer, sentence, checked, time.monotonic())
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
        (checked,) = yield from _judged(answer, [sentence], tries.since)
        checked = yield from _decided(answer, sentence, checked, tries.since)
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
        _log.error("the answer is incomplete: %s", _told(failure, interrupted, answer.policy))
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
    told = _told(failure, interrupted, policy)
    raise GenerationError(told, answer.result()) from (failure if policy.keep_refused else None)


def _told(failure: Exception, interrupted: CheckedSentence, policy: Policy) -> str:
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


def _judged(
    answer: Answer, sentences: Sequence[Sentence], since: float, previous: str | None = None
) -> Asks[list[CheckedSentence]]:
    """Verdicts for sentences, their claims scored in one call.

    If the call fails and there are several sentences, each is judged alone: a bad claim costs only itself.

    Args:
        since: when the deadlines of the sentences began to run, by `time.monotonic`.
        previous: the text before the first sentence; None for the text that was released last.
    """
    before = [answer.shown if previous is None else previous, *(s.text for s in sentences[:-1])]
    claims = [answer.claim(sentence, text) for sentence, text in zip(sentences, before, strict=False)]
    by_marks = answer.policy.checks_marks
    texts = [
        claim.asked(by_marks=by_marks) if isinstance(claim, Claim) and answer.has_source else () for claim in claims
    ]
    asked, named = [text for some in texts for text, _ in some], [places for some in texts for _, places in some]
    around = [claim.around for claim, some in zip(claims, texts, strict=True) if isinstance(claim, Claim) for _ in some]
    scores: Sequence[Score | NoClaim | Exception] = ()
    started = time.monotonic()
    if asked:
        try:
            threshold = None if answer.policy.calibration else answer.threshold  # a calibration needs exact values
            scores = yield Judge(asked, around, named, answer.time_left(since, sum(map(bool, texts))), threshold)
        except Exception as error:  # whatever a scorer throws, its claims were not checked
            scores = [error] * len(asked)
    if len(sentences) > 1 and scores and isinstance(scores[0], Exception) and not isinstance(scores[0], OverdueError):
        alone = []
        for sentence, text in zip(sentences, before, strict=True):
            alone += yield from _judged(answer, [sentence], time.monotonic(), text)
        return alone
    seconds = (time.monotonic() - started) / max(1, len(asked))
    upcoming = iter(scores)
    parts = [
        [answer.verdict(sentence, each, seconds, claim) for each in tuple(islice(upcoming, len(some))) or (claim,)]
        for sentence, claim, some in zip(sentences, claims, texts, strict=True)
    ]
    if any(named):
        return (yield from _told_of_marks(answer, sentences, claims, parts, since))
    return list(map(_gravest, parts))


def _told_of_marks(
    answer: Answer,
    sentences: Sequence[Sentence],
    claims: Sequence[object],
    parts: Sequence[Sequence[CheckedSentence]],
    since: float,
) -> Asks[list[CheckedSentence]]:
    """The sentences with verdicts on their marks; other documents are asked about the parts that the named ones refuse."""
    wanting = marking.wanting(claims, parts, len(answer.source.documents))
    scores: Sequence[Score | NoClaim | Exception] = ()
    if wanting:
        texts, others = [each.text for each in wanting], [each.others for each in wanting]
        with contextlib.suppress(Exception):  # the named documents do not support them in any case
            threshold = None if answer.policy.calibration else answer.threshold
            scores = yield Judge(texts, [None] * len(texts), others, answer.time_left(since, len(texts)), threshold)
    elsewhere: dict[int, dict[int, CheckedSentence]] = defaultdict(dict)
    for each, score in zip(wanting, scores, strict=False):
        number, part = each.place
        if (found := answer.verdict(sentences[number], score, 0.0)).verdict is Verdict.SUPPORTED:
            elsewhere[number][part] = found
    return [
        _gravest(marking.told(claim, some, elsewhere[number], answer.source))
        for number, (claim, some) in enumerate(zip(claims, parts, strict=True))
    ]


def _gravest(checked: Sequence[CheckedSentence]) -> CheckedSentence:
    """A sentence with the gravest of the verdicts on its claim's texts, and the citations and marks of all."""
    if len(checked) == 1:
        return checked[0]
    order = (Verdict.UNSUPPORTED, Verdict.ERROR, Verdict.TIMEOUT, Verdict.SUPPORTED)
    gravest = min(checked, key=lambda each: (order.index(each.verdict), each.score or 0.0))
    others = (citation for each in checked if each is not gravest for citation in each.citations)
    exact = all(each.exact for each in checked)
    marks = tuple(mark for each in checked for mark in each.marks)
    return gravest.model_copy(update={"citations": (*gravest.citations, *others), "exact": exact, "marks": marks})


def _decided(answer: Answer, sentence: Sentence, checked: CheckedSentence, since: float) -> Asks[CheckedSentence]:
    """The sentence as it is read after the released text, with a correction if the policy asks for one and one stands.

    since: when the deadline of the sentence began to run, by `time.monotonic`.
    """
    checked = answer.in_place(sentence, checked)
    exchange = marking.exchange(sentence, checked, answer.source) if answer.policy.corrects_marks else None
    if answer.policy.fallback == "correct" and checked.score is None and checked.verdict is Verdict.UNSUPPORTED:
        exchange = correcting.quoted_rightly(sentence, answer.claim(sentence, answer.shown))
    if exchange is not None:
        (judged,) = yield from _judged(answer, [exchange.sentence], since)
        checked = exchange.made(checked, answer.in_place(exchange.sentence, judged))
    if answer.policy.fallback != "correct" or checked.corrected is not None:
        return checked
    tried = []
    claim = answer.claim(sentence, answer.shown)
    for correction, other in correcting.offered(sentence, checked, claim, answer.source.documents):
        (judged,) = yield from _judged(answer, [other], since)
        tried.append((correction, answer.in_place(other, judged)))
    return correcting.corrected(checked, tried)


_Phase = Enum("_Phase", "NEW PROPOSING WRITING ENDED")
"""A session that is not started, is to be asked for a new proposal, is writing, or has ended."""


class Draft:
    """The undecided text of one answer.

    time_left: (start of the sentence's deadline) -> seconds that a call to the generator may take, None without limit.
    begun: whether the session wrote any text, refused or not.
    """

    def __init__(self, longest_sentence: int, time_left: Callable[[float], float | None]) -> None:
        self._stream, self._time_left = Stream(longest_sentence), time_left
        self._ready: deque[Sentence] = deque()
        self._phase, self._cut_off, self.begun = _Phase.NEW, "", False

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
            piece = yield NextPiece(self._phase is _Phase.PROPOSING, self._time_left(since))
            if piece is not None and not is_unicode(piece):
                raise GenerationError("the generator wrote half a surrogate pair, which is no text")
            if piece is None and not is_finished(self._stream.pending):
                self._cut_off = yield CutOff()
            self._phase, self.begun = _Phase.ENDED if piece is None else _Phase.WRITING, self.begun or bool(piece)
            self._ready.extend(self._stream.flush() if piece is None else self._stream.feed(piece))
        if self._cut_off and len(self._ready) == 1:  # the sentences before the half one are whole
            raise GenerationError(self._cut_off)
        return self._ready.popleft() if self._ready else None

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
        self.refused: list[CheckedSentence] = []

    def allow_another(self, checked: CheckedSentence, time_left: float | None) -> bool:
        """Whether to ask for another sentence in place of this one. Raises: what a stop of the policy raises."""
        in_time = time_left is None or time_left > 0
        refused = checked.verdict is Verdict.UNSUPPORTED and checked.corrected is None
        return refused and in_time and self._attempts.another()
