"""The `groundrail` command: check an answer, ask a model under guard, score a corpus, evaluate, calibrate, tune, ...

Exit codes: 0 when everything is supported, 1 when something is not, 2 when the command cannot be carried out, its
output could not be written or the answer says nothing, 130 when it was interrupted.
"""

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, get_args

from groundrail import __version__
from groundrail.cli.scorers import ScorerChoice, add_scorer_arguments
from groundrail.errors import GroundrailError, InputError, MissingExtraError
from groundrail.runtime import entry_points
from groundrail.text.rendering.visible import is_blank
from groundrail.types import Document, as_documents

if TYPE_CHECKING:
    from rich.console import Console

    from groundrail.guard import Guard
    from groundrail.objects.results import ObjectResult
    from groundrail.types import GuardResult

SUPPORTED, UNSUPPORTED, BAD_USE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors become one line on standard error."""
    try:
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk or a closed pipe shows here at the latest
        return code
    except BrokenPipeError:  # whoever read along has gone, and need not be told
        _abandon_output()
        return BAD_USE
    except OSError as error:
        _abandon_output()
        return _fail(f"reading or writing failed: {error}")


def _run(arguments: Sequence[str] | None) -> int:
    try:
        parser = _parser()
        options = parser.parse_args(arguments)
        if sys.stdout is None:
            raise InputError("standard output is closed: there is nowhere to write the result to")
        return int(options.run(options))
    except (GroundrailError, ValueError) as error:
        return _fail(str(error))
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package == "rich":
            return _fail(str(MissingExtraError("The command line", "cli")))
        return _fail(f"{package or 'a package'} cannot be imported ({error}): install it, or groundrail again")
    except KeyboardInterrupt:
        _fail("interrupted")
        return 130


def _fail(message: str) -> int:
    if sys.stderr is not None:
        shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in message)
        print(f"groundrail: {shown}", file=sys.stderr)
    return BAD_USE


def _abandon_output() -> None:
    """Standard output goes nowhere from here, so that the interpreter's last flush fails no more."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _parser() -> argparse.ArgumentParser:
    from groundrail.cli.serve import add_serve_parser

    parser = argparse.ArgumentParser(
        prog="groundrail", description="Let a sentence out only when the source supports it."
    )
    parser.add_argument("--version", action="version", version=f"groundrail {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    check = commands.add_parser("check", help="check an answer against source files")
    check.add_argument("answer", metavar="ANSWER", help="file with the answer, - for standard input")
    _add_common(check)
    check.add_argument("--html", type=Path, metavar="OUT", help="also write a report page")
    check.add_argument("--rows", type=Path, metavar="FILE", help="add the sentences to FILE as rows to label")
    check.add_argument("--object", action="store_true", help="the answer is a JSON object: check its fields")
    check.add_argument("--schema", metavar="FILE", help="JSON schema of the object, which names its fields")
    check.set_defaults(run=_check)

    ask = commands.add_parser("ask", help="ask a language model about source files, under guard")
    ask.add_argument("question", metavar="QUESTION")
    _add_common(ask)
    ask.add_argument("--model", metavar="ID", help="hub id or folder of a causal model (SmolLM2-135M-Instruct)")
    ask.add_argument("--attempts", type=int, default=3, help="tries at each sentence")
    ask.add_argument("--alpha", type=float, default=0.0, help="PMI-addition steering, 0 for none")
    ask.set_defaults(run=_ask)

    demo = commands.add_parser("demo", help="see a recorded answer judged, then a small model's")
    demo.add_argument("--web", action="store_true", help="in a browser, on a page to try your own texts on")
    demo.set_defaults(run=_demo)
    judges = commands.add_parser("judges", help="list the judges that can be named by one word")
    judges.add_argument("name", nargs="?", metavar="NAME", help="print everything about this judge")
    judges.add_argument("--json", action="store_true", help="print JSON")
    judges.set_defaults(run=_judges)
    _add_score(commands)
    add_serve_parser(commands)
    for name in entry_points.names("groundrail.commands"):
        entry_points.load("groundrail.commands", name)(commands)
    return parser


def _add_score(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    score = commands.add_parser("score", help="score a corpus of claims, on this machine or on Ray")
    score.add_argument("input", metavar="INPUT", type=Path, help="JSON lines or Parquet with id, claim and source")
    score.add_argument("--out", required=True, type=Path, metavar="DIR", help="Parquet files; run again to continue")
    score.add_argument("--engine", choices=("local", "ray"), default="local")
    score.add_argument("--workers", type=int, default=1, help="actors on Ray, each with a model")
    score.add_argument("--gpus", type=float, default=0.0, help="of each actor, whole or a fraction")
    add_scorer_arguments(score)
    score.add_argument("--threshold", type=float, help="score from which a claim is supported (the judge's own)")
    score.set_defaults(run=_score)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", nargs="+", required=True, metavar="FILE", help="text files, - for standard input")
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
    add_scorer_arguments(parser)
    parser.add_argument(
        "--threshold",
        help="score from which a sentence is supported, or strict, balanced or lenient (the judge's own)",
    )


def _check(options: argparse.Namespace) -> int:
    if [options.answer, *options.source].count("-") > 1:
        raise InputError("standard input can be read once: name a file for the answer or for the source")
    answer, documents = _read(options.answer), as_documents(_documents(options.source))
    if is_blank(answer):
        raise InputError("the answer is empty: there is nothing to check")
    if options.object:
        return _check_object(options, answer, documents)
    if options.schema is not None:
        raise InputError("--schema is the schema of an object: pass --object, too")
    with _progress("checking"):
        result = _guard(options).check(answer, documents)
    if options.html is not None:
        from groundrail.report.html import save

        save(result.to_html(documents), options.html)
    if options.rows is not None:
        from groundrail.report.labels import append_rows, rows_to_label

        append_rows(rows_to_label(result, documents), options.rows)
    if options.json:
        _print_json(result)
    else:
        from groundrail.report.terminal import print_result

        print_result(result, _console())
    return SUPPORTED if result.supported else UNSUPPORTED


def _check_object(options: argparse.Namespace, answer: str, documents: Sequence[Document]) -> int:
    from groundrail.objects.json_values import parsed
    from groundrail.report.terminal import print_object

    if options.html is not None:
        raise InputError("--html shows an answer of sentences; use --json for an object")
    schema = None if options.schema is None else parsed(_read(options.schema))
    with _progress("checking"):
        result = _guard(options).check_object(answer, documents, schema)
    if options.json:
        _print_json(result)
    else:
        print_object(result, _console())
    return SUPPORTED if result.supported else UNSUPPORTED


def _ask(options: argparse.Namespace) -> int:
    from tenacity import stop_after_attempt

    from groundrail.decoding import PMI, HFGenerator
    from groundrail.report.terminal import print_sentence

    if options.attempts < 1:
        raise InputError(f"--attempts is {options.attempts}; at least one try is needed")
    documents = as_documents(_documents(options.source))
    steering = PMI(options.alpha) if options.alpha else None
    with _status("loading the language model and the judge"):
        if options.model:
            generator = HFGenerator.from_pretrained(options.model, steering=steering)
        else:
            from groundrail.generators.smollm2 import smollm2

            generator = HFGenerator(*smollm2(), steering=steering)
        guard = _guard(options, generator)
    guard = guard.with_policy(guard.policy.replacing(stop=stop_after_attempt(options.attempts)))
    stream = guard.stream(options.question, documents)
    console = _console()
    for sentence in stream.sentences():
        if not options.json:
            print_sentence(sentence, console)
    if stream.result.supported and is_blank(stream.result.answer):
        raise InputError("the model wrote nothing: there is nothing to check")
    if options.json:
        _print_json(stream.result)
    elif not stream.result.text.strip():
        console.print("Nothing the model wrote is supported by the source.", style="yellow")
    return SUPPORTED if stream.result.supported else UNSUPPORTED


def _judges(options: argparse.Namespace) -> int:
    from groundrail.report.judges import as_json, listed, told

    print(as_json(options.name) if options.json else told(options.name) if options.name else listed())
    return SUPPORTED


def _print_json(result: "GuardResult | ObjectResult") -> None:
    from groundrail.report.hidden import in_json

    print(in_json(result.model_dump_json(indent=2)))


def _score(options: argparse.Namespace) -> int:
    from groundrail.corpus.folder import score_corpus

    with _progress("scoring") as report:
        tally = score_corpus(
            options.input,
            options.out,
            ScorerChoice.of(options).load,
            engine=options.engine,
            threshold=options.threshold,
            workers=options.workers,
            gpus=options.gpus,
            progress=report,
        )
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(tally.verdicts.items())) or "none"
    again = f" ({tally.retried} that were errors before were tried again)" if tally.retried else ""
    print(f"{tally.verdicts.total()} rows in {options.out}: {told}{again}")
    return SUPPORTED if set(tally.verdicts) <= {"supported", "no_claim"} else UNSUPPORTED


def _demo(options: argparse.Namespace) -> int:
    if options.web:
        from groundrail.cli.serve import run_demo

        return run_demo()
    from groundrail.cli.demo import run

    return run(_console())


def _threshold(given: str | None) -> float | str | None:
    from groundrail.policy import Threshold

    if given is None or given in get_args(Threshold):
        return given
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"--threshold is {given}; pass a number or one of {', '.join(get_args(Threshold))}")
    return number


def _guard(options: argparse.Namespace, generator: object = None) -> "Guard":
    from groundrail.guard import Guard
    from groundrail.policy import Policy

    policy = Policy(threshold=_threshold(options.threshold))  # type: ignore[arg-type]
    return Guard(generator, scorer=ScorerChoice.of(options).load(), policy=policy)  # type: ignore[arg-type]


def _console() -> "Console":
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> NoReturn:  # rich would leave with exit code 1
            raise BrokenPipeError("whoever read along has gone")

    console = Output(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Output(highlight=False, no_color=True)


def _status(doing: str):  # type: ignore[no-untyped-def]
    from rich.console import Console

    return Console(stderr=True).status(f"{doing} ...")


@contextmanager
def _progress(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Bars on standard error, shown on terminals only: what is yielded moves the upper one, called with steps done and
    in all; the lower one is that of the stage which the work is at by itself.
    """
    from rich.console import Console
    from rich.progress import Progress

    from groundrail.runtime.progress import heard_by

    screen = Console(stderr=True)
    bar = Progress(console=screen, transient=True)
    with bar if screen.is_terminal else nullcontext():  # older versions of rich end even a disabled one with a line
        whole, stage = bar.add_task(doing, total=None), bar.add_task("", visible=False)

        def show(name: str, done: int, total: int) -> None:
            bar.update(stage, description=name, completed=done, total=total, visible=True)

        with heard_by(show):
            yield lambda done, total: bar.update(whole, completed=done, total=total)


def _documents(names: Sequence[str]) -> list[Document]:
    documents = []
    for name in names:
        label = "standard input" if name == "-" else name
        documents.append(Document(text=_read(name), id=label))
    return documents


def _read(name: str) -> str:
    """Text of a file or standard input. Raises: InputError in one line for whatever cannot be read as UTF-8."""
    try:
        if name == "-" and sys.stdin is None:
            raise InputError("standard input is closed: name a file, or pipe the text in")
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{name} is a folder; name the files in it") from None
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8 text (byte {error.start}); convert it, e.g. with iconv -t utf-8"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
