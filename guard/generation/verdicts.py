"""One answer under a policy: the verdict of each sentence, and the text that is released for it.

`groundrail.generation.loop` decides on the order of sentences, `groundrail.text.claims` reads their claims.
"""

import math
import time
from collections.abc import Generator, Iterator, Sequence
from textwrap import shorten
from typing import Any, Protocol

from groundrail.errors import GroundrailError, InputError, ScoringError, UncheckableError, UnsupportedError
from groundrail.generation.steps import Judge, Step
from groundrail.policy import Policy
from groundrail.runtime.deadlines import OverdueError
from groundrail.scoring.base import Score
from groundrail.scoring.findings import derived, findings
from groundrail.text.claims import PART_OF_BLOCK, Claim, NoClaim, Refused, needs_lead, opens_list
from groundrail.text.english.phrases import leans_on_sentence
from groundrail.text.rendering.rendered import RenderedAnswer
from groundrail.text.sentences import Sentence
from groundrail.types import Attempt, CheckedSentence, Finding, GuardResult, Verdict

_NOT_KEPT = "the text and the reason are not kept"


class ReadClaim(Protocol):
    """`groundrail.text.claims.read_claim` for one answer."""

    def __call__(self, sentence: str, previous: str, *, lead: str) -> Claim | NoClaim | Refused:
        """Read the claim of a sentence. `previous`: the text shown before it. `lead`: `Sentence.lead`."""


class Answer:
    """The sentences of one answer so far, and the rules that need no I/O.

    read: reads the claim of a sentence.
    has_source: whether there is any source text to check a claim against.
    threshold: the score from which a claim counts as supported.
    """

    def __init__(self, read: ReadClaim, has_source: bool, policy: Policy, threshold: float) -> None:
        self.policy, self._read_claim, self.has_source, self.threshold = policy, read, has_source, threshold
        self.asked_threshold = None if policy.calibration else self.threshold  # a calibration needs exact values
        self.sentences: list[CheckedSentence] = []
        self.length = 0
        self.shown = ""  # the text that a reader saw last
        self.lead = ""  # the lead of the list that a reader saw last
        self.rendered = RenderedAnswer()
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

    def verdict(self, sentence: Sentence, score: Score, seconds: float) -> CheckedSentence:
        """The sentence with the verdict that its score leads to."""
        fields: dict[str, Any] = {
            "text": sentence.text,
            "start": sentence.start,
            "end": sentence.end,
            "seconds": seconds,
            "note": score.note,
        }
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
        conflict = () if score.conflict is None else (score.conflict,)
        read = (*conflict, *score.citations, *score.read)
        if value >= (self.threshold if score.threshold is None else score.threshold):
            return CheckedSentence(**fields, verdict=Verdict.SUPPORTED, findings=derived(sentence.text, read))
        found = findings(sentence.text, next(iter(read), None), read)
        return CheckedSentence(
            **fields,
            verdict=Verdict.UNSUPPORTED,
            conflict=score.conflict,
            findings=found,
            reason=_why(score, found),
        )

    def unscored(
        self, sentence: Sentence, verdict: Verdict, reason: str | None, seconds: float = 0.0
    ) -> CheckedSentence:
        """The sentence with a verdict that no score led to, and the reason."""
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

    def in_place(self, sentence: Sentence, checked: CheckedSentence) -> CheckedSentence:
        """A sentence as it is read after the text that was released.

        If the lead-in of a list was dropped, put it back before the first item that is released. A pronoun is
        unsupported without the sentence before it, unless it was judged together with the sentence released before.
        Nothing goes out after which readers of rendered Markdown would see other words than were judged.
        """
        if checked.verdict is Verdict.SUPPORTED:
            checked = self._with_context(sentence, checked)
        if checked.verdict is not Verdict.UNSUPPORTED and self.policy.releases(checked.verdict):
            try:
                self.rendered.refuse_difference(checked.replacement or checked.text)
            except UncheckableError as error:
                return self.unscored(sentence, Verdict.UNSUPPORTED, str(error), checked.seconds)
        return checked

    def _with_context(self, sentence: Sentence, checked: CheckedSentence) -> CheckedSentence:
        """A supported sentence with the lead that it needs, or unsupported without the sentence that it needs."""
        text, lead = sentence.text, sentence.lead
        if lead != self.lead and not opens_list(text, lead) and needs_lead(text, lead):
            return checked.model_copy(update={"replacement": f"{lead}\n{text}"})
        after_refused = bool(self.sentences) and not (self.sentences[-1].released or self.sentences[-1].corrected)
        if after_refused and leans_on_sentence(text) and not self.claims_otherwise(sentence, ""):
            reason = "it opens with a pronoun, and the sentence before it was not released"
            return self.unscored(sentence, Verdict.UNSUPPORTED, reason, checked.seconds)
        return checked

    def settle(self, checked: CheckedSentence, earlier: Sequence[Attempt] = (), *, lead: str = "") -> CheckedSentence:
        """Decide on release under the policy, and add the sentence to the answer.

        Args:
            earlier: the tries at the sentence that were refused.
            lead: `Sentence.lead`; it is shown with the first item of its list.

        Raises: UnsupportedError under the fallback "raise"; InputError for a callable fallback that returns no text,
        and the errors of the fallback itself.
        """
        released = self.policy.releases(checked.verdict)
        attempts = (*earlier, self.attempt(checked if released else self.kept(checked)))
        checked = checked.model_copy(
            update={"attempts": attempts, "released": released, "seconds": sum(a.seconds for a in attempts)}
        )
        if opens_list(checked.text, lead):
            self.lead = ""
        if released:
            self.shown = checked.released_text
            self.lead = lead if opens_list(self.shown, lead) else self.lead
        else:
            checked = self._fall_back(checked)
            line_ended = "\n" if checked.text.rstrip(" ").endswith("\n") else ""
            self.shown = checked.replacement or self.shown or line_ended
            checked = self.kept(checked)
        self.rendered.add(checked.released_text)
        start, self.length = self.length, self.length + len(checked.text)
        checked = checked.model_copy(update={"start": start, "end": self.length})
        self.sentences.append(checked)
        if not released and self.policy.fallback == "raise":
            said = f": {checked.text.strip()!r}" if self.policy.keep_refused else ""
            raise UnsupportedError(f"a sentence is {checked.verdict}{said} ({checked.reason})", self.result())
        return checked

    def kept(self, refused: CheckedSentence) -> CheckedSentence:
        """A refused sentence as results keep it: without its words, if the policy asks for that."""
        if self.policy.keep_refused:
            return refused
        hidden: dict[str, Any] = {"text": "", "reason": _NOT_KEPT, "note": None, "findings": ()}
        if refused.corrected is not None:
            hidden["corrected"] = refused.corrected.model_copy(update={"was": ""})
        return refused.model_copy(update=hidden)

    def _fall_back(self, checked: CheckedSentence) -> CheckedSentence:
        if checked.corrected is not None:
            return checked
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
        """The result so far."""
        return GuardResult(
            text="".join(sentence.released_text for sentence in self.sentences),
            answer="".join(sentence.text for sentence in self.sentences),
            sentences=tuple(self.sentences),
            threshold=self.threshold,
            seconds=time.monotonic() - self.started,
        )

    def claims_otherwise(self, sentence: Sentence, previous: str) -> bool:
        """Whether a sentence has another claim after the text that was released than after `previous`."""
        return repr(self._read(sentence, previous)) != repr(self._read(sentence, self.shown))

    def judged(
        self, sentences: Sequence[Sentence], since: float, previous: str | None = None
    ) -> Generator[Step, Any, list[CheckedSentence]]:
        """Verdicts for sentences, their claims scored in one call.

        If the call fails and there are several sentences, each is judged alone: a bad claim costs only itself.

        Args:
            since: when the deadlines of the sentences began to run, by `time.monotonic`.
            previous: the text before the first sentence; None for the text that was released last.
        """
        before = [self.shown if previous is None else previous, *(s.text for s in sentences[:-1])]
        claims = [self._read(sentence, text) for sentence, text in zip(sentences, before, strict=False)]
        asked = [claim.text for claim in claims if isinstance(claim, Claim)] if self.has_source else []
        scores: Iterator[Score] = iter(())
        failure: Exception | None = None
        started = time.monotonic()
        if asked:
            try:
                judge = Judge(asked, self.time_left(since, len(asked)), self.asked_threshold)
                scores = iter(_one_each(asked, (yield judge)))
            except Exception as error:  # whatever a scorer throws, its claims were not checked
                failure = error
        if failure is not None and len(sentences) > 1 and not isinstance(failure, OverdueError):
            alone = []
            for sentence, text in zip(sentences, before, strict=True):
                alone += yield from self.judged([sentence], time.monotonic(), text)
            return alone
        seconds = (time.monotonic() - started) / max(1, len(asked))
        checked = []
        for sentence, claim in zip(sentences, claims, strict=True):
            score = next(scores, None) if isinstance(claim, Claim) else None
            checked.append(self._decided(sentence, claim, score if failure is None else failure, seconds))
        return checked

    def _read(self, sentence: Sentence, previous: str) -> Claim | NoClaim | Refused | Exception:
        if sentence.of_block:
            return PART_OF_BLOCK
        try:
            return self._read_claim(sentence.text, previous, lead=sentence.lead)
        except Exception as error:  # the caller's own function failed, so there is no verdict
            return error

    def _decided(
        self,
        sentence: Sentence,
        claim: Claim | NoClaim | Refused | Exception,
        score: Score | Exception | None,
        seconds: float,
    ) -> CheckedSentence:
        """The verdict on a sentence. `score`: of its claim, or the error in its place; None without a source."""
        if isinstance(claim, NoClaim):
            return self.unscored(sentence, Verdict.NO_CLAIM, None)
        if isinstance(claim, Refused):
            return self.unscored(sentence, Verdict.UNSUPPORTED, claim.reason)
        if isinstance(claim, Exception):
            return self.unscored(sentence, Verdict.ERROR, _told(claim))
        if score is None:
            return self.unscored(sentence, Verdict.NO_SOURCE, "there is no source text to check against")
        if isinstance(score, OverdueError):
            return self.unscored(sentence, Verdict.TIMEOUT, f"no verdict: {score}")
        if isinstance(score, Exception):
            return self.unscored(sentence, Verdict.ERROR, _told(score))
        try:
            return self.verdict(sentence, score, seconds)
        except Exception as error:  # a calibration raised, or the scorer's citations are no citations
            return self.unscored(sentence, Verdict.ERROR, _told(error), seconds)


def _why(score: Score, found: Sequence[Finding]) -> str:
    """The reason for a reader, without words of the unsupported sentence: the policy may keep them back."""
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
