"""Words for a sentence's verdict, and the places in the source that support or contradict the sentence.

All views use these words; each view sets the appearance.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple

from groundrail.types import Attempt, CheckedSentence, Citation, Verdict

Stance = Literal["for", "against", "near"]

_QUOTATION = re.compile(r"\s*[:;]\s*(?:nearest:\s*)?“.*”$", re.DOTALL)
_LABELS = {
    Verdict.SUPPORTED: "Supported",
    Verdict.KNOWN: "Known to the app",
    Verdict.UNSUPPORTED: "Not supported",
    Verdict.NO_CLAIM: "Nothing to check",
    Verdict.NO_SOURCE: "No source to check against",
    Verdict.ERROR: "Could not be checked",
    Verdict.TIMEOUT: "Not checked in time",
}
STANCES: dict[Stance, str] = {
    "for": "The source says",
    "against": "The source says otherwise",
    "near": "Nearest in the source",
}


class Passage(NamedTuple):
    """A place in the source with its stance: it supports or contradicts the sentence, or is only near."""

    stance: Stance
    citation: Citation


def passages(sentence: CheckedSentence) -> list[Passage]:
    """The places in the source: a contradicting place first, then supporting places, or the nearest ones."""
    change = sentence.corrected
    stance: Stance = "for" if change or sentence.verdict is Verdict.SUPPORTED else "near"
    cited = change.citations if change else sentence.citations
    against = [sentence.conflict] if sentence.conflict is not None else []
    others = [Passage(stance, c) for c in cited if c.place not in {other.place for other in against}]
    return [*(Passage("against", c) for c in against), *others]


def computations(sentence: CheckedSentence) -> list[str]:
    """The figures that follow from the source, each with its computation: "4,350 euros = 3 months x 1,450 euros"."""
    return [f"{sentence.text[f.start : f.end]} = {f.derived.computation}" for f in sentence.findings if f.derived]


class Piece(NamedTuple):
    """A piece of a sentence; `is_wrong` for a mark, a quotation or a speaker that is not the source's, `now` in its place."""

    text: str
    is_wrong: bool = False
    now: str = ""


def pieces(sentence: CheckedSentence) -> list[Piece]:
    """The text of a sentence without white space at its end, cut around its wrong marks, quotations and speakers.

    A mark is wrong if another document supports the words before it.
    """
    marks = [(mark.start, mark.end, mark.now) for mark in sentence.marks if mark.elsewhere is not None]
    found = [each for each in sentence.findings if each.kind in ("quotation", "speaker")]
    wrong = sorted([*marks, *((each.start, each.end, each.given.text if each.given else "") for each in found)])
    text, cut, at = sentence.text.rstrip(), list[Piece](), 0
    for start, end, now in wrong:
        if start >= at:
            cut += [Piece(text[at:start]), Piece(text[start:end], True, now)]
            at = end
    return [each for each in (*cut, Piece(text[at:])) if each.text]


def correction(sentence: CheckedSentence) -> str:
    """The detail that was exchanged: "1,450 euros, not 1,650 euros"; empty if none was."""
    change = sentence.corrected
    return "" if change is None else ", not ".join(filter(None, (change.now, change.was)))


def ways(sentence: CheckedSentence) -> list[str]:
    """How the search came to each citation: "chunk 3 of 9 (0.91), then 4 sentences (0.94), then this sentence (0.97)"."""
    steps = [[*((s.name, s.score) for s in c.path), ("this sentence", c.score)] for c in sentence.citations if c.path]
    return [", then ".join(f"{name} ({score:.2f})" for name, score in way) for way in steps]


def refused_attempts(sentence: CheckedSentence) -> tuple[Attempt, ...]:
    """The tries before this one."""
    return sentence.attempts[:-1]


def label(verdict: Verdict) -> str:
    """A verdict in words, as "Not supported"."""
    return _LABELS[verdict]


def fate(sentence: CheckedSentence) -> str:
    """The fate of a sentence: "released", "held back", "replaced" or "corrected"."""
    if sentence.corrected is not None:
        return "corrected"
    if sentence.replacement is not None:
        return "replaced"
    return "released" if sentence.released else "held back"


def why(reason: str | None) -> str:
    """A reason without the passage it quotes, for views that show the passage in full."""
    return _QUOTATION.sub("", reason or "")


def leading_to(sentence: CheckedSentence, place: Passage) -> str:
    """The reason and the stance of the place, as words before a quotation; nothing is said twice."""
    reason, label = why(sentence.reason), "nearest" if place.stance == "near" else STANCES[place.stance].lower()
    return reason if reason.lower().startswith(label) else "; ".join(part for part in (reason, label) if part)


def kinds(sentences: Iterable[CheckedSentence]) -> Counter[tuple[Verdict, str]]:
    """Number of sentences for each verdict and fate, in order of first appearance."""
    return Counter((sentence.verdict, fate(sentence)) for sentence in sentences)
