"""A result in the terminal: one line a sentence, with the reason of a refusal and the place in the source that decided.

Every line begins with the mark of its sentence, in colour or not, so that no text can draw a line that looks
like another verdict. What is said of a sentence comes from `groundrail.report.telling`.
"""

from collections.abc import Sequence
from textwrap import shorten

from rich.console import Console
from rich.text import Text

from groundrail.objects.results import ObjectResult
from groundrail.report import telling
from groundrail.report.hidden import plain
from groundrail.types import CheckedSentence, GuardResult, Verdict

_LEGEND = {
    "✓": "released, the source supports it",
    "·": "released, nothing to check",
    "!": "released although it is not supported",
    "✗": "held back",
    "→": "released in its place",
}
_STYLES = {"✓": "green", "·": "dim", "!": "bold yellow", "✗": "red", "→": "yellow"}
_LONGEST_PASSAGE = 200
_LEAST_ROOM = 20
"""Columns for text below which the verdict stands on a line of its own."""


def print_result(result: GuardResult, console: Console) -> None:
    """The checked sentences, then how many were released and what the marks mean."""
    cited = {p.citation.document_id for sentence in result.sentences for p in telling.passages(sentence)}
    for sentence in result.sentences:
        print_sentence(sentence, console, named=len(cited) > 1)
    released = sum(sentence.released for sentence in result.sentences)
    replaced = sum(sentence.replacement is not None for sentence in result.sentences)
    told = f", {replaced} replaced" if replaced else ""
    console.print(f"\n{released} of {len(result.sentences)} sentences released{told}.", style="bold", highlight=False)
    print_legend(result.sentences, console)


def print_object(result: ObjectResult, console: Console) -> None:
    """Each field that claims something: its JSON pointer, then its sentences with their verdicts."""
    for pointer, field in result.fields.items():
        if field.sentences:
            console.print(Text(_one_line(pointer), "bold"))
            for sentence in field.sentences:
                print_sentence(sentence, console)
    print_legend([sentence for field in result.fields.values() for sentence in field.sentences], console)


def print_legend(sentences: Sequence[CheckedSentence], console: Console) -> None:
    """The meaning of the marks that these sentences got."""
    used = {mark for sentence in sentences for mark in _marks(sentence)}
    console.print("   ".join(f"{mark} {said}" for mark, said in _LEGEND.items() if mark in used), style="dim")


def print_sentence(sentence: CheckedSentence, console: Console, *, named: bool = False) -> None:
    """One sentence as it is decided on, refused attempts above it, a replacement below; `named`: say which document."""
    for attempt in telling.refused_attempts(sentence):
        _print("✗", "retried", attempt.score, attempt.text, "strike dim", console)
        _print("✗", "", None, attempt.reason or "", "dim", console)
    mark = _mark(sentence)
    verdict = sentence.verdict.value.replace("_", " ")
    _print(mark, verdict, sentence.score, sentence.text, "strike" if mark == "✗" else "", console)
    for told in _explained(sentence, named):
        _print(mark, "", None, told, "italic dim" if mark == "✓" else "dim", console)
    if sentence.replacement:
        _print("→", "instead", None, sentence.replacement, "", console)


def _print(mark: str, verdict: str, score: float | None, text: str, style: str, console: Console) -> None:
    """Text on as many lines as it needs, each behind the mark."""
    value = "" if score is None else f"{score:.2f}"
    head, gap = f"{mark} {verdict:<11} {value:>5} │ ", f"{mark} {'':<11} {'':>5} │ "
    said, room = [Text(_one_line(text), style)], console.width - len(head)
    if room < _LEAST_ROOM:
        head = gap = f"{mark} │ "
        said, room = [Text(f"{verdict} {value}"), *said] if verdict else said, max(2, console.width - len(gap))
    for number, line in enumerate(line for part in said for line in part.wrap(console, room)):
        line.rstrip()
        console.print(
            Text(head if number == 0 else gap, _STYLES[mark]) + line, no_wrap=True, overflow="ignore", crop=False
        )


def _explained(sentence: CheckedSentence, named: bool) -> list[str]:
    """Why, and the place in the source that decides: what supports it, else what contradicts it or is nearest."""
    places = telling.passages(sentence)
    if not places:
        return [sentence.reason] if sentence.reason else []
    place = places[0]
    text = shorten(_one_line(place.citation.text), _LONGEST_PASSAGE, placeholder=" …")
    cited = place.citation
    where = cited.where if cited.page is not None else cited.title or cited.document_id
    quoted = f"“{text}”" + (f" ({_one_line(where)})" if named or cited.page is not None or cited.title else "")
    told = f"↳ {quoted}" if place.stance == "for" else f"{telling.leading_to(sentence, place)}: {quoted}"
    return [told, _one_line(cited.link)] if cited.link else [told]


def _mark(sentence: CheckedSentence) -> str:
    if not sentence.released:
        return "✗"
    return {Verdict.SUPPORTED: "✓", Verdict.NO_CLAIM: "·"}.get(sentence.verdict, "!")


def _marks(sentence: CheckedSentence) -> list[str]:
    retried = ["✗"] if telling.refused_attempts(sentence) else []
    return [*retried, _mark(sentence), *(["→"] if sentence.replacement else [])]


def _one_line(text: str) -> str:
    """Text without line ends and without what moves the cursor or turns the writing direction."""
    return plain(" ".join(text.split()))
