"""`groundrail demo`: a recorded answer is judged at once, then a small real model answers questions under guard.

The report page in the current folder is written again after every answer, so that a reader may stop at any time.
The documents, the recorded answer and the questions are the examples of the playground.
"""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.status import Status

from groundrail.errors import MissingExtraError, ModelError
from groundrail.guard import Guard
from groundrail.report.html import Answered, page, save
from groundrail.report.terminal import print_legend, print_sentence
from groundrail.serve.playground_examples import EXAMPLES, Example
from groundrail.types import CheckedSentence, Document

if TYPE_CHECKING:
    from torch import Tensor

    from groundrail.decoding import HFGenerator

PAGE = Path("groundrail-demo.html")
RECORDED = "lease.txt"
ASKED = ("lease.txt", "manual.txt")
"""The documents about which the small model is asked."""


def run(console: Console) -> int:
    """Judge the recorded answer, then let the small model write; always 0, as refused sentences are the point.

    Ctrl-C in the second part ends the demo, and the report keeps the finished answers.

    The second part is left out, with a line that says so, where the small model cannot be loaded.

    Raises: InputError if the report cannot be written.
    """
    demo = _Demo(console)
    demo.judge_recorded()
    try:
        demo.let_model_write()
    except KeyboardInterrupt:
        console.print("\n[bold]Stopped.[/bold] The report keeps the finished answers:")
    except (MissingExtraError, ModelError) as error:
        console.print(f"\n2. Left out: a small model would write now. {error}", highlight=False, markup=False)
        return 0
    demo.print_path()
    return 0


class _Demo:
    """The two parts on a console, and the finished answers beside their documents, which are the report."""

    def __init__(self, console: Console) -> None:
        self._console, self._guard = console, Guard()
        self._examples = {example.name: example for example in EXAMPLES}
        self._answers: list[Answered] = []
        self._documents: dict[str, Document] = {}

    def judge_recorded(self) -> None:
        """Give the recorded answer to the guard word by word, as a model would write it."""
        example, say, started = self._examples[RECORDED], self._console.print, time.monotonic()

        def recorded(prompt: str) -> Iterator[str]:
            yield from re.findall(r"\S+\s*", example.answer)

        with self._console.status("loading the built-in judge ..."):
            _ = self._guard.scorer
        loaded = time.monotonic()
        say("[bold]1. A recorded answer, each sentence judged now[/bold]")
        words = len(example.source.split())
        say(f"The source is a lease of {words:,} words. Some sentences of the answer are wrong on purpose.")
        with self._console.status("judging ..."):
            sentences = self._answer(self._guard.with_generator(recorded), "Summarise the lease.", example)
        judged = time.monotonic()
        self._print_summary(sentences)
        say(f"The judge loaded in {loaded - started:.1f} s and judged them in {judged - loaded:.1f} s.", style="dim")
        say("\nThe answer beside the lease, to open in a browser:")
        self.print_path()

    def let_model_write(self) -> None:
        """Ask the small model about the documents, and judge each sentence before it is released."""
        asked = [(question, self._examples[name]) for name in ASKED for question in self._examples[name].questions]
        say, sentences = self._console.print, list[CheckedSentence]()
        with self._console.status("loading SmolLM2-135M-Instruct ...") as status:
            progress = _Progress(status)
            guard = self._guard.with_generator(_small_model(progress))
        say("\n[bold]2. A small model writes, each sentence judged before it is released[/bold]")
        say(f"SmolLM2-135M-Instruct answers {len(asked)} questions. This can take some minutes.")
        say("[yellow]You may stop here with Ctrl-C:[/yellow] the report is already written.")
        with status:
            for number, (question, example) in enumerate(asked, start=1):
                progress.begin(f"question {number} of {len(asked)}", example.name)
                sentences += self._answer(guard, question, example)
        self._print_summary(sentences)
        say("\nAll answers beside their documents, to open in a browser:")

    def print_path(self) -> None:
        """The path of the report on one line, however long it is."""
        self._console.print(str(PAGE.resolve()), style="bold", soft_wrap=True, markup=False, highlight=False)

    def _answer(self, guard: Guard, question: str, example: Example) -> Sequence[CheckedSentence]:
        """Print the sentences of an answer, each once it is judged, and write the report with it."""
        self._console.print(f"\n[bold]{question}[/bold] [dim]({example.name})[/dim]")
        document = Document(text=example.source, id=example.name)
        with guard.stream(question, document) as stream:
            for sentence in stream.sentences():
                print_sentence(sentence, self._console)
        self._answers.append(Answered(stream.result, question))
        self._documents[document.id] = document
        save(page(self._answers, list(self._documents.values())), PAGE)
        if not stream.result.text.strip():
            said = "The document supports no sentence that the model wrote, so none is released."
            self._console.print(f"  [yellow]{said}[/yellow]")
        return stream.result.sentences

    def _print_summary(self, sentences: Sequence[CheckedSentence]) -> None:
        written, released = sum(len(s.attempts) for s in sentences), sum(bool(s.released_text) for s in sentences)
        self._console.print(f"\n[bold]{written} sentences written, {released} released.[/bold]")
        print_legend(sentences, self._console)


def _small_model(progress: "_Progress") -> "HFGenerator":
    from transformers import LogitsProcessorList

    from groundrail.decoding import HFGenerator, Sampling
    from groundrail.generators.smollm2 import smollm2

    each_token = LogitsProcessorList([progress.token])
    return HFGenerator(*smollm2(), sampling=Sampling(max_new_tokens=64), logits_processor=each_token)


class _Progress:
    """A line that says how far the small model has come; a terminal shows it below the sentences."""

    def __init__(self, status: Status) -> None:
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
