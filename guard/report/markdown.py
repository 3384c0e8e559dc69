"""A result as Markdown: the released text with numbered footnotes, and on request the refused sentences and why."""

import re
from collections.abc import Iterator

from groundrail.report import telling
from groundrail.types import CheckedSentence, Citation, GuardResult, Verdict

_MARK = re.compile(r"\[\^")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def render(result: GuardResult, *, held_back: bool = False) -> str:
    """Released text, footnote marks before each sentence's trailing space, then the footnotes.

    A sentence that was released without support has a footnote that says so. `held_back` adds a list of what was not
    released, with the reason and the place in the source that says otherwise or is nearest.
    """
    numbers: dict[str, int] = {}
    body = []
    for sentence in result.sentences:
        text = _MARK.sub(r"\\[^", sentence.released_text)
        notes = [numbers.setdefault(note, len(numbers) + 1) for note in _notes(sentence)]
        marks = "".join(f"[^{number}]" for number in notes)
        bare = text.rstrip()
        apart = "\n\n" if marks and bare.endswith(("```", "~~~")) else ""  # a fence ends its line
        body.append(bare + apart + (marks if bare else "") + text[len(bare) :])
    footnotes = "\n".join(f"[^{number}]: {note}" for note, number in numbers.items())
    refused = "\n".join(_held_back(result)) if held_back else ""
    parts = ["".join(body).rstrip(), f"**Held back**\n\n{refused}" if refused else "", footnotes]
    return "\n\n".join(part for part in parts if part) + "\n"


def _notes(sentence: CheckedSentence) -> list[str]:
    """The footnotes of a released sentence."""
    if not sentence.released or sentence.verdict in (Verdict.SUPPORTED, Verdict.NO_CLAIM):
        return [f"{_escaped(c.text)} {_where(c)}" for c in sentence.supporting]
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
    """Struck out, with a space behind; nothing for no text, whose tildes would open a fence."""
    return f"~~{_escaped(text)}~~ " if text.strip() else ""


def _reason(sentence: CheckedSentence) -> str:
    """Why, with the deciding place in full."""
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
