"""The `groundrail` command: check an answer, ask a model under guard, report on a log, score a corpus, evaluate, ...

Exit codes: 0 when everything is supported, 1 when something is not, 2 when the command cannot be carried out, its
output could not be written or the answer says nothing, 130 when it was interrupted.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from groundrail import __version__
from groundrail.errors import GroundrailError, InputError, MissingExtraError
from groundrail.runtime import entry_points

if TYPE_CHECKING:
    from cyclopts import App

BAD_USE = 2

STANDARD_INPUT = "standard input"
"""The name by which commands read standard input, in the place of "-"."""

_FACTS = ("name", "hub_id", "kind", "parameters", "licence", "languages", "published", "threshold", "code", "hint")
"""The fields of a judge that `judges` prints."""

GROUP = "groundrail.commands"
"""Entry points of this group are commands of other packages, and of groundrail's wings: functions as below."""

OWN = {
    "check": "groundrail.cli.answers:check",
    "ask": "groundrail.cli.answers:ask",
    "report": "groundrail.cli.answers:report",
    "demo": "groundrail.cli.main:demo",
    "judges": "groundrail.cli.main:judges",
    "score": "groundrail.cli.corpus:score",
    "serve": "groundrail.cli.serve:serve",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors become one line on standard error."""
    try:
        code = _run(sys.argv[1:] if arguments is None else list(arguments))
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk or a closed pipe shows here at the latest
        return code
    except BrokenPipeError:  # the program that reads our output has ended
        _abandon_output()
        return BAD_USE
    except OSError as error:
        _abandon_output()
        return _fail(f"reading or writing failed: {error}")


def _run(arguments: list[str]) -> int:
    try:
        from cyclopts import CycloptsError
    except ImportError as error:
        return _fail(_message(error))
    try:
        if sys.stdout is None:
            raise InputError("standard output is closed: there is nowhere to write the result to")
        tokens = [STANDARD_INPUT if token == "-" else token for token in arguments]
        code = app(arguments)(tokens, exit_on_error=False, print_error=False)
        return code if isinstance(code, int) else 0 if arguments else BAD_USE
    except (CycloptsError, GroundrailError, ImportError, ValueError) as error:
        return _fail(_message(error))
    except KeyboardInterrupt:
        _fail("interrupted")
        return 130


def app(arguments: Sequence[str]) -> "App":
    """The commands; other packages are only imported if these arguments name one of theirs, or none of groundrail's."""
    from cyclopts import App, Parameter

    plain = Parameter(negative=(), consume_multiple=True, show_default=lambda value: value or None)
    made = App(
        name="groundrail",
        help="Let a sentence out only when the source supports it.",
        version=__version__,
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        default_parameter=plain,
    )
    first = arguments[0] if arguments else ""
    for name, path in OWN.items():
        made.command(path if first in OWN else EntryPoint(name, path, GROUP).load(), name=name)
    others = [name for name in entry_points.names(GROUP) if name not in OWN]
    for name in [first] if first in others else [] if first in OWN else others:
        made.command(_command(name), name=name)
    return made


def _command(name: str) -> Callable[..., Any]:
    try:
        command: Callable[..., Any] = entry_points.load(GROUP, name)
    except InputError as error:
        failure = error

        def command(*_: str) -> int:
            raise failure

        command.__doc__ = str(error)
    return command


def _message(error: Exception) -> str:
    """The error in one line; one of an option that pydantic refuses names it."""
    from pydantic import ValidationError

    if isinstance(error, ImportError) and not isinstance(error, GroundrailError):
        package = (error.name or "").partition(".")[0]
        if package in ("rich", "cyclopts"):
            return str(MissingExtraError("The command line", "cli"))
        return f"{package or 'a package'} cannot be imported ({error}): install it, or groundrail again"
    if isinstance(error, GroundrailError) or not isinstance(error.__cause__, ValidationError):
        return str(error)
    wrong = error.__cause__.errors(include_input=False)[0]
    return f"--{'-'.join(map(str, wrong['loc'][:1])).replace('_', '-')}: {wrong['msg'].removeprefix('Value error, ')}"


def _fail(message: str) -> int:
    if sys.stderr is not None:
        shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in message)
        print(f"groundrail: {shown}", file=sys.stderr)
    return BAD_USE


def _abandon_output() -> None:
    """Standard output goes nowhere from here, so that the interpreter's last flush fails no more."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def demo(*, web: bool = False) -> int:
    """See a recorded answer judged, then a small model's.

    Args:
        web: in a browser, on a page to try your own texts on
    """
    if web:
        from groundrail.cli.serve import serve

        return serve(port=0, demo_model=True, open_browser=True)
    from groundrail.cli.demo import run
    from groundrail.cli.screen import console

    return run(console())


def judges(name: str | None = None, /, *, json: bool = False) -> int:
    """List the judges that can be named by one word.

    Args:
        name: print everything about this judge
        json: print JSON
    """
    from groundrail.cli.screen import as_json
    from groundrail.entailment.known import JUDGES, find

    found = JUDGES if name is None else (find(name) or (None,))[:1]
    facts = [{fact: getattr(judge, fact) for fact in _FACTS} for judge in found if judge is not None]
    if not facts:
        raise InputError(f"no judge is named {name!r}; groundrail judges lists the names")
    if json:
        print(as_json(facts))
    elif name is not None:
        print("\n".join(f"{fact:<10}  {value}" for fact, value in facts[0].items() if value != ""))
    else:
        print("\n".join(f"{judge['name']:<26}  {judge['parameters']:>5}  {judge['hub_id']}" for judge in facts))
        print("\nMore about one: groundrail judges NAME. Use it: --judge NAME, or NAME:FOLDER.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
