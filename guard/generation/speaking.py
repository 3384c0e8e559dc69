"""Wrong speakers and wrong quotations of a sentence: a verdict on the speakers, and findings that show both.

`groundrail.text.attributions` finds speakers in sentences and in texts, `groundrail.text.quotations` quotations.
"""

from textwrap import shorten

from groundrail.text.attributions import Speaker, role
from groundrail.text.claims import Refused
from groundrail.text.ends import heading_of
from groundrail.text.english.words import DETERMINERS
from groundrail.text.form import SourceText
from groundrail.types import CheckedSentence, Citation, Detail, Document, Finding, Verdict

_AROUND = 50_000
"""Characters before and behind a passage in which its speaker and its heading are looked for."""


def heard(checked: CheckedSentence, speaker: str, source: SourceText) -> CheckedSentence:
    """The sentence, unsupported if `speaker` ("" for none) speaks in none of the places that support it.

    It then has no score, as other sentences that a rule refuses: no threshold would release it.
    """
    if not speaker or checked.verdict is not Verdict.SUPPORTED or not checked.citations:
        return checked
    documents = {document.id: document for document in source.documents}
    is_elsewhere = len(documents) > 1 and source.holds(role(speaker))
    for cited in checked.citations:
        document, first = documents[cited.document_id], max(0, cited.start - _AROUND)
        voice = Speaker(speaker, document.text[first : cited.end + _AROUND], is_elsewhere=is_elsewhere)
        if voice.speaks(cited.start - first, cited.end - first, _above(document, cited)):
            return checked
    named = speaker[0].lower() + speaker[1:] if speaker.split()[0].lower() in DETERMINERS else speaker
    place = shorten(checked.citations[0].text, 200, placeholder=" …")
    reason = f"the source does not say that {named} says this: “{place}”"
    return checked.model_copy(
        update={
            "verdict": Verdict.UNSUPPORTED,
            "score": None,
            "reason": reason,
            "findings": (*_found("speaker", speaker, checked.text), *checked.findings),
        }
    )


def misquoted(sentence: str, refused: Refused, source: SourceText) -> tuple[Finding, ...]:
    """The quotation for which a sentence was refused, with the wording that it meant where that is known."""
    given = None
    if refused.place is not None:
        document, (_, start, end) = source.documents[refused.place.document], refused.place
        given = Detail(document_id=document.id, start=start, end=end, text=document.text[start:end])
    return _found("quotation", refused.misquoted, sentence, given)


def _found(kind: str, words: str, sentence: str, given: Detail | None = None) -> tuple[Finding, ...]:
    """The finding of words in a sentence; none where its Markdown has them otherwise."""
    start = sentence.find(words) if words else -1
    return (Finding(kind=kind, start=start, end=start + len(words), given=given),) if start >= 0 else ()


def _above(document: Document, cited: Citation) -> str:
    """The title of a document, its id, and the heading above a place."""
    lines = document.text[max(0, cited.start - _AROUND) : cited.start].splitlines()
    heading = next(filter(None, (heading_of(f"{line}\n") for line in reversed(lines))), "")
    return " ".join([str(document.metadata.get("title") or ""), document.id, heading])
