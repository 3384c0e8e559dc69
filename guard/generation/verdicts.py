"""One answer under a policy: what its sentences claim, which verdict a score leads to, what is released instead.

The order of things, sentence after sentence, is `groundrail.generation.loop`; scoring belongs to scorers.
"""

import math
import time
from collections.abc import Callable, Generator, Sequence
from textwrap import shorten
from typing import Any, TypeAlias

from groundrail.errors import GroundrailError, InputError, ScoringError, UncheckableError, UnsupportedError
from groundrail.generation.steps import Judge, Step
from groundrail.policy import Policy
from groundrail.runtime.deadlines import OverdueError
from groundrail.scoring.base import Score
from groundrail.scoring.findings import findings
from groundrail.text.rendering.visible import is_blank
from groundrail.text.sentences import Sentence
from groundrail.types import Attempt, CheckedSentence, Document, Finding, GuardResult, Verdict

ClaimOf: TypeAlias = Callable[[str, str, str], str | None]
"""(sentence, the one before it, the prompt) -> the claim to check, None where there is none.

Raises: UncheckableError for a sentence that cannot be checked, and is not supported therefore.
"""


class Answer:
    """What is known of one answer, and the rules that need no I/O."""

    def __init__(
        self, documents: Sequence[Document], policy: Policy, threshold: float, claim_of: ClaimOf, prompt: str
    ) -> None:
        self.policy, self.claim_of, self.prompt = policy, claim_of, prompt
        self.threshold = policy.decisive(threshold)
        self.asked_threshold = None if policy.calibration else self.threshold  # a calibrated value is asked exactly
        self.has_source = not all(is_blank(document.text) for document in documents)
        self.sentences: list[CheckedSentence] = []
        self.length = 0
        self.shown = ""  # what a reader saw last
        self.started = time.monotonic()
        self.over = False

    def time_left(self, since: float | None = None, sentences: int = 1) -> float | None:
        """Seconds until the nearer of the sentences' deadlines together and the answer's, None without any."""
        now = time.monotonic()
        left = []
        if self.policy.answer_deadline is not None:
            left.append(self.started + self.policy.answer_deadline - now)
        if self.policy.deadline is not None and since is not None:
            left.append(since + sentences * self.policy.deadline - now)
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
            reason=_why(score, found),
        )

    def failed(self, sentence: Sentence, verdict: Verdict, reason: str, seconds: float = 0.0) -> CheckedSentence:
        """The sentence with a verdict that no score led to, and why."""
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
        """Decide on release under the policy and write it down.

        Raises: UnsupportedError under the fallback "raise"; what a callable fallback raises, and InputError where it
        returns no text.
        """
        released = self.policy.releases(checked.verdict)
        attempts = (*earlier, self.attempt(checked if released else self.kept(checked)))
        checked = checked.model_copy(
            update={"attempts": attempts, "released": released, "seconds": sum(a.seconds for a in attempts)}
        )
        if released:
            self.shown = checked.text
        else:
            checked = self._fall_back(checked)
            line_ended = "\n" if checked.text.rstrip(" ").endswith("\n") else ""
            self.shown = checked.replacement or self.shown or line_ended
            checked = self.kept(checked)
        start, self.length = self.length, self.length + len(checked.text)
        checked = checked.model_copy(update={"start": start, "end": self.length})
        self.sentences.append(checked)
        if not released and self.policy.fallback == "raise":
            said = f": {checked.text.strip()!r}" if self.policy.keep_refused else ""
            raise UnsupportedError(f"a sentence is {checked.verdict}{said} ({checked.reason})", self.result())
        return checked

    def kept(self, refused: CheckedSentence) -> CheckedSentence:
        """A refused sentence as results keep it: without what it says, where the policy asks for that."""
        if self.policy.keep_refused:
            return refused
        return refused.model_copy(update={"text": "", "reason": "the text and the reason are not kept", "findings": ()})

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
        """What is known so far."""
        return GuardResult(
            text="".join(sentence.released_text for sentence in self.sentences),
            answer="".join(sentence.text for sentence in self.sentences),
            sentences=tuple(self.sentences),
            threshold=self.threshold,
            seconds=time.monotonic() - self.started,
        )

    def claims_otherwise(self, sentence: Sentence, previous: str) -> bool:
        """Whether a sentence claims something else after what was released than after `previous`."""
        return repr(self._claim(sentence, previous)) != repr(self._claim(sentence, self.shown))

    def judged(
        self, sentences: Sequence[Sentence], since: float, previous: str | None = None
    ) -> Generator[Step, Any, list[CheckedSentence]]:
        """Verdicts for sentences, their claims scored in one call. `previous`: the text before them, else what was
        released last.

        If the call fails and there are several claims, each is scored alone, so that one bad claim
        costs only itself.
        """
        before = [self.shown if previous is None else previous, *(s.text for s in sentences[:-1])]
        claims = [self._claim(sentence, text) for sentence, text in zip(sentences, before, strict=False)]
        asked = [claim for claim in claims if isinstance(claim, str)] if self.has_source else []
        started = time.monotonic()
        try:
            judge = Judge(asked, self.time_left(since, max(1, len(asked))), self.asked_threshold)
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
                for sentence, text in zip(sentences, before, strict=True):
                    alone += yield from self.judged([sentence], time.monotonic(), text)
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


def _why(score: Score, found: Sequence[Finding]) -> str:
    """What a reader is told of a sentence that is not supported, in none of its own words: they may be kept back."""
    details = [f"there it is “{detail.given.text}”" for detail in found if detail.given]
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
