"""One answer as a reader sees it: the text that is released for each sentence, and where a verdict meets that text."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from groundrail.errors import GenerationError, InputError, UncheckableError, UnsupportedError
from groundrail.generation.verdicts import Verdicts, unscored
from groundrail.runtime.deadlines import OverdueError
from groundrail.text.claims import Claim, needs_lead, opens_list
from groundrail.text.ends import heading_of
from groundrail.text.english.phrases import depends_on_sentence
from groundrail.text.marks import without
from groundrail.text.rendering.rendered import RenderedAnswer
from groundrail.text.rendering.visible import plain
from groundrail.text.sentences import Sentence
from groundrail.types import Attempt, CheckedSentence, GuardResult, Verdict


class Answer:
    """The sentences of one answer so far, and the text that is shown for them.

    shown: the text that a reader saw last.
    over: whether nothing of the answer is shown any more.
    """

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts, self.policy = verdicts, verdicts.policy
        self.sentences: list[CheckedSentence] = []
        self.length = 0
        self.shown = ""
        self.over = False
        self._lead = ""  # the lead of the list that a reader saw last
        self._withheld = set[str]()  # the headings that were not released
        self._gap = ""  # the line break of refused sentences, which the next text needs before it
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

    def claims_otherwise(self, sentence: Sentence, previous: str) -> bool:
        """Whether the claim of a sentence changes if the released text stands before it, not `previous`."""
        return self.verdicts.claim(sentence, previous) != self.verdicts.claim(sentence, self.shown)

    def _holds_sentence_before(self, sentence: Sentence) -> bool:
        """Whether the claim of a sentence has the words of the text shown before it, and not only as its context."""
        alone, behind = (self.verdicts.claim(sentence, previous) for previous in ("", self.shown))
        return isinstance(alone, Claim) and isinstance(behind, Claim) and alone.text != behind.text

    def _needs_heading(self, sentence: Sentence) -> bool:
        """Whether the claim of a sentence changes without the heading above it, which was not released."""
        if sentence.heading not in self._withheld or heading_of(sentence.text):
            return False
        bare = replace(sentence, heading="")
        return self.verdicts.claim(sentence, self.shown) != self.verdicts.claim(bare, self.shown)

    def interrupted(self, sentence: Sentence, error: Exception) -> CheckedSentence:
        """The text that a failed generator left undecided. Raises: GenerationError under the fallback "raise"."""
        if isinstance(error, OverdueError):
            checked = unscored(sentence, Verdict.TIMEOUT, "the generator did not write on in time")
        else:
            failed = "" if isinstance(error, GenerationError) else f"the generator failed: {type(error).__name__}: "
            checked = unscored(sentence, Verdict.ERROR, f"{failed}{error}")
        if self.policy.fallback == "raise":
            before, kept = self.result(), self.policy.keep_refused
            reason = checked.reason if kept else f"the generator failed ({type(error).__name__})"
            raise GenerationError(f"{reason}; released before: {before.text!r}", before) from (error if kept else None)
        return checked

    def in_place(self, sentence: Sentence, checked: CheckedSentence) -> CheckedSentence:
        """A sentence as it is read after the text that was released.

        If the lead-in of a list was dropped, put it back before the first item that is released. A pronoun is
        unsupported without the sentence before it, unless it was judged together with the sentence released before. So is
        a sentence that was judged under a heading that was not released.
        Nothing goes out after which readers of rendered Markdown would see other words than were judged.
        """
        if checked.verdict in (Verdict.SUPPORTED, Verdict.UNSUPPORTED) and not self.policy.refuses(checked):
            checked = self._with_context(sentence, checked)
        if self.policy.marks == "strip" and self.policy.releases(checked):
            checked = self._without_marks(checked)
        if self.policy.releases(checked) and not self.policy.refuses(checked):
            try:
                self._rendered.refuse_difference(self._gap + (checked.replacement or checked.text))
            except UncheckableError as error:
                return unscored(sentence, Verdict.UNSUPPORTED, str(error), checked.seconds)
        return checked

    def _with_context(self, sentence: Sentence, checked: CheckedSentence) -> CheckedSentence:
        """A supported sentence with the lead that it needs, or unsupported without the words before that it needs."""
        text, lead = sentence.text, sentence.lead
        if self._needs_heading(sentence):
            reason = "it stands under a heading that was not released"
            return unscored(sentence, Verdict.UNSUPPORTED, reason, checked.seconds)
        if lead != self._lead and not opens_list(text, lead) and needs_lead(text, lead):
            return checked.model_copy(update={"replacement": f"{lead}\n{text}"})
        before = next((each for each in reversed(self.sentences) if each.verdict is not Verdict.NO_CLAIM), None)
        is_lost = before is not None and not (before.released or _keeps_names(before))
        if is_lost and depends_on_sentence(text) and not self._holds_sentence_before(sentence):
            reason = "it opens with a pronoun, and the sentence before it was not released"
            return unscored(sentence, Verdict.UNSUPPORTED, reason, checked.seconds)
        return checked

    def _without_marks(self, checked: CheckedSentence) -> CheckedSentence:
        written = checked.replacement or checked.text
        bare = without(written, self.verdicts.source.marks(written, written))
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
        released = self.policy.releases(checked)
        tries = [*map(self._kept, refused), checked if released else self._kept(checked)]
        attempts = tuple(Attempt.model_validate(each, from_attributes=True) for each in tries)
        checked = checked.model_copy(
            update={"attempts": attempts, "released": released, "seconds": sum(a.seconds for a in attempts)}
        )
        if opens_list(checked.text, lead):
            self._lead = ""
        if heading := heading_of(checked.text):
            (self._withheld.discard if released else self._withheld.add)(heading)
        written = checked.text
        if not released:
            checked = self._kept(self._fall_back(checked))
        if shown := checked.released_text:
            checked = checked.model_copy(update={"gap": self._gap})
            self.shown, self._gap = shown, ""
            self._lead = lead if released and opens_list(shown, lead) else self._lead
        elif self.shown.strip():
            self._gap = max(self._gap, "\n" * (_breaks(written) - _breaks(self.shown)), key=len)
        elif written.rstrip(" ").endswith("\n"):
            self.shown = self.shown or "\n"
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
            threshold=self.verdicts.threshold,
            seconds=time.monotonic() - self._started,
        )


def _breaks(text: str) -> int:
    """The number of line breaks at the end of a text: two end a paragraph."""
    return text[len(text.rstrip()) :].count("\n")


def _keeps_names(refused: CheckedSentence) -> bool:
    """Whether a refused sentence was corrected in another detail than a name, for which a pronoun may stand."""
    return refused.corrected is not None and not refused.corrected.now[0].isupper()
