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
from groundrail.english.visible import is_blank
from groundrail.errors import (
    GenerationError,
    GroundrailError,
    InputError,
    ScoringError,
    UncheckableError,
    UnsupportedError,
)
from groundrail.policy import Attempts, Policy
from groundrail.scoring.base import Score
from groundrail.scoring.findings import findings
from groundrail.sentences import Sentence, Stream, is_finished, is_unicode, split
from groundrail.types import Attempt, CheckedSentence, Document, Finding, GuardResult, Verdict


@dataclass(frozen=True, slots=True)
class Start:
    """Have the generator start its session; nothing is sent back."""

    timeout: float | None


@dataclass(frozen=True, slots=True)
class Read:
    """Send the next piece of text, or None at the end. `anew`: first call `propose` again."""

    anew: bool
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Judge:
    """Send one `Score` a claim: exact, or good enough to tell which claims reach `threshold`."""

    claims: Sequence[str]
    timeout: float | None
    threshold: float | None


@dataclass(frozen=True, slots=True)
class Accept:
    """Tell the session; nothing is sent back."""

    n_chars: int
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Reject:
    """Tell the session; nothing is sent back."""

    n_chars: int
    timeout: float | None


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


Step: TypeAlias = Start | Read | Judge | Accept | Reject | CanRetry | CutOff | Release
Steps: TypeAlias = Generator[Step, Any, GuardResult]
ClaimOf: TypeAlias = Callable[[str, str, str], str | None]
"""(sentence, the one before it, the prompt) -> the claim to check, None where there is none.

Raises: UncheckableError for a sentence that cannot be checked, and is not supported therefore.
"""


class _Answer:
    """What is known of one answer, and the rules that need no I/O."""

    def __init__(
        self, documents: Sequence[Document], policy: Policy, threshold: float, claim_of: ClaimOf, prompt: str
    ) -> None:
        self.policy, self.claim_of, self.prompt = policy, claim_of, prompt
        self.threshold = policy.decisive(threshold)
        self.asked_threshold = None if policy.calibration else self.threshold  # a calibrated value is asked exactly
        self.has_source = not all(is_blank(document.text) for document in documents)
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
        if score.refusal is not None:
            return CheckedSentence(**fields, verdict=Verdict.UNSUPPORTED, reason=score.refusal)
        value = score.value
        if self.policy.calibration and score.threshold is None and math.isfinite(value):
            value = self.policy.calibration(value)
        if not math.isfinite(value):
            return CheckedSentence(**fields, verdict=Verdict.ERROR, reason=f"the model gave no score ({value})")
        fields |= {
            "score": value,
            "exact": score.exact,
            "citations": score.citations,
            "threshold": score.threshold,
            "first_score": score.first,
        }
        if value >= (self.threshold if score.threshold is None else score.threshold):
            return CheckedSentence(**fields, verdict=Verdict.SUPPORTED)
        found = findings(sentence.text, score.conflict or next(iter(score.citations), None))
        return CheckedSentence(
            **fields,
            verdict=Verdict.UNSUPPORTED,
            conflict=score.conflict,
            findings=found,
            reason=_why(score, found, sentence.text),
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

    def attempt(self, checked: CheckedSentence) -> Attempt:
        """The sentence as one try among others."""
        return Attempt(
            text=checked.text,
            verdict=checked.verdict,
            score=checked.score,
            reason=checked.reason,
            seconds=checked.seconds,
        )

    def settle(self, checked: CheckedSentence, earlier: Sequence[Attempt] = ()) -> CheckedSentence:
        """Decide on release under the policy and write it down."""
        released = self.policy.releases(checked.verdict)
        attempts = (*earlier, self.attempt(checked if released else self.kept(checked)))
        checked = checked.model_copy(
            update={"attempts": attempts, "released": released, "seconds": sum(a.seconds for a in attempts)}
        )
        if not released:
            checked = self._fall_back(checked)
            checked = self.kept(checked)
        start = len(self.raw)
        checked = checked.model_copy(update={"start": start, "end": start + len(checked.text)})
        self.sentences.append(checked)
        self.raw += checked.text
        if not released and self.policy.fallback == "raise":
            said = f": {checked.text.strip()!r}" if self.policy.keep_refused else ""
            raise UnsupportedError(f"a sentence is {checked.verdict}{said} ({checked.reason})", self.result())
        return checked

    def kept(self, refused: CheckedSentence) -> CheckedSentence:
        """A refused sentence as results keep it: without what it says, where the policy asks for that."""
        if self.policy.keep_refused:
            return refused
        return refused.model_copy(update={"text": "", "reason": "the text and the reason are not kept"})

    def _fall_back(self, checked: CheckedSentence) -> CheckedSentence:
        if self.policy.fallback == "abstain":
            self.over = True
            return checked.model_copy(update={"replacement": self.policy.abstention})
        if self.policy.fallback == "quote" and checked.conflict is not None:
            gap = checked.text[len(checked.text.rstrip()) :]
            quoted = f"“{' '.join(checked.conflict.text.split())}”{gap}"
            return checked.model_copy(update={"replacement": quoted, "quoted": True})
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
        claims = [
            self._claim(sentence, previous)
            for sentence, previous in zip(sentences, [shown, *(s.text for s in sentences)], strict=False)
        ]
        asked = [claim for claim in claims if isinstance(claim, str)] if self.has_source else []
        started = time.monotonic()
        try:
            judge = Judge(asked, self.time_left(since), self.asked_threshold)
            scores = iter(_one_each(asked, (yield judge)) if asked else ())
        except OverdueError as overdue:
            late = f"no verdict: {overdue}"
            return [
                self.failed(s, Verdict.TIMEOUT, late) if isinstance(claim, str) else self._unasked(s, claim)
                for s, claim in zip(sentences, claims, strict=True)
            ]
        except Exception as error:  # whatever a scorer throws, its claims were not checked
            if len(sentences) > 1:
                alone = []
                for sentence in sentences:
                    alone += yield from self.judged([sentence], since)
                return alone
            return [self.failed(sentences[0], Verdict.ERROR, _told(error))]
        seconds = (time.monotonic() - started) / max(1, len(asked))
        checked = []
        for sentence, claim in zip(sentences, claims, strict=True):
            if not isinstance(claim, str):
                checked.append(self._unasked(sentence, claim))
            elif not self.has_source:
                checked.append(self.failed(sentence, Verdict.NO_SOURCE, "there is no source text to check against"))
            else:
                checked.append(self._decided(sentence, next(scores), seconds))
        return checked

    def _claim(self, sentence: Sentence, previous: str) -> str | Exception | None:
        try:
            return self.claim_of(sentence.text, previous, self.prompt)
        except Exception as error:  # what a caller's own function throws is no verdict either
            return error

    def _unasked(self, sentence: Sentence, claim: Exception | None) -> CheckedSentence:
        """A sentence that no scorer is asked about."""
        if claim is None:
            return self.verdict(sentence, None, 0.0)
        if isinstance(claim, UncheckableError):
            return self.failed(sentence, Verdict.UNSUPPORTED, str(claim))
        return self.failed(sentence, Verdict.ERROR, _told(claim))

    def _decided(self, sentence: Sentence, score: Score, seconds: float) -> CheckedSentence:
        """The verdict, ERROR where a calibration raises or a scorer's citations are none."""
        try:
            return self.verdict(sentence, score, seconds)
        except Exception as error:
            return self.failed(sentence, Verdict.ERROR, _told(error), seconds)


def checked_text(
    text: str,
    documents: Sequence[Document],
    policy: Policy,
    threshold: float,
    claim_of: ClaimOf = claim_of,
    prompt: str = "",
) -> Steps:
    """Check a text that is already written: every claim in one call, no retries."""
    answer = _Answer(documents, policy, threshold, claim_of, prompt)
    for checked in (yield from answer.judged(split(text, policy.longest_sentence), answer.started)):
        yield Release(answer.settle(checked))
        if answer.over:
            break
    return answer.result()


def guarded_generation(
    documents: Sequence[Document],
    policy: Policy,
    threshold: float,
    claim_of: ClaimOf = claim_of,
    prompt: str = "",
) -> Steps:
    """Check an answer while it is written: a sentence is judged, then released, retried or replaced."""
    answer = _Answer(documents, policy, threshold, claim_of, prompt)
    stream = Stream(policy.longest_sentence)
    ready: deque[Sentence] = deque()
    started, anew, ended, cut_off = False, True, False, ""
    attempts, earlier, since = Attempts(policy), list[Attempt](), time.monotonic()
    refused: CheckedSentence | None = None
    while not answer.over:
        if not ready and ended:
            break
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
            yield Release(_interrupted(answer, stream.pending, error, earlier))
            return answer.result()
        sentence = ready.popleft()
        if cut_off and not ready:  # the sentences before the half one are whole, and were judged
            yield Release(_interrupted(answer, sentence.text, GenerationError(cut_off), earlier))
            return answer.result()
        (checked,) = yield from answer.judged([sentence], since)
        left = answer.time_left(since)
        try:
            if (
                checked.verdict is Verdict.UNSUPPORTED
                and (left is None or left > 0)
                and (yield CanRetry())
                and attempts.another()
            ):
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
        except Exception as error:  # the sentence has its verdict, and nothing can follow it
            yield Release(answer.settle(checked, earlier[:-1] if refused is checked else earlier))
            rest = "".join(s.text for s in ready) + stream.pending
            if not answer.over and (rest or not ended):
                yield Release(_interrupted(answer, rest, error, ()))
            return answer.result()
        yield Release(answer.settle(checked, earlier))
        attempts, earlier, since, refused = Attempts(policy), [], time.monotonic(), None
    if refused is not None:  # the generator had nothing else to say in its place
        yield Release(answer.settle(refused, earlier[:-1]))
    return answer.result()


def _why(score: Score, found: Sequence[Finding], sentence: str) -> str:
    """What a reader is told of a sentence that is not supported."""
    details = [
        f"“{sentence[f.start : f.end]}” instead of “{f.given.text}”"
        if f.given
        else f"no “{sentence[f.start : f.end]}” there"
        for f in found
    ]
    told = [*details, *([] if score.note is None else [score.note])]
    aside = f" ({'; '.join(told)})" if told else ""
    if score.conflict is not None:
        return f"the source says otherwise{aside}: “{_shortened(score.conflict.text)}”"
    if score.citations:
        return f"the source does not say this{aside}; nearest: “{_shortened(score.citations[0].text)}”"
    return f"the source does not say this{aside}"


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, GroundrailError) else f"{type(error).__name__}: {error}"


def _shortened(text: str) -> str:
    return shorten(text, 200, placeholder=" …")


def _one_each(claims: Sequence[str], scores: Sequence[Score]) -> Sequence[Score]:
    """The scores as they are. Raises: ScoringError if they are not one number for each claim."""
    if len(scores) != len(claims) or not all(isinstance(getattr(s, "value", None), int | float) for s in scores):
        raise ScoringError(f"the scorer gave {scores!r:.100} for {len(claims)} claims; it must give one Score each")
    return scores


def _interrupted(answer: _Answer, text: str, error: Exception, earlier: Sequence[Attempt]) -> CheckedSentence:
    """What the generator left unfinished, settled. Raises: GenerationError under the fallback "raise"."""
    rest = Sentence(text, len(answer.raw), len(answer.raw) + len(text))
    if isinstance(error, OverdueError):
        checked = answer.failed(rest, Verdict.TIMEOUT, "the generator did not write on in time")
    elif isinstance(error, GenerationError):
        checked = answer.failed(rest, Verdict.ERROR, str(error))
    else:
        checked = answer.failed(rest, Verdict.ERROR, f"the generator failed: {type(error).__name__}: {error}")
    if answer.policy.fallback == "raise":
        before = answer.result()
        raise GenerationError(f"{checked.reason}; released before: {before.text!r}", before) from error
    return answer.settle(checked, earlier)
