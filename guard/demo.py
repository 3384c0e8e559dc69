"""`groundrail demo`: a small real model answers questions on real documents, every sentence checked.

The documents are those of `examples/documents`, which the package carries as `groundrail.documents`.
"""

from importlib.resources import files
from typing import TYPE_CHECKING

from groundrail.types import Document

if TYPE_CHECKING:
    from rich.console import Console

QUESTIONS = (
    ("lease.txt", "When does the lease end?"),
    ("lease.txt", "How large is the deposit?"),
    ("lease.txt", "What happens if the rent is late?"),
    ("manual.txt", "At what temperature does the machine brew?"),
    ("manual.txt", "How long is the guarantee?"),
)


def run(console: "Console") -> int:
    """Ask, check and print; always 0: what is caught here is the point."""
    from groundrail.decoding import HFGenerator, Sampling
    from groundrail.guard import Guard
    from groundrail.report.terminal import print_sentence
    from groundrail.smollm2 import smollm2

    with console.status("loading SmolLM2-135M-Instruct and the built-in judge ..."):
        guard = Guard(HFGenerator(*smollm2(), sampling=Sampling(max_new_tokens=64)))
        _ = guard.scorer
    written = released = 0
    for name, question in QUESTIONS:
        document = Document(text=(files("groundrail.documents") / name).read_text(encoding="utf-8"), id=name)
        console.print(f"\n[bold]{question}[/bold] [dim]({name})[/dim]")
        shown = 0
        for sentence in guard.stream(question, document).sentences():
            print_sentence(sentence, console)
            written += len(sentence.attempts)
            shown += bool(sentence.released_text)
        released += shown
        if not shown:
            console.print("  [yellow]nothing the model wrote is supported, so nothing is released[/yellow]")
    console.print(
        f"\n[bold]{written} sentences written, {released} released.[/bold] "
        "✓ supported, with the place that says so; ✗ caught before anyone saw it."
    )
    return 0
