"""A supported sentence whose speaker does not speak in the cited passage becomes unsupported.

`groundrail.text.attributions` finds speakers in sentences and in texts.
"""

from textwrap import shorten

from groundrail.text.attributions import Speaker
from groundrail.text.ends import heading_of
from groundrail.text.english.words import DETERMINERS
from groundrail.text.form import SourceText
from groundrail.types import CheckedSentence, Citation, Document, Finding, Verdict

_ABOVE = 20_000
"""Characters before a passage in which its heading is looked for."""


def heard(checked: CheckedSentence, speaker: str, source: SourceText) -> CheckedSentence:
    """The sentence, unsupported if `speaker` ("" for none) speaks in none of the places that support it."""
    if not speaker or checked.verdict is not Verdict.SUPPORTED or not checked.citations:
        return checked
    documents = {document.id: document for document in source.documents}
    voices = {
        name: Speaker(speaker, documents[name].text) for name in {cited.document_id for cited in checked.citations}
    }
    if any(
        voices[cited.document_id].speaks(cited.start, cited.end, _above(documents[cited.document_id], cited))
        for cited in checked.citations
    ):
        return checked
    start = checked.text.find(speaker)
    found = (Finding(kind="speaker", start=start, end=start + len(speaker)),) if start >= 0 else ()
    named = speaker[0].lower() + speaker[1:] if speaker.split()[0].lower() in DETERMINERS else speaker
    place = shorten(checked.citations[0].text, 200, placeholder=" …")
    reason = f"the source does not say that {named} says this: “{place}”"
    return checked.model_copy(
        update={"verdict": Verdict.UNSUPPORTED, "reason": reason, "findings": (*found, *checked.findings)}
    )


def _above(document: Document, cited: Citation) -> str:
    """The title of a document, its id, and the heading above a place."""
    lines = document.text[max(0, cited.start - _ABOVE) : cited.start].splitlines()
    heading = next(filter(None, (heading_of(f"{line}\n") for line in reversed(lines))), "")
    return " ".join([str(document.metadata.get("title") or ""), document.id, heading])
