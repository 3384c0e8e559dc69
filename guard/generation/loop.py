"""The guard's one loop, free of I/O: sentences in, verdicts, retries and releases out.

`checked_text` and `guarded_generation` are coroutines of steps: they yield a step (read a piece, judge claims, rewind
the session) and are sent its outcome. `groundrail.generation.drivers` does the steps, in plain and in async code.
`groundrail.generation.draft` keeps the undecided text, `groundrail.generation.verdicts` turns scores into verdicts.
"""

import time
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from groundrail.errors import GenerationError, InputError
from groundrail.generation.draft import Asks, Draft, Tries
from groundrail.generation.steps import Release, Step, Steps
from groundrail.generation.verdicts import Answer, ReadClaim
from groundrail.policy import Policy
from groundrail.runtime.deadlines import OverdueError
from groundrail.text.sentences import Sentence, split
from groundrail.types import Attempt, CheckedSentence, Verdict

T = TypeVar("T")


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
        yield Release(answer.settle(answer.in_place(sentence, checked), lead=sentence.lead))
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
        if tries.allow_another(checked, answer.time_left(tries.since)):
            rewritten, failure = yield from _attempted(draft.rewrite(sentence))
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
