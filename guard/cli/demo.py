"""`groundrail demo`: a recorded answer is judged at once, then a small real model answers questions under guard.

The report page in the current folder is written again after every answer, so that a reader may stop at any time.
The documents, the recorded answer and the questions are the examples of the playground.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groundrail.types import CheckedSentence, Document

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status
    from torch import Tensor

    from groundrail.decoding import HFGenerator
    from groundrail.guard import Guard
    from groundrail.report.html import Answered
    from groundrail.serve.playground_examples import Example

PAGE = Path("groundrail-demo.html")
RECORDED = "lease.txt"
ASKED = ("lease.txt", "manual.txt")
"""The documents about which the small model is asked."""


def run(console: "Console") -> int:
    """Judge the recorded answer, then let the small model write; always 0, as refused sentences are the point.

    Ctrl-C in the second part ends the demo, and the report keeps the finished answers.

    Raises: InputError if the report cannot be written; MissingExtraError or ModelError if the small model is not there.
    """
    os.environ.setdefault(
        "OMP_WAIT_POLICY", "passive"
    )  # torch's threads sleep while they wait: other programs run, too

    from groundrail.guard import Guard
    from groundrail.serve.playground_examples import EXAMPLES

    examples = {example.name: example for example in EXAMPLES}
    questions = [(question, examples[name]) for name in ASKED for question in examples[name].questions]
    guard, report = Guard(), _Report()
    _judge_recorded(guard, examples[RECORDED], report, console)
    try:
        _let_model_write(guard, questions, report, console)
    except KeyboardInterrupt:
        console.print("\n[bold]Stopped.[/bold] The report keeps the finished answers:")
    _print_path(console)
    return 0


def _judge_recorded(guard: "Guard", example: "Example", report: "_Report", console: "Console") -> None:
    """Give the recorded answer to the guard word by word, as a model would write it."""

    def recorded(prompt: str) -> Iterator[str]:
        yield from re.findall(r"\S+\s*", example.answer)

    started = time.monotonic()
    with console.status("loading the built-in judge ..."):
        _ = guard.scorer
    loaded = time.monotonic()
    console.print("[bold]1. A recorded answer, each sentence judged now[/bold]")
    words = len(example.source.split())
    console.print(f"The source is a lease of {words:,} words. Some sentences of the answer are wrong on purpose.")
    with console.status("judging ..."):
        sentences = _answer(guard.with_generator(recorded), "Summarise the lease.", example, report, console)
    judged = time.monotonic()
    _print_summary(sentences, console)
    console.print(
        f"The judge loaded in {loaded - started:.1f} s and judged them in {judged - loaded:.1f} s.", style="dim"
    )
    console.print("\nThe answer beside the lease, to open in a browser:")
    _print_path(console)


def _let_model_write(
    guard: "Guard", questions: Sequence[tuple[str, "Example"]], report: "_Report", console: "Console"
) -> None:
    console.print("\n[bold]2. A small model writes, each sentence judged before it is released[/bold]")
    console.print(f"SmolLM2-135M-Instruct answers {len(questions)} questions. This can take some minutes.")
    console.print("[yellow]You may stop here with Ctrl-C:[/yellow] the report is already written.")
    sentences = []
    with console.status("loading SmolLM2-135M-Instruct ...") as status:
        progress = _Progress(status)
        writing = guard.with_generator(_small_model(progress))
        for number, (question, example) in enumerate(questions, start=1):
            progress.begin(f"question {number} of {len(questions)}", example.name)
            sentences += _answer(writing, question, example, report, console)
    _print_summary(sentences, console)
    console.print("\nAll answers beside their documents, to open in a browser:")


def _answer(
    guard: "Guard", question: str, example: "Example", report: "_Report", console: "Console"
) -> list[CheckedSentence]:
    """Print the sentences of an answer, each once it is judged, and add the answer to the report."""
    from groundrail.report.html import Answered
    from groundrail.report.terminal import print_sentence

    console.print(f"\n[bold]{question}[/bold] [dim]({example.name})[/dim]")
    document = Document(text=example.source, id=example.name)
    with guard.stream(question, document) as stream:
        for sentence in stream.sentences():
            print_sentence(sentence, console)
    report.add(Answered(stream.result, question), document)
    if not stream.result.text.strip():
        console.print("  [yellow]The document supports no sentence that the model wrote, so none is released.[/yellow]")
    return list(stream.result.sentences)


def _small_model(progress: "_Progress") -> "HFGenerator":
    from transformers import LogitsProcessorList

    from groundrail.decoding import HFGenerator, Sampling
    from groundrail.generators.smollm2 import smollm2

    each_token = LogitsProcessorList([progress.token])
    return HFGenerator(*smollm2(), sampling=Sampling(max_new_tokens=64), logits_processor=each_token)


class _Report:
    """The page of the finished answers, beside their documents."""

    def __init__(self) -> None:
        self._answers: list[Answered] = []
        self._documents: dict[str, Document] = {}

    def add(self, answered: "Answered", document: Document) -> None:
        """Write the page again, with one more answer."""
        from groundrail.report.html import page, save

        self._answers.append(answered)
        self._documents[document.id] = document
        save(page(self._answers, list(self._documents.values())), PAGE)


class _Progress:
    """A line that says how far the small model has come; a terminal shows it below the sentences."""

    def __init__(self, status: "Status") -> None:
        self._status = status
        self._stage, self._tokens, self._started = "", 0, 0.0

    def begin(self, stage: str, document: str) -> None:
        """The model reads the document before it writes."""
        self._stage, self._tokens, self._started = stage, 0, time.monotonic()
        self._status.update(f"{stage}: the model reads {document} ...")

    def token(self, written: "Tensor", scores: "Tensor") -> "Tensor":
        """Count a token that the model is about to draw; its scores stay as they are."""
        self._tokens += 1
        seconds = time.monotonic() - self._started
        self._status.update(f"{self._stage}: {self._tokens} tokens written, {seconds:.0f} s ...")
        return scores


def _print_summary(sentences: Sequence[CheckedSentence], console: "Console") -> None:
    from groundrail.report.terminal import print_legend

    written, released = sum(len(s.attempts) for s in sentences), sum(bool(s.released_text) for s in sentences)
    console.print(f"\n[bold]{written} sentences written, {released} released.[/bold]")
    print_legend(sentences, console)


def _print_path(console: "Console") -> None:
    """The path of the report on one line, however long it is."""
    console.print(str(PAGE.resolve()), style="bold", soft_wrap=True, markup=False, highlight=False)
