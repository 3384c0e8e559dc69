"""`groundrail demo`: a small real model answers questions on two documents, every sentence checked.

Ends with a report page in the current folder, the answers beside the documents.
The documents are among those of `examples/documents`, which the package carries as `groundrail.documents`.
"""

from importlib.resources import files
from pathlib import Path
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
PAGE = Path("groundrail-demo.html")


def run(console: "Console") -> int:
    """Ask, check, print and write the report; always 0: what is caught here is the point.

    Raises: InputError if the report cannot be written.
    """
    from groundrail.decoding import HFGenerator, Sampling
    from groundrail.generators.smollm2 import smollm2
    from groundrail.guard import Guard
    from groundrail.report.html import Answered, page, save
    from groundrail.report.terminal import print_legend, print_sentence

    with console.status("loading SmolLM2-135M-Instruct and the built-in judge ..."):
        guard = Guard(HFGenerator(*smollm2(), sampling=Sampling(max_new_tokens=64)))
        _ = guard.scorer
    documents = {
        name: Document(text=(files("groundrail.documents") / name).read_text(encoding="utf-8"), id=name)
        for name in dict(QUESTIONS)
    }
    written = released = 0
    answers = []
    for name, question in QUESTIONS:
        console.print(f"\n[bold]{question}[/bold] [dim]({name})[/dim]")
        shown = 0
        stream = guard.stream(question, documents[name])
        for sentence in stream.sentences():
            print_sentence(sentence, console)
            written += len(sentence.attempts)
            shown += bool(sentence.released_text)
        released += shown
        answers.append(Answered(stream.result, question))
        if not shown:
            console.print("  [yellow]nothing the model wrote is supported, so nothing is released[/yellow]")
    console.print(f"\n[bold]{written} sentences written, {released} released.[/bold]")
    print_legend([sentence for answer in answers for sentence in answer.result.sentences], console)
    save(page(answers, list(documents.values())), PAGE)
    console.print("\nThe same beside the documents, to open in a browser:")
    console.print(str(PAGE.resolve()), style="bold", soft_wrap=True, markup=False, highlight=False)
    return 0
