"""Render a result as Markdown: the released text with footnotes, and on request refused sentences with reasons."""

import re
from collections.abc import Iterator

from groundrail.report import telling
from groundrail.types import CheckedSentence, Citation, GuardResult, Verdict

_MARK = re.compile(r"\[\^")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def render(result: GuardResult, *, held_back: bool = False) -> str:
    """Render the released text with a footnote mark behind each sentence, then the footnotes.

    The footnote of a sentence that was released without support says so. `held_back` adds a list of the sentences that
    were not released, each with the reason and the contradicting or nearest place in the source.
    """
    numbers: dict[str, int] = {}
    body = []
    for sentence in result.sentences:
        text = _MARK.sub(r"\\[^", sentence.released_text)
        notes = [numbers.setdefault(note, len(numbers) + 1) for note in _notes(sentence)]
        marks = "".join(f"[^{number}]" for number in notes)
        bare = text.rstrip()
        apart = "\n\n" if marks and bare.endswith(("```", "~~~")) else ""  # a fence must end its line
        body.append(bare + apart + (marks if bare else "") + text[len(bare) :])
    footnotes = "\n".join(f"[^{number}]: {note}" for note, number in numbers.items())
    refused = "\n".join(_held_back(result)) if held_back else ""
    parts = ["".join(body).rstrip(), f"**Held back**\n\n{refused}" if refused else "", footnotes]
    return "\n\n".join(part for part in parts if part) + "\n"


def _notes(sentence: CheckedSentence) -> list[str]:
    """The footnotes of a released sentence."""
    changed = f"Corrected: {_escaped(telling.correction(sentence))}. " if sentence.corrected else ""
    if not sentence.released or sentence.verdict in (Verdict.SUPPORTED, Verdict.NO_CLAIM):
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
    return (
        f"{_escaped(telling.leading_to(sentence, place))}: “{_escaped(place.citation.text)}” {_where(place.citation)}"
    )


def _where(citation: Citation) -> str:
    where = _escaped(citation.where)
    return f"([{where}](<{citation.link}>))" if citation.link else f"({where})"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
