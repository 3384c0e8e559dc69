"""Correct a refused sentence: exchange one detail for the source's, and have the new sentence judged like any other.

`groundrail.text.facts.corrections` says which exchanges a source sentence offers.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from groundrail.generation.steps import Step
from groundrail.generation.verdicts import Answer
from groundrail.scoring.weighing import log_odds
from groundrail.text.claims import opens_list
from groundrail.text.english.language import is_english
from groundrail.text.facts import corrections
from groundrail.text.sentences import Sentence
from groundrail.types import CheckedSentence, Citation, Correction, Verdict

MOST = 6
"""Maximum number of corrections that are judged for one sentence."""

CLOSE = 1.0
"""Log-odds within which two corrections are equally likely, so that neither is released."""

CLEAR = 1.7
"""Log-odds that a correction must gain over the refused sentence by its citation alone; chosen on development sets."""


class _Tried(NamedTuple):
    correction: corrections.Correction
    checked: CheckedSentence

    @property
    def likely(self) -> float:
        return log_odds(self.checked.score or 0.0)


def corrected(
    answer: Answer, sentence: Sentence, checked: CheckedSentence, since: float
) -> Generator[Step, Any, CheckedSentence]:
    """Put the corrected sentence in the place of a sentence that its score refused, where one correction is supported.

    A sentence stays as it is if two corrections are about equally likely, if the citation entails the refused sentence
    nearly as well, if it is not English, and if it opens a list, whose items were judged together with its words.

    since: when the deadline of the sentence began to run, by `time.monotonic`.
    """
    scored = checked.verdict is Verdict.UNSUPPORTED and checked.score is not None
    wanted = answer.policy.fallback == "correct" and scored and is_english(sentence.text)
    if not wanted or opens_list(sentence.text, sentence.lead):
        return checked
    supported = []
    for each in _offered(sentence.text, _places(checked)):
        text = each.applied(sentence.text)
        other = replace(sentence, text=text, end=sentence.start + len(text))
        (judged,) = yield from answer.judged([other], since)
        judged = answer.in_place(other, judged)
        if judged.verdict is Verdict.SUPPORTED:
            supported.append(_Tried(each, judged))
    supported.sort(key=lambda tried: -tried.likely)
    if not supported or any(supported[0].likely - other.likely < CLOSE for other in supported[1:]):
        return checked
    (start, end, now), judged = supported[0]
    if not _is_clear(judged, checked):
        return checked
    change = Correction(
        start=start, was=sentence.text[start:end], now=now, score=judged.score or 0.0, citations=judged.citations
    )
    return checked.model_copy(update={"replacement": judged.replacement or judged.text, "corrected": change})


def _is_clear(judged: CheckedSentence, refused: CheckedSentence) -> bool:
    """Whether the exchange is why the cited sentence now entails it; True if that sentence was not cited before."""
    said = {(c.document_id, c.start): c.score for c in refused.citations}
    gains = [log_odds(c.score) - log_odds(said.get((c.document_id, c.start), 0.0)) for c in judged.citations[:1]]
    return all(gain >= CLEAR for gain in gains)


def evidence(answer: Answer, checked: CheckedSentence) -> str:
    """The source's sentence that the writer of a refused sentence is shown, "" under other fallbacks."""
    places = _places(checked) if answer.policy.fallback == "correct" else []
    return " ".join(places[0].text.split()) if places else ""


def _places(checked: CheckedSentence) -> list[Citation]:
    """The place that contradicts a sentence, then its nearest places."""
    return [*([] if checked.conflict is None else [checked.conflict]), *checked.citations]


def _offered(text: str, places: Sequence[Citation]) -> Sequence[corrections.Correction]:
    """The corrections by these places, each once."""
    return list(dict.fromkeys(each for place in places for each in corrections.corrections(text, place.text)))[:MOST]
