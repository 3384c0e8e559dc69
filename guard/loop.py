"""The guard's one loop, free of I/O: sentences in, verdicts, retries and releases out.

`checked_text` and `guarded_generation` are coroutines of steps: they yield what they need done (read a
piece, judge claims, rewind the session) and are sent the outcome. `groundrail.drivers` drives them, in
plain and in async code, so that both run the same logic.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, TypeAlias

from groundrail.claims import claim_of
from groundrail.deadline import OverdueError
from groundrail.errors import GenerationError, GroundrailError, InputError, ScoringError, UnsupportedError
from groundrail.policy import Attempts, Policy
from groundrail.scoring.base import Score
from groundrail.sentences import Sentence, Stream, is_finished, is_unicode, split
from groundrail.types import Attempt, CheckedSentence, Document, GuardResult, Verdict


@dataclass(frozen=True, slots=True)
class Read:
    """Send the next piece of text, or None at the end. `anew`: first call `propose` again."""

    anew: bool
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Judge:
    """Send one `Score` a claim."""

    claims: Sequence[str]
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Accept:
    """Tell the session; nothing is sent back."""

    n_chars: int


@dataclass(frozen=True, slots=True)
class Reject:
    """Tell the session; nothing is sent back."""

    n_chars: int


@dataclass(frozen=True, slots=True)
class CanRetry:
    """Send whether the session can write on after a rejection."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """Send why the answer ended before its end, "" where it did not."""


@dataclass(frozen=True, slots=True)
class Release:
    """A sentence is decided on; show it to whoever listens."""

    sentence: CheckedSentence


Step: TypeAlias = Read | Judge | Accept | Reject | CanRetry | CutOff | Release
Steps: TypeAlias = Generator[Step, Any, GuardResult]
ClaimOf: TypeAlias = Callable[[str, str], str | None]
"""(sentence, the one before it) -> the claim to check, None where there is none."""


class _Answer:
    """What is known of one answer, and the rules that need no I/O."""

    def __init__(self, documents: Sequence[Document], policy: Policy, threshold: float, claim_of: ClaimOf) -> None:
        self.policy, self.claim_of = policy, claim_of
        self.threshold = threshold if policy.threshold is None else policy.threshold
        self.has_source = any(document.text.strip() for document in documents)
        self.sentences: list[CheckedSentence] = []
        self.raw = ""
        self.started = time.monotonic()
        self.over = False

    def time_left(self, since: float | None = None) -> float | None:
        """Seconds until the nearer of the sentence's and the answer's deadline, None without any."""
        now = time.monotonic()
        left = []
        if self.policy.answer_deadline is not None:
            left.append(self.started + self.policy.answer_deadline - now)
        if self.policy.deadline is not None and since is not None:
            left.append(since + self.policy.deadline - now)
        return max(0.0, min(left)) if left else None

    def verdict(self, sentence: Sentence, score: Score | None, seconds: float) -> CheckedSentence:
        """The sentence with the verdict that its score deserves; None stands for no claim or no source."""
        fields: dict[str, Any] = {
            "text": sentence.text,
            "start": sentence.start,
            "end": sentence.end,
            "seconds": seconds,
        }
        if score is None:
            return CheckedSentence(**fields, verdict=Verdict.NO_CLAIM)
        value = score.value
        if self.policy.calibration and math.isfinite(value):
            value = self.policy.calibration(value)
        if not math.isfinite(value):
            return CheckedSentence(**fields, verdict=Verdict.ERROR, reason=f"the model gave no score ({value})")
        if value >= self.threshold:
            return CheckedSentence(**fields, verdict=Verdict.SUPPORTED, score=value, citations=score.citations)
        return CheckedSentence(
            **fields,
            verdict=Verdict.UNSUPPORTED,
            score=value,
            citations=score.citations,
            conflict=score.conflict,
            reason=_why(score),
        )

    def failed(self, sentence: Sentence, verdict: Verdict, reason: str, seconds: float = 0.0) -> CheckedSentence:
        return CheckedSentence(
            text=sentence.text,
            start=sentence.start,
            end=sentence.end,
            verdict=verdict,
            reason=reason,
            seconds=seconds,
        )

    def settle(self, checked: CheckedSentence, earlier: Sequence[Attempt] = ()) -> CheckedSentence:
        """Decide on release under the policy and write it down."""
        last = Attempt(
            text=checked.text,
            verdict=checked.verdict,
            score=checked.score,
            reason=checked.reason,
            seconds=checked.seconds,
        )
        attempts = (*earlier, last)
        released = self.policy.releases(checked.verdict)
        checked = checked.model_copy(
            update={"attempts": attempts, "released": released, "seconds": sum(a.seconds for a in attempts)}
        )
        if not released:
            checked = self._fall_back(checked)
        self.sentences.append(checked)
        self.raw += checked.text
        if not released and self.policy.fallback == "raise":
            raise UnsupportedError(
                f"a sentence is {checked.verdict}: {checked.text.strip()!r} ({checked.reason})", self.result()
            )
        return checked

    def _fall_back(self, checked: CheckedSentence) -> CheckedSentence:
        if self.policy.fallback == "abstain":
            self.over = True
            return checked.model_copy(update={"replacement": self.policy.abstention})
        if callable(self.policy.fallback):
            replacement = self.policy.fallback(checked)
            if not isinstance(replacement, str | None):
                given = type(replacement).__name__
                raise InputError(f"a fallback returns the text to release, or None, not {given}")
            if replacement is not None:
                return checked.model_copy(update={"replacement": replacement})
        return checked

    def result(self) -> GuardResult:
        return GuardResult(
            text="".join(sentence.released_text for sentence in self.sentences),
            answer=self.raw,
            sentences=tuple(self.sentences),
            threshold=self.threshold,
            seconds=time.monotonic() - self.started,
        )

    def judged(self, sentences: Sequence[Sentence], since: float) -> Generator[Step, Any, list[CheckedSentence]]:
        """Verdicts for sentences, their claims scored in one call.

        If the call fails and there are several claims, each is scored alone, so that one bad claim
        costs only itself.
        """
        shown = next((s.text for s in reversed(self.sentences) if s.released), "")
        previous = [shown, *(s.text for s in sentences)]
        claims = [self.claim_of(s.text, text) for s, text in zip(sentences, previous, strict=False)]
        asked = [claim for claim in claims if claim is not None] if self.has_source else []
        started = time.monotonic()
        try:
            scores = iter(_one_each(asked, (yield Judge(asked, self.time_left(since)))) if asked else ())
        except OverdueError as overdue:
            late = f"no verdict: {overdue}"
            return [
                self.failed(s, Verdict.TIMEOUT, late) if claim is not None else self.verdict(s, None, 0.0)
                for s, claim in zip(sentences, claims, strict=True)
            ]
        except Exception as error:  # whatever a scorer throws, its claims were not checked
            if len(sentences) > 1:
                alone = []
                for sentence in sentences:
                    alone += yield from self.judged([sentence], since)
                return alone
            reason = str(error) if isinstance(error, GroundrailError) else f"{type(error).__name__}: {error}"
            return [self.failed(sentences[0], Verdict.ERROR, reason)]
        seconds = (time.monotonic() - started) / max(1, len(asked))
        checked = []
        for sentence, claim in zip(sentences, claims, strict=True):
            if claim is None:
                checked.append(self.verdict(sentence, None, 0.0))
            elif not self.has_source:
                checked.append(self.failed(sentence, Verdict.NO_SOURCE, "there is no source text to check against"))
            else:
                checked.append(self.verdict(sentence, next(scores), seconds))
        return checked


def checked_text(
    text: str,
    documents: Sequence[Document],
    policy: Policy,
    threshold: float,
    claim_of: ClaimOf = claim_of,
) -> Steps:
    """Check a text that is already written: every claim in one call, no retries."""
    answer = _Answer(documents, policy, threshold, claim_of)
    for checked in (yield from answer.judged(split(text), answer.started)):
        yield Release(answer.settle(checked))
        if answer.over:
            break
    return answer.result()


def guarded_generation(
    documents: Sequence[Document], policy: Policy, threshold: float, claim_of: ClaimOf = claim_of
) -> Steps:
    """Check an answer while it is written: a sentence is judged, then released, retried or replaced."""
    answer = _Answer(documents, policy, threshold, claim_of)
    stream = Stream()
    ready: deque[Sentence] = deque()
    anew, ended, cut_off = True, False, ""
    attempts, earlier, since = Attempts(policy), list[Attempt](), time.monotonic()
    refused: CheckedSentence | None = None
    while not answer.over:
        if not ready and ended:
            break
        if not ready:
            try:
                piece = yield Read(anew, answer.time_left(since))
                if piece is not None and not is_unicode(piece):
                    raise GenerationError("the generator wrote half a surrogate pair, which is no text")
                if piece is None and not is_finished(stream.pending):
                    cut_off = yield CutOff()
            except InputError:  # the call itself was wrong: no answer has failed
                raise
            except Exception as error:
                rest = Sentence(stream.pending, len(answer.raw), len(answer.raw) + len(stream.pending))
                yield Release(_interrupted(answer, rest, error, earlier))
                return answer.result()
            anew, ended = False, piece is None
            ready.extend(stream.flush() if piece is None else stream.feed(piece))
            continue
        sentence = ready.popleft()
        if cut_off and not ready:  # the sentences before the half one are whole, and were judged
            yield Release(_interrupted(answer, sentence, GenerationError(cut_off), earlier))
            return answer.result()
        (checked,) = yield from answer.judged([sentence], since)
        left = answer.time_left(since)
        if (
            checked.verdict is Verdict.UNSUPPORTED
            and (left is None or left > 0)
            and (yield CanRetry())
            and attempts.another()
        ):
            refused = checked
            earlier.append(
                Attempt(
                    text=checked.text,
                    verdict=checked.verdict,
                    score=checked.score,
                    reason=checked.reason,
                    seconds=checked.seconds,
                )
            )
            yield Reject(len(sentence.text))
            stream.truncate(sentence.start)
            ready.clear()
            anew, ended, cut_off = True, False, ""
            continue
        yield Accept(len(sentence.text))
        yield Release(answer.settle(checked, earlier))
        attempts, earlier, since, refused = Attempts(policy), [], time.monotonic(), None
    if refused is not None:  # the generator had nothing else to say in its place
        yield Release(answer.settle(refused, earlier[:-1]))
    return answer.result()


def _why(score: Score) -> str:
    """What a reader is told of a sentence that is not supported."""
    if score.conflict is not None:
        return f"the source says otherwise: “{_shortened(score.conflict.text)}”"
    if score.citations:
        return f"the source does not say this; nearest: “{_shortened(score.citations[0].text)}”"
    return "the source does not say this"


def _shortened(text: str) -> str:
    return shorten(text, 200, placeholder=" …")


def _one_each(claims: Sequence[str], scores: Sequence[Score]) -> Sequence[Score]:
    """The scores as they are. Raises: ScoringError if they are not one number for each claim."""
    if len(scores) != len(claims) or not all(isinstance(getattr(s, "value", None), int | float) for s in scores):
        raise ScoringError(f"the scorer gave {scores!r:.100} for {len(claims)} claims; it must give one Score each")
    return scores


def _interrupted(answer: _Answer, rest: Sentence, error: Exception, earlier: Sequence[Attempt]) -> CheckedSentence:
    """What the generator left unfinished, settled. Raises: GenerationError under the fallback "raise"."""
    if isinstance(error, TimeoutError):
        checked = answer.failed(rest, Verdict.TIMEOUT, "the generator did not write on in time")
    elif isinstance(error, GenerationError):
        checked = answer.failed(rest, Verdict.ERROR, str(error))
    else:
        checked = answer.failed(rest, Verdict.ERROR, f"the generator failed: {type(error).__name__}: {error}")
    if answer.policy.fallback == "raise":
        before = answer.result()
        raise GenerationError(f"{checked.reason}; released before: {before.text!r}", before) from error
    return answer.settle(checked, earlier)
