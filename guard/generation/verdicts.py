"""One answer under a policy: the verdict of each sentence, and the text that is released for it.

`groundrail.generation.loop` decides on the order of sentences, `groundrail.text.claims` reads their claims.
"""

import math
import time
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any, TypeAlias

from groundrail.errors import GenerationError, GroundrailError, InputError, UncheckableError, UnsupportedError
from groundrail.generation.speaking import heard, misquoted
from groundrail.policy import Policy
from groundrail.runtime.deadlines import OverdueError
from groundrail.scoring.base import Score
from groundrail.scoring.findings import derived, findings
from groundrail.text.claims import PART_OF_BLOCK, Claim, NoClaim, Refused, needs_lead, opens_list
from groundrail.text.english.phrases import leans_on_sentence
from groundrail.text.form import SourceText
from groundrail.text.marks import without
from groundrail.text.rendering.rendered import RenderedAnswer
from groundrail.text.rendering.visible import plain
from groundrail.text.sentences import Sentence
from groundrail.types import Attempt, CheckedSentence, Finding, GuardResult, Verdict

ReadClaim: TypeAlias = Callable[..., Claim | NoClaim | Refused]
"""`groundrail.text.claims.read_claim` for one answer: (sentence, the text shown before it, lead=Sentence.lead,
heading=Sentence.heading)."""


class Answer:
    """The sentences of one answer so far, and the rules that need no I/O.

    read: reads the claim of a sentence.
    source: the documents to check against, as text.
    threshold: the score from which a claim counts as supported.
    """

    def __init__(self, read: ReadClaim, source: SourceText, policy: Policy, threshold: float) -> None:
        self.policy, self._read, self.source, self.threshold = policy, read, source, threshold
        self.has_source = not source.is_blank
        self.sentences: list[CheckedSentence] = []
        self.length = 0
        self.shown = ""  # the text that a reader saw last
        self.over = False
        self._lead = ""  # the lead of the list that a reader saw last
        self._rendered = RenderedAnswer()

    def begin(self) -> None:
        """Start the clock of the answer's deadline."""
        self._started = time.monotonic()

    def time_left(self, since: float, sentences: int = 1) -> float | None:
        """Seconds until the nearer of the sentences' deadlines together and the answer's, None without any."""
        policy, ends = self.policy, []
        if policy.answer_deadline is not None:
            ends.append(self._started + policy.answer_deadline)
        if policy.deadline is not None:
            ends.append(since + sentences * policy.deadline)
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def claim(self, sentence: Sentence, previous: str) -> Claim | NoClaim | Refused | Exception:
        """The claim of a sentence with `previous` shown before it, or the error of the caller's own function."""
        if sentence.of_block:
            return PART_OF_BLOCK
        try:
            return self._read(sentence.text, previous, lead=sentence.lead, heading=sentence.heading)
        except Exception as error:
            return error

    def claims_otherwise(self, sentence: Sentence, previous: str) -> bool:
        """Whether a sentence has another claim after the text that was released than after `previous`."""
        return repr(self.claim(sentence, previous)) != repr(self.claim(sentence, self.shown))

    def verdict(
        self,
        sentence: Sentence,
        found: Score | Claim | NoClaim | Refused | Exception,
        seconds: float,
        claim: object = None,
    ) -> CheckedSentence:
        """The sentence with its verdict, and where it is supported, with the places of its quotations first.

        found: the score of its claim, the claim where there is no source, what it has instead of a claim, or an error.
        """
        match found:
            case NoClaim():
                return _unscored(sentence, Verdict.NO_CLAIM, None)
            case Refused(reason=reason):
                found_wrong = misquoted(sentence.text, found, self.source)
                checked = _unscored(sentence, Verdict.UNSUPPORTED, reason)
                return checked.model_copy(update={"findings": found_wrong})
            case Claim():
                return _unscored(sentence, Verdict.NO_SOURCE, "there is no source text to check against")
            case OverdueError():
                return _unscored(sentence, Verdict.TIMEOUT, f"no verdict: {found}")
            case Exception():
                return _unscored(sentence, Verdict.ERROR, _told(found))
        try:
            speaker = claim.speaker if isinstance(claim, Claim) else ""
            checked = heard(self._scored(sentence, found, seconds), speaker, self.source)
            quoted = claim.quoted if isinstance(claim, Claim) and checked.verdict is Verdict.SUPPORTED else ()
            cited = [self.source.documents[n].cite(start, end, found.value) for n, start, end in quoted]
            others = [each for each in checked.citations if each.place not in {one.place for one in cited}]
            return checked.model_copy(update={"citations": (*cited, *others)}) if cited else checked
        except Exception as error:  # a calibration raised, or the scorer's citations are no citations
            return _unscored(sentence, Verdict.ERROR, _told(error), seconds)

    def _scored(self, sentence: Sentence, score: Score, seconds: float) -> CheckedSentence:
        """The sentence with the verdict that its score leads to."""
        value, threshold = score.value, self.threshold if score.threshold is None else score.threshold
        if self.policy.calibration and score.threshold is None and math.isfinite(value):
            value = self.policy.calibration(value)
        if not math.isfinite(value):
            return _unscored(sentence, Verdict.ERROR, f"the model gave no score ({value})", seconds)
        supported = value >= threshold
        conflict = () if score.conflict is None else (score.conflict,)
        read = (*conflict, *score.citations, *score.read)
        found = (derived if supported else findings)(sentence.text, read)
        return CheckedSentence(
            text=sentence.text,
            start=sentence.start,
            end=sentence.end,
            verdict=Verdict.SUPPORTED if supported else Verdict.UNSUPPORTED,
            score=value,
            exact=score.exact,
            citations=score.citations,
            conflict=None if supported else score.conflict,
            findings=found,
            reason=None if supported else _why(score, found),
            seconds=seconds,
            threshold=score.threshold,
            first_score=score.first,
            note=score.note,
        )

    def interrupted(self, sentence: Sentence, error: Exception) -> CheckedSentence:
        """The text that a failed generator left undecided. Raises: GenerationError under the fallback "raise"."""
        if isinstance(error, OverdueError):
            checked = _unscored(sentence, Verdict.TIMEOUT, "the generator did not write on in time")
        else:
            failed = "" if isinstance(error, GenerationError) else f"the generator failed: {type(error).__name__}: "
            checked = _unscored(sentence, Verdict.ERROR, f"{failed}{error}")
        if self.policy.fallback == "raise":
            before, kept = self.result(), self.policy.keep_refused
            told = checked.reason if kept else f"the generator failed ({type(error).__name__})"
            raise GenerationError(f"{told}; released before: {before.text!r}", before) from (error if kept else None)
        return checked

    def in_place(self, sentence: Sentence, checked: CheckedSentence) -> CheckedSentence:
        """A sentence as it is read after the text that was released.

        If the lead-in of a list was dropped, put it back before the first item that is released. A pronoun is
        unsupported without the sentence before it, unless it was judged together with the sentence released before.
        Nothing goes out after which readers of rendered Markdown would see other words than were judged.
        """
        if checked.verdict is Verdict.SUPPORTED:
            checked = self._with_context(sentence, checked)
        if self.policy.marks == "strip" and self.policy.releases(checked.verdict):
            checked = self._without_marks(checked)
        if checked.verdict is not Verdict.UNSUPPORTED and self.policy.releases(checked.verdict):
            try:
                self._rendered.refuse_difference(checked.replacement or checked.text)
            except UncheckableError as error:
                return _unscored(sentence, Verdict.UNSUPPORTED, str(error), checked.seconds)
        return checked

    def _with_context(self, sentence: Sentence, checked: CheckedSentence) -> CheckedSentence:
        """A supported sentence with the lead that it needs, or unsupported without the sentence that it needs."""
        text, lead = sentence.text, sentence.lead
        if lead != self._lead and not opens_list(text, lead) and needs_lead(text, lead):
            return checked.model_copy(update={"replacement": f"{lead}\n{text}"})
        before = next((each for each in reversed(self.sentences) if each.verdict is not Verdict.NO_CLAIM), None)
        is_lost = before is not None and not (before.released or _keeps_names(before))
        if is_lost and leans_on_sentence(text) and not self.claims_otherwise(sentence, ""):
            reason = "it opens with a pronoun, and the sentence before it was not released"
            return _unscored(sentence, Verdict.UNSUPPORTED, reason, checked.seconds)
        return checked

    def _without_marks(self, checked: CheckedSentence) -> CheckedSentence:
        written = checked.replacement or checked.text
        bare = without(written, self.source.marks(written, written))
        return checked if bare == written else checked.model_copy(update={"replacement": bare})

    def settle(
        self, checked: CheckedSentence, refused: Sequence[CheckedSentence] = (), *, lead: str = ""
    ) -> CheckedSentence:
        """Decide on release under the policy, and add the sentence to the answer.

        Args:
            refused: the tries at the sentence before this one.
            lead: `Sentence.lead`; it is shown with the first item of its list.

        Raises: UnsupportedError under the fallback "raise"; InputError for a callable fallback that returns no text,
        and the errors of the fallback itself.
        """
        released = self.policy.releases(checked.verdict)
        tries = [*map(self._kept, refused), checked if released else self._kept(checked)]
        attempts = tuple(Attempt.model_validate(each, from_attributes=True) for each in tries)
        checked = checked.model_copy(
            update={"attempts": attempts, "released": released, "seconds": sum(a.seconds for a in attempts)}
        )
        if opens_list(checked.text, lead):
            self._lead = ""
        if released:
            self.shown = checked.released_text
            self._lead = lead if opens_list(self.shown, lead) else self._lead
        else:
            checked = self._fall_back(checked)
            line_ended = "\n" if checked.text.rstrip(" ").endswith("\n") else ""
            self.shown = checked.replacement or self.shown or line_ended
            checked = self._kept(checked)
        self._rendered.add(checked.released_text)
        start, self.length = self.length, self.length + len(checked.text)
        checked = checked.model_copy(update={"start": start, "end": self.length})
        self.sentences.append(checked)
        if not released and self.policy.fallback == "raise":
            said = f": {checked.text.strip()!r}" if self.policy.keep_refused else ""
            raise UnsupportedError(f"a sentence is {checked.verdict}{said} ({checked.reason})", self.result())
        return checked

    def _kept(self, refused: CheckedSentence) -> CheckedSentence:
        """A refused sentence as results keep it: without its words, if the policy asks for that."""
        if self.policy.keep_refused:
            return refused
        reason = "the text and the reason are not kept"
        hidden: dict[str, Any] = {"text": "", "reason": reason, "note": None, "findings": (), "marks": ()}
        if refused.corrected is not None:
            hidden["corrected"] = refused.corrected.model_copy(update={"was": ""})
        return refused.model_copy(update=hidden)

    def _fall_back(self, checked: CheckedSentence) -> CheckedSentence:
        if checked.corrected is not None:
            return checked
        if self.policy.fallback == "abstain":
            self.over = True
            return checked.model_copy(update={"replacement": self.policy.abstention})
        gap = checked.text[len(checked.text.rstrip()) :]
        if self.policy.fallback == "quote" and checked.conflict is not None and (words := plain(checked.conflict.text)):
            return checked.model_copy(update={"replacement": f"“{words}”{gap}", "quoted": True})
        if callable(self.policy.fallback):
            replacement = self.policy.fallback(checked)
            if not isinstance(replacement, str | None):
                given = type(replacement).__name__
                raise InputError(f"a fallback returns the text to release, or None, not {given}")
            if replacement is not None:
                end = "" if replacement[-1:].isspace() or not replacement else gap
                return checked.model_copy(update={"replacement": replacement + end})
        return checked

    def result(self) -> GuardResult:
        """The result so far."""
        return GuardResult(
            text="".join(sentence.released_text for sentence in self.sentences),
            answer="".join(sentence.text for sentence in self.sentences),
            sentences=tuple(self.sentences),
            threshold=self.threshold,
            seconds=time.monotonic() - self._started,
        )


def _keeps_names(refused: CheckedSentence) -> bool:
    """Whether a refused sentence was corrected in another detail than a name, for which a pronoun may stand."""
    return refused.corrected is not None and not refused.corrected.now[0].isupper()


def _unscored(sentence: Sentence, verdict: Verdict, reason: str | None, seconds: float = 0.0) -> CheckedSentence:
    """The sentence with a verdict that no score led to, and the reason."""
    text, start, end = sentence.text, sentence.start, sentence.end
    return CheckedSentence(text=text, start=start, end=end, verdict=verdict, reason=reason, seconds=seconds)


def _why(score: Score, found: Sequence[Finding]) -> str:
    """The reason for a reader, without words of the unsupported sentence: the policy may keep them back."""
    told = list(dict.fromkeys(f"there it is “{detail.given.text}”" for detail in found if detail.given))
    told += [] if score.note is None else [score.note]
    aside = f" ({'; '.join(told)})" if told else ""
    is_likely = score.value > 0.5
    if score.conflict is not None:
        said, place = f"the source {'may say' if is_likely else 'says'} otherwise{aside}", score.conflict
    else:
        said = f"the source does not say this{' clearly enough' if is_likely else ''}{aside}"
        if not score.citations:
            return said
        said, place = f"{said}; nearest", score.citations[0]
    return f"{said}: “{shorten(place.text, 200, placeholder=' …')}”"


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, GroundrailError) else f"{type(error).__name__}: {error}"
