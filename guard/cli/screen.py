"""The screen of a command: results on standard output, on standard error how far the work has come."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, is_dataclass
from math import isfinite
from time import monotonic
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from groundrail.errors import MissingExtraError

if TYPE_CHECKING:
    from rich.console import Console


_BETWEEN_LINES = 60.0
"""Seconds between lines that say how far the work has come."""


def console(stderr: bool = False) -> "Console":
    """A console for tables, without colours where the output is no terminal. Raises: MissingExtraError."""
    try:
        from rich.console import Console
    except ImportError as error:
        raise MissingExtraError("The command line", "cli") from error

    class Output(Console):
        def on_broken_pipe(self) -> NoReturn:  # rich would leave with exit code 1
            raise BrokenPipeError("the reader of the output has gone")

    made = Output(highlight=False, stderr=stderr)
    return made if made.is_terminal else Output(highlight=False, no_color=True, stderr=stderr)


@contextmanager
def progress(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Two bars on standard error; the function inside moves the upper one by steps done and in all.

    The lower bar is that of the stage which the work reports by itself (`groundrail.runtime.progress`). Where standard
    error is no terminal, a line a minute says how far the work has come.
    """
    screen = console(stderr=True)
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    from groundrail.runtime.progress import heard_by

    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=screen, transient=True)
    with bar if screen.is_terminal else nullcontext():  # older versions of rich end even a disabled one with a line
        whole, stage = bar.add_task(doing, total=None), bar.add_task("", visible=False)

        printed = monotonic()

        def say(name: str, done: int, total: int) -> None:
            nonlocal printed
            if not screen.is_terminal and monotonic() - printed >= _BETWEEN_LINES:
                printed = monotonic()
                screen.print(f"{name}: {done:,} of {total:,}", markup=False)

        def show(name: str, done: int, total: int) -> None:
            bar.update(stage, description=name, completed=done, total=total, visible=True)
            say(name, done, total)

        def move(done: int, total: int) -> None:
            bar.update(whole, completed=done, total=total)
            say(doing, done, total)

        with heard_by(show):
            yield move


def as_json(value: Any) -> str:
    """A report, its dataclasses as objects, in JSON; NaN and infinity, which JSON does not have, become null."""
    return json.dumps(_finite(value), indent=1)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, SimpleNamespace):
        return _finite(vars(value))
    if is_dataclass(value) and not isinstance(value, type):
        return _finite(asdict(value))
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
