"""A result in the terminal: a rich table, one row a sentence."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundrail.types import CheckedSentence, GuardResult, Verdict

_STYLES = {Verdict.SUPPORTED: "green", Verdict.NO_CLAIM: "dim"}


def print_result(result: GuardResult, console: Console) -> None:
    """The checked sentences with verdict, score and citation, then what was released."""
    table = Table(box=None, pad_edge=False, show_edge=False, expand=False)
    for name, justify in (("verdict", "left"), ("score", "right"), ("sentence", "left"), ("source says", "left")):
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for sentence in result.sentences:
        for attempt in sentence.attempts[:-1]:
            table.add_row(
                Text("retried", "yellow"), _score(attempt.score), Text(attempt.text.strip(), "strike dim"), ""
            )
        table.add_row(*_row(sentence))
    console.print(table)
    released = sum(bool(sentence.released_text) for sentence in result.sentences)
    console.print(f"\n{released} of {len(result.sentences)} sentences released.", style="bold", highlight=False)


def print_sentence(sentence: CheckedSentence, console: Console) -> None:
    """One sentence as it is decided on, rejected attempts struck out above it."""
    for attempt in sentence.attempts[:-1]:
        console.print(
            Text.assemble(("  ✗ ", "red"), (attempt.text.strip(), "strike dim"), (f"  {attempt.reason}", "dim"))
        )
    if sentence.released:
        mark = ("  ✓ ", "green") if sentence.verdict is Verdict.SUPPORTED else ("  · ", "dim")
        console.print(Text.assemble(mark, sentence.text.strip()))
        for citation in sentence.citations:
            console.print(Text.assemble(("      ↳ ", "dim"), (" ".join(citation.text.split()), "italic dim")))
        return
    console.print(Text.assemble(("  ✗ ", "red"), (sentence.text.strip(), "strike"), (f"  {sentence.reason}", "dim")))
    if sentence.replacement:
        console.print(Text.assemble(("  → ", "yellow"), sentence.replacement.strip()))


def _row(sentence: CheckedSentence) -> tuple[Text | str, ...]:
    verdict = Text(sentence.verdict.value.replace("_", " "), _STYLES.get(sentence.verdict, "bold red"))
    text = Text(sentence.text.strip(), "" if sentence.released else "strike")
    if sentence.citations and sentence.released:
        where: Text | str = Text(" ".join(sentence.citations[0].text.split()), "italic")
    else:
        where = Text(sentence.reason or "", "dim")
    return verdict, _score(sentence.score), text, where


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"
