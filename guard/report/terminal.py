"""A result in the terminal: a rich table, one row a sentence."""

import re

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundrail.types import CheckedSentence, GuardResult, Verdict

_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_STYLES = {Verdict.SUPPORTED: "green", Verdict.NO_CLAIM: "dim"}


def print_result(result: GuardResult, console: Console) -> None:
    """The checked sentences with verdict, score and citation, then what was released."""
    table = Table(box=None, pad_edge=False, show_edge=False, expand=False)
    for name, justify in (("verdict", "left"), ("score", "right"), ("sentence", "left"), ("source says", "left")):
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for sentence in result.sentences:
        for attempt in sentence.attempts[:-1]:
            table.add_row(
                Text("retried", "yellow"), _score(attempt.score), Text(_plain(attempt.text), "strike dim"), ""
            )
        table.add_row(*_row(sentence))
    console.print(table)
    released = sum(bool(sentence.released_text) for sentence in result.sentences)
    console.print(f"\n{released} of {len(result.sentences)} sentences released.", style="bold", highlight=False)


def print_sentence(sentence: CheckedSentence, console: Console) -> None:
    """One sentence as it is decided on, rejected attempts struck out above it."""
    for attempt in sentence.attempts[:-1]:
        console.print(
            Text.assemble(
                ("  ✗ ", "red"), (_plain(attempt.text), "strike dim"), (f"  {_plain(attempt.reason or '')}", "dim")
            )
        )
    if sentence.released:
        mark = ("  ✓ ", "green") if sentence.verdict is Verdict.SUPPORTED else ("  · ", "dim")
        console.print(Text.assemble(mark, _plain(sentence.text)))
        for citation in sentence.citations:
            console.print(Text.assemble(("      ↳ ", "dim"), (_line(citation.text), "italic dim")))
        return
    console.print(
        Text.assemble(("  ✗ ", "red"), (_plain(sentence.text), "strike"), (f"  {_plain(sentence.reason or '')}", "dim"))
    )
    if sentence.replacement:
        console.print(Text.assemble(("  → ", "yellow"), _plain(sentence.replacement)))


def _row(sentence: CheckedSentence) -> tuple[Text | str, ...]:
    verdict = Text(sentence.verdict.value.replace("_", " "), _STYLES.get(sentence.verdict, "bold red"))
    text = Text(_plain(sentence.text), "" if sentence.released else "strike")
    if sentence.citations and sentence.released:
        where: Text | str = Text(_line(sentence.citations[0].text), "italic")
    else:
        where = Text(_plain(sentence.reason or ""), "dim")
    return verdict, _score(sentence.score), text, where


def _plain(text: str) -> str:
    """Text without what moves the cursor, changes the terminal or turns the writing direction."""
    return _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text.strip().replace("\r\n", "\n"))


def _line(text: str) -> str:
    return _plain(" ".join(text.split()))


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"
