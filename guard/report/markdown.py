"""Render a result as Markdown: the released text with footnotes or numbered marks, and on request refused sentences."""

import re
from collections.abc import Iterator
from itertools import count

from groundrail.report import telling
from groundrail.types import CheckedSentence, Citation, GuardResult

_FOOTNOTE = re.compile(r"\[\^")
_BRACKETED = re.compile(r"[\[【][^\[\]【】\n]*[\]】]")
_NUMBER = re.compile(r"[0-9]+")
_LONGEST_MARK = 3
"""Maximum number of digits of a mark; a longer number in brackets is a year or an amount."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def render(result: GuardResult, *, held_back: bool = False, marks: bool = False) -> str:
    """Render the released text with a footnote mark behind each sentence, then the footnotes.

    The footnote of a sentence that was released without support says so. `held_back` adds a list of the sentences that
    were not released, each with the reason and the contradicting or nearest place in the source. `marks` writes plain
    marks, "[1]", behind supported sentences only, and a list of references in place of the footnotes. The text keeps its
    own marks; the numbers continue after theirs.
    """
    refused = "\n".join(_held_back(result)) if held_back else ""
    free = _free_numbers(f"{result.text}\n{result.answer}\n{refused}", result) if marks else count(1)
    numbers: dict[str, int] = {}
    body, marked = "", False
    for sentence in result.sentences:
        text = sentence.released_text if marks else _FOOTNOTE.sub(r"\\[^", sentence.released_text)
        bare = text.rstrip()
        notes = [_reference(c) for c in sentence.supporting] if marks else _notes(sentence)
        written = ""
        for note in dict.fromkeys(notes if bare or not marks else ()):
            if note not in numbers:
                numbers[note] = next(free)
            written += f"[{numbers[note]}]" if marks else f"[^{numbers[note]}]"
        fence = written and bare.endswith(("```", "~~~"))  # a fence must end its line
        apart = "\n\n" if fence else " " if written and marks else ""
        if marked and text.startswith("("):
            body = body[:-1] + "\\]"  # else the mark and the words in brackets are a link
        body += bare + apart + (written if bare else "") + text[len(bare) :]
        marked = bool(marks and written and bare == text) or (marked and not text)
    if marks:
        listed = "\n".join(f"- [{number}] {note}" for note, number in numbers.items())
        notes_below = f"**References**\n\n{listed}" if listed else ""
    else:
        notes_below = "\n".join(f"[^{number}]: {note}" for note, number in numbers.items())
    parts = [body.rstrip(), f"**Held back**\n\n{refused}" if refused else "", notes_below]
    return "\n\n".join(part for part in parts if part) + "\n"


def _free_numbers(text: str, result: GuardResult) -> Iterator[int]:
    """The numbers after the highest number of a mark in the text."""
    own = [sentence.text[mark.start : mark.end] for sentence in result.sentences for mark in sentence.marks]
    taken = [each for written in [*_BRACKETED.findall(text), *own] for each in _NUMBER.findall(written)]
    highest = max((int(each) for each in taken if len(each) <= _LONGEST_MARK), default=0)
    return (number for number in count(highest + 1) if str(number) not in taken)


def _reference(citation: Citation) -> str:
    return f"{_where(citation)[1:-1]}: “{_escaped(citation.text)}”"


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
    return (
        f"{_escaped(telling.leading_to(sentence, place))}: “{_escaped(place.citation.text)}” {_where(place.citation)}"
    )


def _where(citation: Citation) -> str:
    where = _escaped(citation.where)
    return f"([{where}](<{citation.link}>))" if citation.link else f"({where})"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
