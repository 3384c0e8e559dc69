"""Verdicts on the answer's own marks of documents, and a mark of the wrong document exchanged.

`groundrail.text.marks` finds marks and says which part of a sentence each stands behind.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import shorten
from typing import NamedTuple

from groundrail.generation.correcting import Replaced
from groundrail.text.claims import Claim
from groundrail.text.form import SourceText
from groundrail.text.marks import Mark
from groundrail.text.sentences import Sentence
from groundrail.types import CheckedMark, CheckedSentence, Citation, Verdict


class Wanting(NamedTuple):
    """A part of a sentence that the documents named behind it do not support.

    place: the number of the sentence and of its part.
    others: the places of the documents that are not named.
    """

    place: tuple[int, int]
    text: str
    others: tuple[int, ...]


def wanting(claims: Sequence[object], parts: Sequence[Sequence[CheckedSentence]], documents: int) -> list[Wanting]:
    """The parts of sentences, with their verdicts, that the named ones of so many documents do not support."""
    return [
        Wanting((number, part), text, tuple(place for place in range(documents) if place not in named))
        for number, (claim, checked) in enumerate(zip(claims, parts, strict=True))
        if isinstance(claim, Claim) and claim.parts
        for part, ((text, named, _), each) in enumerate(zip(claim.asked(by_marks=True), checked, strict=False))
        if named and each.verdict is Verdict.UNSUPPORTED and len(named) < documents
    ]


def with_marks(
    claim: object, parts: Sequence[CheckedSentence], elsewhere: Mapping[int, CheckedSentence], source: SourceText
) -> list[CheckedSentence]:
    """The parts of a sentence with their marks, and with the document that supports a part that the named ones do not.

    elsewhere: the number of a part -> its verdict against the documents that are not named.
    """
    if not isinstance(claim, Claim) or not claim.parts:
        return list(parts)
    found = []
    for number, checked in enumerate(parts):
        marks = [mark for mark, part in claim.marks if part == number]
        place = next(iter(elsewhere[number].citations), None) if number in elsewhere else None
        if number in elsewhere:
            reason = _why(checked.text, marks, claim.parts[number][1], place, source)
            # what differs from the named documents does not differ from the source
            told_apart = {"reason": reason, "citations": elsewhere[number].citations, "conflict": None, "findings": ()}
            checked = checked.model_copy(update=told_apart)
        seen = tuple(_checked(mark, checked, place, source) for mark in marks)
        found.append(checked.model_copy(update={"marks": seen}))
    return found


def exchange(sentence: Sentence, checked: CheckedSentence, source: SourceText) -> Replaced | None:
    """The exchange of the only wrong mark of a sentence, or of marks side by side; None where another detail is wrong."""
    wrong = [mark for mark in checked.marks if mark.verdict is not Verdict.SUPPORTED]
    if not wrong or any(mark.elsewhere is None for mark in wrong):
        return None
    text, start, end = sentence.text, wrong[0].start, wrong[-1].end
    apart = any(text[one.end : other.start].strip() for one, other in pairwise(wrong))
    ids = [document.id for document in source.documents]
    places = {ids.index(mark.elsewhere.document_id) for mark in wrong if mark.elsewhere is not None}
    if apart or len(places) != 1:
        return None
    (place,) = places
    now = source.naming.exchanged(text[start : wrong[0].end], [ids.index(each) for each in wrong[0].documents], place)
    if now is None:
        return None
    exchanged = Replaced.within(sentence, start, text[start:end], now)
    other = exchanged.sentence.text
    marks = (mark for mark in source.marks(other, other) if mark.start <= start < mark.end)
    return exchanged if any(mark.documents == (place,) for mark in marks) else None


def _checked(mark: Mark, part: CheckedSentence, place: Citation | None, source: SourceText) -> CheckedMark:
    named = tuple(source.documents[document].id for document in mark.documents)
    written = part.text[mark.start : mark.end]
    start = mark.start + len(written) - len(written.lstrip(" \t\n,"))
    end = mark.end - (len(written) - len(written.rstrip()))
    now = _exchanged(part.text[start:end], mark.documents, place, source) if place is not None else None
    return CheckedMark(start=start, end=end, documents=named, verdict=part.verdict, elsewhere=place, now=now or "")


def _exchanged(mark: str, named: Sequence[int], place: Citation, source: SourceText) -> str | None:
    """The mark with the document of a place for the named ones; None if that cannot be written."""
    ids = [document.id for document in source.documents]
    return source.naming.exchanged(mark, named, ids.index(place.document_id))


def _why(sentence: str, marks: Sequence[Mark], named: Sequence[int], place: Citation | None, source: SourceText) -> str:
    """The reason for a reader, with the documents as the sentence names them."""
    written = " ".join(sentence[mark.start : mark.end] for mark in marks)
    ids = [document.id for document in source.documents]
    not_there = " and ".join(source.naming.label(each, written) for each in named)
    does_not = "does not say this" if len(named) == 1 else "do not say this"
    if place is None:
        return f"{not_there} {does_not}; another document does"
    there = source.naming.label(ids.index(place.document_id), written)
    return f"{not_there} {does_not}; {there} does: “{shorten(place.text, 200, placeholder=' …')}”"
