"""Render a result as Markdown: the released text with footnotes or numbered marks, and on request refused sentences."""

import re
from collections.abc import Iterable, Iterator

from groundrail.generation.numbering import Numbering, Reference
from groundrail.report import telling
from groundrail.types import CheckedSentence, Citation, GuardResult

_FOOTNOTE = re.compile(r"\[\^")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def render(result: GuardResult, *, held_back: bool = False, marks: bool = False) -> str:
    """Render the released text with a footnote mark behind each sentence, then the footnotes.

    The footnote of a sentence that was released without support says so. `held_back` adds a list of the sentences that
    were not released, each with the reason and the contradicting or nearest place in the source. `marks` writes plain
    marks, "[1]", behind supported sentences only, and a list of references in place of the footnotes. The text keeps its
    own marks; the numbers continue after theirs.
    """
    refused = "\n".join(_held_back(result)) if held_back else ""
    body, below = _with_marks(result, refused) if marks else _with_footnotes(result)
    parts = [body.rstrip(), f"**Held back**\n\n{refused}" if refused else "", below]
    return "\n\n".join(part for part in parts if part) + "\n"


def references(found: Iterable[Reference]) -> str:
    """A list of references as Markdown, with a headline; empty if there are none."""
    listed = [f"- [{number}] {_where(place)[1:-1]}: “{_escaped(place.text)}”" for number, place in found]
    return "\n".join(["**References**", "", *listed]) if listed else ""


def _with_marks(result: GuardResult, refused: str) -> tuple[str, str]:
    own = (sentence.text[mark.start : mark.end] for sentence in result.sentences for mark in sentence.marks)
    numbering = Numbering([result.text, refused], own)
    body = "".join(map(numbering.marked, result.sentences))
    return body, references(numbering.references)


def _with_footnotes(result: GuardResult) -> tuple[str, str]:
    numbers: dict[str, int] = {}
    body = ""
    for sentence in result.sentences:
        text = _FOOTNOTE.sub(r"\\[^", sentence.released_text)
        bare = text.rstrip()
        notes = dict.fromkeys(_notes(sentence))
        written = "".join(f"[^{numbers.setdefault(note, len(numbers) + 1)}]" for note in notes)
        fence = "\n\n" if written and bare.endswith(("```", "~~~")) else ""  # a fence must end its line
        body += bare + fence + (written if bare else "") + text[len(bare) :]
    return body, "\n".join(f"[^{number}]: {note}" for note, number in numbers.items())


def _notes(sentence: CheckedSentence) -> list[str]:
    """The footnotes of a released sentence."""
    changed = f"Corrected: {_escaped(telling.correction(sentence))}. " if sentence.corrected else ""
    if not sentence.flagged:
        return [f"{changed}{_escaped(c.text)} {_where(c)}" for c in sentence.supporting]
    return [f"{telling.label(sentence.verdict)}: {_reason(sentence)}"]


def _held_back(result: GuardResult) -> Iterator[str]:
    for sentence in result.sentences:
        for attempt in telling.refused_attempts(sentence):
            yield f"- {_struck(attempt.text)}(refused before: {_escaped(attempt.reason or '')})"
        if not sentence.released:
            score = "" if sentence.score is None else f", {sentence.score:.2f}"
            label = telling.label(sentence.verdict).lower()
            yield f"- {_struck(sentence.text)}({label}{score}): {_reason(sentence)}"


def _struck(text: str) -> str:
    """Strike the text out and add a space; empty text stays empty, because tildes alone would open a fence."""
    return f"~~{_escaped(text)}~~ " if text.strip() else ""


def _reason(sentence: CheckedSentence) -> str:
    """The reason, with the full text of the deciding place."""
    places = telling.passages(sentence)
    if not places:
        return _escaped(sentence.reason or "")
    place = places[0]
    return f"{_escaped(telling.leading_to(sentence, place))}: “{_escaped(place.citation.text)}” {_where(place.citation)}"


def _where(citation: Citation) -> str:
    where = _escaped(citation.where)
    return f"([{where}](<{citation.link}>))" if citation.link else f"({where})"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
