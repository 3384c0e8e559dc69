"""Print a result in the terminal: each sentence, with the reason for a refusal, the deciding place in the source, and
how figures follow from figures of the source.

Every line begins with the mark of its sentence, with or without colour, so that no text can imitate a line of another
verdict. `groundrail.report.telling` words the verdicts.
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
    "=": "released, the app itself says it",
    "·": "released, nothing to check",
    "!": "released although it is not supported",
    "✗": "held back",
    "→": "released in its place",
}
_STYLES = {"✓": "green", "=": "cyan", "·": "dim", "!": "bold yellow", "✗": "red", "→": "yellow"}
_LONGEST_PASSAGE = 200
_LEAST_ROOM = 20
"""Minimum number of columns for text beside a verdict; with fewer, the verdict gets a separate line."""


def print_result(result: GuardResult, console: Console) -> None:
    """Print the checked sentences, the number of released sentences, and the meaning of the marks."""
    cited = {p.citation.document_id for sentence in result.sentences for p in telling.passages(sentence)}
    for sentence in result.sentences:
        print_sentence(sentence, console, named=len(cited) > 1)
    released = sum(sentence.released for sentence in result.sentences)
    replaced = sum(sentence.replacement is not None for sentence in result.sentences)
    also = f", {replaced} replaced" if replaced else ""
    console.print(f"\n{released} of {len(result.sentences)} sentences released{also}.", style="bold", highlight=False)
    print_legend(result.sentences, console)


def print_object(result: ObjectResult, console: Console) -> None:
    """Print each field that is a claim: its JSON pointer, then its sentences with their verdicts."""
    for pointer, field in result.fields.items():
        if field.sentences:
            console.print(Text(_one_line(pointer), "bold"))
            for sentence in field.sentences:
                print_sentence(sentence, console)
    print_legend([sentence for field in result.fields.values() for sentence in field.sentences], console)


def print_legend(sentences: Sequence[CheckedSentence], console: Console) -> None:
    """Print the meaning of the marks of these sentences."""
    used = {mark for sentence in sentences for mark in _marks(sentence)}
    console.print("   ".join(f"{mark} {said}" for mark, said in _LEGEND.items() if mark in used), style="dim")


def print_sentence(sentence: CheckedSentence, console: Console, *, named: bool = False) -> None:
    """Print a sentence, refused attempts above it and a replacement below it; `named` adds the document's name."""
    for attempt in telling.refused_attempts(sentence):
        _print("✗", "retried", attempt.score, attempt.text, "strike dim", console)
        _print("✗", "", None, attempt.reason or "", "dim", console)
    mark = _mark(sentence)
    verdict = sentence.verdict.value.replace("_", " ")
    _print(mark, verdict, sentence.score, _drawn(sentence, "strike" if mark == "✗" else ""), "", console)
    for line in [*_explained(sentence, named), *telling.computations(sentence)]:
        _print(mark, "", None, line, "italic dim" if mark == "✓" else "dim", console)
    if sentence.replacement:
        change = sentence.corrected
        verdict, score = ("instead", None) if change is None else ("corrected", change.score)
        _print("→", verdict, score, sentence.replacement, "", console)
        if change is not None:
            _print("→", "", None, telling.correction(sentence), "dim", console)


def _drawn(sentence: CheckedSentence, style: str) -> Text:
    """The sentence on one line, with its wrong marks, quotations and speakers struck out before what stands in their place."""
    drawn = Text()
    for piece in telling.pieces(sentence):
        said = _one_line(f"|{piece.text}|")[1:-1]  # blanks at both ends stay
        drawn.append(said, "bold red strike" if piece.is_wrong else style)
        if piece.now:
            drawn.append(f" → {_one_line(piece.now)}", "green")
    return drawn


def _print(mark: str, verdict: str, score: float | None, text: str | Text, style: str, console: Console) -> None:
    """Print text on as many lines as it needs, with the mark at the start of each line."""
    value = "" if score is None else f"{score:.2f}"
    head, gap = f"{mark} {verdict:<11} {value:>5} │ ", f"{mark} {'':<11} {'':>5} │ "
    said, room = [text if isinstance(text, Text) else Text(_one_line(text), style)], console.width - len(head)
    if room < _LEAST_ROOM:
        head = gap = f"{mark} │ "
        said, room = [Text(f"{verdict} {value}"), *said] if verdict else said, max(2, console.width - len(gap))
    for number, line in enumerate(line for part in said for line in part.wrap(console, room)):
        line.rstrip()
        console.print(Text(head if number == 0 else gap, _STYLES[mark]) + line, no_wrap=True, overflow="ignore", crop=False)


def _explained(sentence: CheckedSentence, named: bool) -> list[str]:
    """The reason and the deciding place: a supporting place, else a contradicting place, else the nearest place."""
    places = telling.passages(sentence)
    if not places:
        return [sentence.reason] if sentence.reason else []
    place = places[0]
    text = shorten(_one_line(place.citation.text), _LONGEST_PASSAGE, placeholder=" …")
    cited = place.citation
    where = cited.where if cited.page is not None else cited.title or cited.document_id
    quoted = f"“{text}”" + (f" ({_one_line(where)})" if named or cited.page is not None or cited.title else "")
    line = f"↳ {quoted}" if place.stance == "for" else f"{telling.leading_to(sentence, place)}: {quoted}"
    return [line, _one_line(cited.link)] if cited.link else [line]


def _mark(sentence: CheckedSentence) -> str:
    if not sentence.released:
        return "✗"
    return {Verdict.SUPPORTED: "✓", Verdict.KNOWN: "=", Verdict.NO_CLAIM: "·"}.get(sentence.verdict, "!")


def _marks(sentence: CheckedSentence) -> list[str]:
    retried = ["✗"] if telling.refused_attempts(sentence) else []
    return [*retried, _mark(sentence), *(["→"] if sentence.replacement else [])]


def _one_line(text: str) -> str:
    """Remove line ends and characters that move the cursor or change the writing direction."""
    return plain(" ".join(text.split()))
