"""The commands `check`, `ask` and `report`: an answer judged against source files, written under guard, and many of a log."""

import json
import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

from groundrail.cli.main import STANDARD_INPUT
from groundrail.cli.scorers import ScorerChoice
from groundrail.cli.screen import as_json, console, progress
from groundrail.errors import InputError
from groundrail.guard import Guard
from groundrail.objects import json_values
from groundrail.policy import Policy, Threshold
from groundrail.report import html as html_report
from groundrail.report import terminal
from groundrail.report.hidden import in_json
from groundrail.sources.files import read_text
from groundrail.text.rendering.visible import is_blank
from groundrail.types import Document, GuardResult, Verdict, as_documents


def check(
    answer: str,
    /,
    *,
    source: list[str],
    question: str = "",
    json: bool = False,
    scoring: ScorerChoice = ScorerChoice(),
    threshold: float | Threshold | None = None,
    html: Path | None = None,
    rows: Path | None = None,
    object: bool = False,
    schema: str | None = None,
    correct: bool = False,
) -> int:
    """Check an answer against source files.

    Args:
        answer: file with the answer, - for standard input
        source: files (text, .pdf, .html, .docx), - for standard input
        question: the message that the answer answers
        json: print the whole result as JSON
        threshold: score from which a sentence is supported (the judge's own)
        html: also write a report page
        rows: add the sentences to this file as rows to label
        object: the answer is a JSON object: check its fields
        schema: JSON schema of the object, which names its fields
        correct: exchange a wrong figure, date, unit or name for the source's, and show what was and what is
    """
    if [answer, *source].count(STANDARD_INPUT) > 1:
        raise InputError("standard input can be read once: name a file for the answer or for the source")
    text, documents = _read(answer), _documents(source)
    if is_blank(text):
        raise InputError("the answer is empty: there is nothing to check")
    if schema is not None and not object:
        raise InputError("--schema is the schema of an object: pass --object, too")
    if html is not None and object:
        raise InputError("--html shows an answer of sentences; use --json for an object")
    _require_folder(html)
    fields = None if schema is None else json_values.parsed(_read(schema))
    guard = _guard(scoring, threshold)
    if correct:
        guard = guard.with_policy(guard.policy.replacing(fallback="correct"))
    with progress("checking"):
        check = partial(guard.check_object, schema=fields) if object else guard.check
        result = check(text, documents, question=question)
    if isinstance(result, GuardResult) and html is not None:
        html_report.save(result.to_html(documents, question=question), html)
    if isinstance(result, GuardResult) and rows is not None:
        _append_rows(result, documents, rows)
    if json:
        print(in_json(result.model_dump_json(indent=2)))
    elif isinstance(result, GuardResult):
        terminal.print_result(result, console())
    else:
        terminal.print_object(result, console())
    return 0 if result.supported else 1


def _append_rows(result: GuardResult, documents: Sequence[Document], path: Path) -> None:
    """Add a row with `label` null for each sentence that was compared with the source, for `calibrate` and `tune`.

    `premise` is the source, with all documents joined, and `hypothesis` the sentence. `verdict` and `score` are
    information for the person who labels; no command reads them. Raises: InputError.
    """
    premise = "\n\n".join(document.text for document in documents)
    compared = [s for s in result.sentences if s.verdict in (Verdict.SUPPORTED, Verdict.UNSUPPORTED)]
    try:
        with path.open("a", encoding="utf-8") as file:
            for sentence in compared:
                row: dict[str, Any] = {"premise": premise, "hypothesis": sentence.text.strip(), "label": None}
                row |= {"verdict": str(sentence.verdict), "score": sentence.score}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise InputError(f"cannot write the rows to {path}: {error.strerror}") from error


def ask(
    question: str,
    /,
    *,
    source: list[str],
    json: bool = False,
    scoring: ScorerChoice = ScorerChoice(),
    threshold: float | Threshold | None = None,
    model: str | None = None,
    attempts: int = 3,
    alpha: float = 0.0,
) -> int:
    """Ask a language model about source files, under guard.

    Args:
        source: files (text, .pdf, .html, .docx), - for standard input
        json: print the whole result as JSON
        threshold: score from which a sentence is supported (the judge's own)
        model: hub id or folder of a causal model (SmolLM2-135M-Instruct)
        attempts: tries at each sentence
        alpha: PMI-addition steering, 0 for none
    """
    from groundrail.decoding import PMI, HFGenerator

    if attempts < 1:
        raise InputError(f"--attempts is {attempts}; at least one try is needed")
    documents = _documents(source)
    if all(is_blank(document.text) for document in documents):
        raise InputError(f"{', '.join(source)}: no text in it to answer from; name a source with text")
    steering = PMI(alpha) if alpha else None
    with console(stderr=True).status("loading the language model and the judge ..."):
        if model:
            generator = HFGenerator.from_pretrained(model, steering=steering)
        else:
            from groundrail.generators.smollm2 import smollm2

            generator = HFGenerator(*smollm2(), steering=steering)
        guard = _guard(scoring, threshold, generator)
    guard = guard.with_policy(guard.policy.replacing(attempts=attempts))
    stream = guard.stream(question, documents)
    out = console()
    for sentence in stream.sentences():
        if not json:
            terminal.print_sentence(sentence, out)
    if stream.result.supported and is_blank(stream.result.answer):
        raise InputError("the model wrote nothing: there is nothing to check")
    if json:
        print(in_json(stream.result.model_dump_json(indent=2)))
    elif not stream.result.text.strip():
        out.print("Nothing the model wrote is supported by the source.", style="yellow")
    return 0 if stream.result.supported else 1


def report(
    answers: Path,
    /,
    *,
    html: Path | None = None,
    json: bool = False,
    scoring: ScorerChoice = ScorerChoice(),
    threshold: float | Threshold | None = None,
) -> int:
    """Count how the sentences of logged answers come out, by day and by source.

    Args:
        answers: JSON lines with answer and source, or with verdicts; or a folder of score
        html: also write a page with plots
        json: print the rates as JSON
        threshold: score from which a sentence is supported (the judge's own)
    """
    from groundrail.corpus.logged import rates
    from groundrail.report.rates import RATES, WORDS, rate

    _require_folder(html)
    with progress("checking") as report:
        found = rates(answers, lambda: _guard(scoring, threshold), report)
    if html is not None:
        html_report.save(found.page(), html)
    if json:
        print(as_json(found.as_object()))
        return 0
    print(f"{found.total['answers']} answers, {found.total['sentences']} sentences")
    for name in RATES:
        if (share := rate(found.total, name)) is not None and found.total[name]:
            print(f"{share:7.1%}  {WORDS[name]} ({found.total[name]})")
    return 0


def _require_folder(html: Path | None) -> None:
    if html is not None and not html.resolve().parent.is_dir():
        raise InputError(f"--html: there is no folder {html.parent}; make it first")


def _guard(scoring: ScorerChoice, threshold: float | Threshold | None, generator: Any = None) -> Guard:
    if isinstance(threshold, float) and not math.isfinite(threshold):
        raise InputError(f"--threshold is {threshold}; pass a number or one of {', '.join(get_args(Threshold))}")
    return Guard(generator, scorer=scoring.load(), policy=Policy(threshold=threshold))


def _documents(names: Sequence[str]) -> tuple[Document, ...]:
    return as_documents(
        [
            Document(text=_read(name), id=name) if name == STANDARD_INPUT else Document.from_file(name, id=name)
            for name in names
        ]
    )


def _read(name: str) -> str:
    """Text of a file or standard input. Raises: InputError in one line for text that cannot be read as UTF-8."""
    if name != STANDARD_INPUT:
        return str(read_text(name)["text"])
    if sys.stdin is None:
        raise InputError("standard input is closed: name a file, or pipe the text in")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"standard input is not UTF-8 text (byte {error.start}); convert it, e.g. with iconv") from None
