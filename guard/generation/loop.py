"""The guard's one loop, free of I/O: sentences in, verdicts, retries and releases out.

`checked_text` and `guarded_generation` are coroutines of steps: they yield what they need done (read a
piece, judge claims, rewind the session) and are sent the outcome. `groundrail.generation.drivers` drives them, in
plain and in async code, so that both run the same logic. What a score leads to is `groundrail.generation.verdicts`.
"""

import time
from collections import deque
from collections.abc import Sequence

from groundrail.errors import GenerationError, InputError
from groundrail.generation.steps import Accept, CanRetry, CutOff, Read, Reject, Release, Start, Steps
from groundrail.generation.verdicts import Answer, ReadClaim
from groundrail.policy import Attempts, Policy
from groundrail.runtime.deadlines import OverdueError
from groundrail.text.sentences import Sentence, Stream, is_finished, is_unicode, split
from groundrail.types import Attempt, CheckedSentence, Verdict


def checked_text(text: str, read: ReadClaim, has_source: bool, policy: Policy, threshold: float) -> Steps:
    """Check a text that is already written: every claim in one call, no retries.

    What claims something else once the sentence before it is kept back, as an answer does whose question is not
    shown, is judged anew.
    """
    answer = Answer(read, has_source, policy, threshold)
    sentences, previous = split(text, policy.longest_sentence), ""
    judged = yield from answer.judged(sentences, time.monotonic())
    for sentence, checked in zip(sentences, judged, strict=True):
        if previous != answer.shown and answer.claims_otherwise(sentence, previous):
            (checked,) = yield from answer.judged([sentence], time.monotonic())
        previous = sentence.text
        yield Release(answer.settle(checked))
        if answer.over:
            break
    return answer.result()


def guarded_generation(read: ReadClaim, has_source: bool, policy: Policy, threshold: float) -> Steps:
    """Check an answer while it is written: a sentence is judged, then released, retried or replaced.

    Raises: InputError for a wrong call; under the fallback "raise" UnsupportedError for a sentence, GenerationError
    where the generator failed; what a fallback or a stop of the policy raises.
    """
    answer = Answer(read, has_source, policy, threshold)
    stream = Stream(policy.longest_sentence)
    ready: deque[Sentence] = deque()
    started, anew, ended, cut_off = False, True, False, ""
    attempts, earlier, since = Attempts(policy), list[Attempt](), time.monotonic()
    refused: CheckedSentence | None = None
    while not answer.over:
        if not ready and ended:
            break
        failure: Exception | None = None  # handled outside of `except`, so that what is raised then does not hold it
        try:
            if not started:
                yield Start(answer.time_left(since))
                started = True
            if not ready:
                piece = yield Read(anew, answer.time_left(since))
                if piece is not None and not is_unicode(piece):
                    raise GenerationError("the generator wrote half a surrogate pair, which is no text")
                if piece is None and not is_finished(stream.pending):
                    cut_off = yield CutOff()
                anew, ended = False, piece is None
                ready.extend(stream.flush() if piece is None else stream.feed(piece))
                continue
        except InputError:  # the call itself was wrong: no answer has failed
            raise
        except Exception as error:
            failure = error
        if failure is not None:
            yield Release(_interrupted(answer, stream.pending, failure, earlier))
            return answer.result()
        sentence = ready.popleft()
        if cut_off and not ready:  # the sentences before the half one are whole, and were judged
            yield Release(_interrupted(answer, sentence.text, GenerationError(cut_off), earlier))
            return answer.result()
        (checked,) = yield from answer.judged([sentence], since)
        left = answer.time_left(since)
        in_time = left is None or left > 0
        another = checked.verdict is Verdict.UNSUPPORTED and in_time and attempts.another()
        try:
            if another and (yield CanRetry()):
                refused = checked
                earlier.append(answer.attempt(answer.kept(checked)))
                yield Reject(len(sentence.text), answer.time_left(time.monotonic()))
                stream.truncate(sentence.start)
                ready.clear()
                anew, ended, cut_off = True, False, ""
                continue
            yield Accept(len(sentence.text), answer.time_left(time.monotonic()))
        except InputError:
            raise
        except Exception as error:
            failure = error
        if failure is not None:  # the sentence has its verdict, and nothing can follow it
            yield Release(answer.settle(checked, earlier[:-1] if refused is checked else earlier))
            rest = "".join(s.text for s in ready) + stream.pending
            if not answer.over and (rest or not ended):
                yield Release(_interrupted(answer, rest, failure, ()))
            return answer.result()
        yield Release(answer.settle(checked, earlier))
        attempts, earlier, since, refused = Attempts(policy), [], time.monotonic(), None
    if refused is not None:  # the generator had nothing else to say in its place
        yield Release(answer.settle(refused, earlier[:-1]))
    return answer.result()


def _interrupted(answer: Answer, text: str, error: Exception, earlier: Sequence[Attempt]) -> CheckedSentence:
    """What the generator left unfinished, settled. Raises: GenerationError under the fallback "raise"."""
    rest = Sentence(text, answer.length, answer.length + len(text))
    if isinstance(error, OverdueError):
        checked = answer.unscored(rest, Verdict.TIMEOUT, "the generator did not write on in time")
    elif isinstance(error, GenerationError):
        checked = answer.unscored(rest, Verdict.ERROR, str(error))
    else:
        checked = answer.unscored(rest, Verdict.ERROR, f"the generator failed: {type(error).__name__}: {error}")
    if answer.policy.fallback == "raise":
        before, kept = answer.result(), answer.policy.keep_refused
        told = checked.reason if kept else f"the generator failed ({type(error).__name__})"
        raise GenerationError(f"{told}; released before: {before.text!r}", before) from (error if kept else None)
    return answer.settle(checked, earlier)
