"""The claim of a sentence, and the verdict that the score of the claim leads to under a policy."""

import math
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import TypeAlias

from groundrail.errors import GroundrailError
from groundrail.generation.speaking import heard, misquoted
from groundrail.policy import Policy
from groundrail.runtime.deadlines import OverdueError
from groundrail.scoring.base import Score
from groundrail.scoring.findings import derived, findings
from groundrail.text.claims import PART_OF_BLOCK, Asked, Claim, NoClaim, Refused
from groundrail.text.form import SourceText
from groundrail.text.known import Known
from groundrail.text.sentences import Sentence
from groundrail.types import CheckedSentence, Finding, Verdict

ReadClaim: TypeAlias = Callable[..., Claim | NoClaim | Known | Refused]
"""`groundrail.text.claims.read_claim` for one answer, the app's own sentences first: (sentence, the text shown before it,
lead=Sentence.lead, heading=Sentence.heading)."""


_NO_SOURCE = "there is no source text to check against"


class Verdicts:
    """The verdicts on an answer's sentences. They depend on no sentence before.

    read: reads the claim of a sentence.
    source: the documents to check against, as text.
    threshold: the score from which a claim counts as supported.
    """

    def __init__(self, read: ReadClaim, source: SourceText, policy: Policy, threshold: float) -> None:
        self._read, self.source, self.policy, self.threshold = read, source, policy, threshold

    def claim(self, sentence: Sentence, before: str) -> Claim | NoClaim | Known | Refused | Exception:
        """The claim of a sentence with the text shown before it, or the error of the caller's own function."""
        if sentence.of_block:
            return PART_OF_BLOCK
        try:
            return self._read(sentence.text, before, lead=sentence.lead, heading=sentence.heading)
        except Exception as error:
            return error

    def asked(self, claim: object) -> Sequence[Asked]:
        """The texts of a claim that a scorer is asked about: none without a claim, or with nothing to check against."""
        if not isinstance(claim, Claim) or (self.source.is_blank and not self.policy.known):
            return ()
        return claim.asked(by_marks=self.policy.checks_marks)

    def of(
        self,
        sentence: Sentence,
        found: Score | Claim | NoClaim | Known | Refused | Exception,
        seconds: float,
        claim: object = None,
    ) -> CheckedSentence:
        """The sentence with its verdict, and where it is supported, with the places of its quotations first.

        found: the score of its claim, the claim where there is no source, what it has instead of a claim, or an error.
        """
        match found:
            case NoClaim():
                return unscored(sentence, Verdict.NO_CLAIM, None)
            case Refused(reason=reason):
                checked = unscored(sentence, Verdict.UNSUPPORTED, reason)
                return checked.model_copy(update={"findings": misquoted(sentence.text, found, self.source)})
            case Known(text=text):
                return unscored(sentence, Verdict.KNOWN, _vouched(text))
            case Claim():
                return unscored(sentence, Verdict.NO_SOURCE, _NO_SOURCE)
            case OverdueError():
                return unscored(sentence, Verdict.TIMEOUT, f"no verdict: {found}")
            case Exception():
                return unscored(sentence, Verdict.ERROR, _worded(found))
        try:
            speaker = claim.speaker if isinstance(claim, Claim) else ""
            checked = heard(self._scored(sentence, found, seconds), speaker, self.source)
            quoted = claim.quoted if isinstance(claim, Claim) and checked.verdict is Verdict.SUPPORTED else ()
            cited = [self.source.documents[n].cite(start, end, found.value) for n, start, end in quoted]
            others = [each for each in checked.citations if each.place not in {one.place for one in cited}]
            return checked.model_copy(update={"citations": (*cited, *others)}) if cited else checked
        except Exception as error:  # a calibration raised, or the scorer's citations are no citations
            return unscored(sentence, Verdict.ERROR, _worded(error), seconds)

    def _scored(self, sentence: Sentence, score: Score, seconds: float) -> CheckedSentence:
        """The sentence with the verdict that its score leads to."""
        value, threshold = score.weighed(self.threshold, self.policy.calibration)
        if score.known is not None:
            checked = unscored(sentence, Verdict.KNOWN, _vouched(score.known), seconds)
            return checked.model_copy(update={"score": value, "exact": score.exact, "threshold": score.threshold})
        if self.source.is_blank:
            return unscored(sentence, Verdict.NO_SOURCE, _NO_SOURCE)
        if not math.isfinite(value):
            return unscored(sentence, Verdict.ERROR, f"the model gave no score ({value})", seconds)
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


def unscored(sentence: Sentence, verdict: Verdict, reason: str | None, seconds: float = 0.0) -> CheckedSentence:
    """The sentence with a verdict that no score led to, and the reason."""
    text, start, end = sentence.text, sentence.start, sentence.end
    return CheckedSentence(text=text, start=start, end=end, verdict=verdict, reason=reason, seconds=seconds)


def _vouched(known: str) -> str:
    return f"the app itself says “{known.strip()}”"


def _why(score: Score, found: Sequence[Finding]) -> str:
    """The reason for a reader, without words of the unsupported sentence: the policy may keep them back."""
    details = list(dict.fromkeys(f"there it is “{detail.given.text}”" for detail in found if detail.given))
    details += [] if score.note is None else [score.note]
    aside = f" ({'; '.join(details)})" if details else ""
    is_likely = score.value > 0.5
    if score.conflict is not None:
        said, place = f"the source {'may say' if is_likely else 'says'} otherwise{aside}", score.conflict
    else:
        said = f"the source does not say this{' clearly enough' if is_likely else ''}{aside}"
        if not score.citations:
            return said
        said, place = f"{said}; nearest", score.citations[0]
    return f"{said}: “{shorten(place.text, 200, placeholder=' …')}”"


def _worded(error: Exception) -> str:
    return str(error) if isinstance(error, GroundrailError) else f"{type(error).__name__}: {error}"
