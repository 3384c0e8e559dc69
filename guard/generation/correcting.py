"""Correct a refused sentence: exchange one detail for the source's; the loop has the new sentence judged like any other.

`groundrail.generation.exchanges` says which exchanges the source offers.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Self, TypeAlias

from groundrail.facts.corrections import Exchange
from groundrail.generation.exchanges import exchanges
from groundrail.scoring.weighing import log_odds
from groundrail.text.claims import Claim, Refused, opens_list
from groundrail.text.english.language import is_english
from groundrail.text.sentences import Sentence
from groundrail.types import CheckedSentence, Citation, Correction, Document, Verdict

MOST = 6
"""Maximum number of corrections that are judged for one sentence."""

CLOSE = 1.0
"""Log-odds within which two corrections are equally likely, so that neither is released."""

CLEAR = 1.7
"""Log-odds that a correction must gain over the refused sentence by its citation alone; chosen on development sets."""


class Replaced(NamedTuple):
    """The words `was` of a sentence at `start`, exchanged for `now`, and the sentence after that."""

    start: int
    was: str
    now: str
    sentence: Sentence

    @classmethod
    def within(cls, sentence: Sentence, start: int, was: str, now: str) -> Self:
        """The exchange in a sentence that has `was` at `start`."""
        text = f"{sentence.text[:start]}{now}{sentence.text[start + len(was) :]}"
        return cls(start, was, now, replace(sentence, text=text, end=sentence.start + len(text)))

    def made(self, refused: CheckedSentence, judged: CheckedSentence) -> CheckedSentence:
        """The refused sentence, replaced by the one after the exchange if that is supported."""
        if judged.verdict is not Verdict.SUPPORTED:
            return refused
        change = Correction(
            start=self.start, was=self.was, now=self.now, score=judged.score or 0.0, citations=judged.citations
        )
        marks = tuple(mark.model_copy(update={"corrected": mark.elsewhere is not None}) for mark in refused.marks)
        replacement = judged.replacement or judged.text
        return refused.model_copy(update={"replacement": replacement, "corrected": change, "marks": marks})


def quoted_rightly(sentence: Sentence, claim: object) -> Replaced | None:
    """A sentence with the source's words for those that it misquotes, where its Markdown has them once."""
    if not isinstance(claim, Refused) or claim.wording is None or sentence.text.count(claim.wording[0]) != 1:
        return None
    was, now = claim.wording
    is_plain = not set('"“”„«»*_`<>[]|\\') & set(now)
    return Replaced.within(sentence, sentence.text.index(was), was, now) if is_plain else None


class Offer(NamedTuple):
    """An exchange, and whether a cited place offers it; else it is a rival, which corrects nothing."""

    exchange: Exchange
    cited: bool


Tried: TypeAlias = tuple[Offer, CheckedSentence]
"""An offer, and the corrected sentence with its verdict."""


def offered(
    sentence: Sentence, checked: CheckedSentence, claim: object, documents: Sequence[Document]
) -> list[tuple[Offer, Sentence]]:
    """The exchanges that the source offers for a sentence that its score refused, each with the corrected sentence.

    None for a sentence that is not English, or opens a list, whose items were judged together
    with its words.

    claim: the claim of the sentence; where the sentence names no subject, its context does.
    """
    refused = checked.verdict is Verdict.UNSUPPORTED and checked.score is not None
    if not refused or not is_english(sentence.text) or opens_list(sentence.text, sentence.lead):
        return []
    context = claim.context if isinstance(claim, Claim) else ""
    found = exchanges(sentence.text, context, _places(checked), documents)
    offers = [Offer(each, cited) for each, cited in list(found.items())[:MOST]]
    texts = {offer: offer.exchange.applied(sentence.text) for offer in offers}
    return [(offer, replace(sentence, text=text, end=sentence.start + len(text))) for offer, text in texts.items()]


def corrected(refused: CheckedSentence, tried: Sequence[Tried]) -> CheckedSentence:
    """The refused sentence, replaced by the corrected one where exactly one correction is supported.

    It stays as it is if two corrections are about equally likely, if a rival is the likeliest, or if the citation entails
    the refused sentence nearly as well.
    """
    supported = sorted((each for each in tried if each[1].verdict is Verdict.SUPPORTED), key=_likely, reverse=True)
    if not supported or any(_likely(supported[0]) - _likely(other) < CLOSE for other in supported[1:]):
        return refused
    ((start, end, now), cited), judged = supported[0]
    if not cited or not _is_clear(judged, refused):
        return refused
    change = Correction(
        start=start, was=refused.text[start:end], now=now, score=judged.score or 0.0, citations=judged.citations
    )
    return refused.model_copy(update={"replacement": judged.replacement or judged.text, "corrected": change})


def evidence(checked: CheckedSentence) -> str:
    """The source's sentence that the writer of a refused sentence is shown, "" without one."""
    places = _places(checked)
    return " ".join(places[0].text.split()) if places else ""


def _likely(tried: Tried) -> float:
    return log_odds(tried[1].score or 0.0)


def _is_clear(judged: CheckedSentence, refused: CheckedSentence) -> bool:
    """Whether the exchange is why the cited sentence now entails it; True if that sentence was not cited before."""
    said = {c.place: c.score for c in refused.citations}
    gains = [log_odds(c.score) - log_odds(said.get(c.place, 0.0)) for c in judged.citations[:1]]
    return all(gain >= CLEAR for gain in gains)


def _places(checked: CheckedSentence) -> list[Citation]:
    """The place that contradicts a sentence, then its nearest places."""
    return [*([] if checked.conflict is None else [checked.conflict]), *checked.citations]
