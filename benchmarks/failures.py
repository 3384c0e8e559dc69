"""A guard whose parts break: the text it releases, its verdict and its error, under every policy.

    python benchmarks/failures.py
    python benchmarks/failures.py --page docs/failures.md

A generator writes a true sentence, a false one and a true one. In each row one part breaks at the second sentence,
or at the beginning; each column is a policy. "1: error" means that one of the two true sentences was released, and that
the first sentence that was not supported has the verdict "error". Where async code ends otherwise than plain code, a cell tells both.
"""

import argparse
import asyncio
import concurrent.futures
import json
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from tenacity import RetryCallState
from tenacity.stop import stop_base

from groundrail import CheckedSentence, Citation, Guard, GuardResult, Policy
from groundrail.errors import GroundrailError, GroundrailWarning
from groundrail.generators import Generator, Session
from groundrail.runtime import progress
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.types import Document, Source

SOURCE = "The rent is 950 euros. Pets are allowed."
TRUE, FALSE, LAST = "The rent is 950 euros. ", "The rent is 990 euros. ", "Pets are allowed."
LATE = 1.2
"""Seconds: longer than the deadlines of the rows in which a part is late."""
QUOTED = Citation(document_id="source", start=0, end=22, text="The rent is 950 euros.", score=0.9)
"""The place in the source that contradicts the false sentence."""


class Outcome(NamedTuple):
    """The outcome of one answer: what a reader of the stream got, the verdict of the first sentence that was not
    supported, and the name of what was raised, empty for nothing.
    """

    released: str
    verdict: str
    error: str


def _score(claim: str) -> Any:
    return Score(0.0, conflict=QUOTED) if "990" in claim else Score(1.0)


class Break(NamedTuple):
    """A part that breaks: what a claim's score becomes, what a session does, or what the call is given.

    second: the scorer that is asked in cases of doubt. async_only: plain code has no such thing. alone: needs a process
    of its own, which the break ends or may end.
    """

    name: str
    score: Callable[[str], Any] = _score
    read: Callable[[], object] = lambda: None
    started: Callable[[], object] = lambda: None
    writing: Callable[[str], object] = lambda sentence: None
    told: Callable[[], object] = lambda: None
    source: Source = SOURCE
    policy: dict[str, Any] = {}  # noqa: RUF012
    claim_of: Callable[[str, str, str], str | None] | None = None
    second: "Break | None" = None
    async_only: bool = False
    alone: bool = False


class _Judge(Scorer):
    def __init__(self, broken: Break) -> None:
        self._broken = broken

    def read(self, source: Source) -> Reader:
        self._broken.read()
        return Prepared(self._score, None)

    def _score(self, claims: Sequence[str], source: None) -> list[Score]:
        scores = [self._broken.score(claim) for claim in claims]
        return scores[0] if isinstance(scores[0], list) else scores


class _Writer(Generator, Session):
    """Generator and session in one."""

    def __init__(self, broken: Break) -> None:
        self._broken = broken

    def start(self, question: str, documents: Sequence[Document]) -> "_Writer":
        self._broken.started()
        return self

    @property
    def can_retry(self) -> bool:
        return False

    def propose(self) -> Iterator[str]:
        for sentence in (TRUE, FALSE, LAST):
            self._broken.writing(sentence)
            yield sentence

    def accept(self, n_chars: int) -> None:
        self._broken.told()

    def reject(self, n_chars: int) -> None:
        self._broken.told()


def _raise(error: BaseException, where: str = "") -> Callable[..., Any]:
    def fail(*given: Any) -> Any:
        if where and (not given or where not in given[0]):
            return Score(1.0)
        raise error

    return fail


def _late(*given: Any) -> Any:
    if not given or "990" in given[0]:
        time.sleep(LATE)
    return Score(1.0)


def _at_second(value: Any) -> Callable[[str], Any]:
    return lambda claim: value if "990" in claim else Score(1.0)


def _second(name: str, **broken: Any) -> Break:
    """The first scorer is in doubt about the false sentence, and the second one breaks."""
    return Break(
        f"second scorer {name}",
        score=lambda claim: Score(0.5 if "990" in claim else 1.0),
        policy={"doubt": (0.4, 0.6)},
        second=Break(name, **broken),
    )


class _RaisingStop(stop_base):
    def __call__(self, state: RetryCallState) -> bool:
        raise LookupError("stop")


def _told_progress() -> None:
    with progress.heard_by(_raise(LookupError("progress"))):
        progress.begin("reading", 1)


_task: ContextVar[tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any]"]] = ContextVar("task")


def _cancel(claim: str) -> Any:
    """Cancels the task that the answer is written in."""
    if "990" in claim:
        loop, task = _task.get()
        loop.call_soon_threadsafe(task.cancel)
    return Score(1.0)


def _hang(claim: str) -> Any:
    """Takes far longer than any deadline, in steps that can be stopped."""
    if "990" in claim:
        for _ in range(6000):
            time.sleep(0.01)
    return Score(1.0)


def _interrupt(claim: str) -> Any:
    """Ctrl-C while the claim is judged."""
    if "990" in claim:
        time.sleep(0.1)  # until the main thread waits for the score
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    return _hang(claim)


_ERRORS: dict[str, BaseException] = {
    "RuntimeError": RuntimeError("broken"),
    "MemoryError": MemoryError("no memory"),
    "TimeoutError": TimeoutError("its own"),
    "StopIteration": StopIteration("ended"),
    "CancelledError of concurrent.futures": concurrent.futures.CancelledError("cancelled"),
    "CancelledError of asyncio": asyncio.CancelledError("cancelled"),
    "ConnectionError": ConnectionError("gone"),
    "KeyboardInterrupt": KeyboardInterrupt("interrupted"),
    "SystemExit": SystemExit(3),
}
_FAULT = RuntimeError("broken")
_TEXT: Any = "high"
BREAKS = (
    Break("nothing breaks"),
    *(Break(f"scorer raises {name}", score=_raise(error, "990")) for name, error in _ERRORS.items()),
    *(Break(f"reading the source raises {name}", read=_raise(_ERRORS[name])) for name in ("RuntimeError", "MemoryError")),
    Break("scorer gives NaN", score=_at_second(Score(float("nan")))),
    Break("scorer gives infinity", score=_at_second(Score(float("inf")))),
    Break("scorer gives None", score=_at_second(None)),
    Break("scorer gives text", score=_at_second(Score(_TEXT))),
    Break("scorer gives too many scores", score=_at_second([Score(1.0)] * 2)),
    Break("scorer gives malformed citations", score=_at_second(Score(1.0, (_TEXT,)))),
    Break("scorer is late", score=_late),
    _second("raises", score=_raise(_FAULT, "990")),
    _second("gives NaN", score=_at_second(Score(float("nan")))),
    _second("is late", score=_late),
    _second("cannot read the source", read=_raise(_FAULT)),
    *(Break(f"generator's start raises {name}", started=_raise(error)) for name, error in _ERRORS.items()),
    *(Break(f"generator raises {name}", writing=_raise(error, "990")) for name, error in _ERRORS.items()),
    Break("generator is late", writing=_late),
    Break("generator's start is late", started=_late),
    Break("session's accept raises", told=_raise(_FAULT)),
    Break("session's accept is late", told=_late),
    Break("no source", source=""),
    Break("blank source", source=" \n"),
    Break("invisible source", source="\u200b\ufeff"),
    Break("no documents", source=[]),
    Break("calibration raises", policy={"calibration": _raise(ZeroDivisionError("no"))}),
    Break("calibration gives NaN", policy={"calibration": lambda value: float("nan")}),
    Break("calibration gives text", policy={"calibration": lambda value: "high"}),
    Break("claim function raises", claim_of=_raise(KeyError("no"))),
    Break("stop of the policy raises", policy={"stop": _RaisingStop()}),
    Break("progress callback raises", read=_told_progress),
    Break("task is cancelled", score=_cancel, async_only=True),
    Break("process is interrupted (SIGINT)", score=_interrupt, alone=True),
    Break("process exits while a scorer is late", score=_hang, alone=True),
)


def _replace(sentence: CheckedSentence) -> str | None:
    return "[left out] "


_TIGHT = {"deadline": LATE / 3, "answer_deadline": 4 * LATE}
_AMPLE = {"deadline": 60.0, "answer_deadline": 120.0}
"""Seconds: where nothing is late, a busy machine must not make it so."""
POLICIES: dict[str, dict[str, Any]] = {
    "drop": {"fallback": "drop"},
    "flag": {"fallback": "flag"},
    "quote": {"fallback": "quote"},
    "abstain": {"fallback": "abstain"},
    "raise": {"fallback": "raise"},
    "callable": {"fallback": _replace},
    "callable that raises": {"fallback": _raise(LookupError("fallback"))},
    "open on error": {"on_error": "open"},
    "open without source": {"on_no_source": "open"},
    "nothing refused kept": {"keep_refused": False},
}


def outcome(broken: Break, policy: str, *, is_async: bool) -> Outcome:
    """Write one answer with this part broken, in a process of its own where that may end with it."""
    if not broken.alone:
        return _written(broken, policy, is_async=is_async)
    command = [sys.executable, __file__, "--alone", broken.name, policy, *["async"] * is_async]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode or done.stderr:
        return Outcome("", "", f"exit code {done.returncode} {done.stderr}".strip())
    return Outcome(*json.loads(done.stdout))


def _written(broken: Break, policy: str, *, is_async: bool) -> Outcome:
    more: dict[str, Any] = {} if broken.claim_of is None else {"claim_of": broken.claim_of}
    deadlines = _TIGHT if "late" in broken.name else _AMPLE
    rules = Policy(**(deadlines | POLICIES[policy] | broken.policy))
    second = None if broken.second is None else _Judge(broken.second)
    guard = Guard(_Writer(broken), scorer=_Judge(broken), second=second, policy=rules, **more)
    released: list[str] = []
    answered = _answered_async if is_async else _answered
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GroundrailWarning)  # of a source without text
            result = answered(guard, broken.source, released)
    except BaseException as error:
        found = getattr(error, "result", None) if isinstance(error, GroundrailError) else None
        return Outcome("".join(released), _verdict(found), type(error).__name__)
    return Outcome("".join(released), _verdict(result), "")


def _answered(guard: Guard, source: Source, released: list[str]) -> GuardResult:
    with guard.stream("?", source) as stream:
        released.extend(stream)
        return stream.result


def _answered_async(guard: Guard, source: Source, released: list[str]) -> GuardResult:
    async def answer() -> GuardResult:
        task = asyncio.current_task()
        assert task is not None
        _task.set((asyncio.get_running_loop(), task))
        async with await guard.astream("?", source) as stream:
            async for text in stream:
                released.append(text)  # noqa: PERF401  # at once: what comes next may raise
            return stream.result

    return asyncio.run(answer())


def _verdict(result: object) -> str:
    if not isinstance(result, GuardResult):
        return ""
    failed = [s.verdict.value for s in result.sentences if s.verdict.value not in ("supported", "no_claim")]
    return failed[0] if failed else "supported"


def cell(broken: Break, policy: str, find: Callable[..., Outcome] = outcome) -> str:
    """The cell of the table in one row and column."""
    told = {
        how: f"{_true(found)}{' and the false one' * (FALSE in found.released)}: {found.error or found.verdict}"
        for how in ("plain", "async")
        if how == "async" or not broken.async_only
        for found in [find(broken, policy, is_async=how == "async")]
    }
    alike = len(set(told.values())) == 1 and not broken.async_only
    return told["plain"] if alike else ", ".join(f"{how} {what}" for how, what in told.items())


def table(find: Callable[..., Outcome] = outcome) -> str:
    """The table in Markdown, of what `find` gives for every row and column; rows and columns that are alike are one."""
    cells = {(row.name, policy): cell(row, policy, find) for row in BREAKS for policy in POLICIES}
    rows = _alike([row.name for row in BREAKS], lambda name: tuple(cells[name, policy] for policy in POLICIES))
    columns = _alike(list(POLICIES), lambda policy: tuple(cells[names[0], policy] for names in rows))
    lines = [_HEAD + " | ".join(map(", ".join, columns)) + " |", "| --- " * (len(columns) + 1) + "|"]
    lines += [f"| {_named(names)} | {' | '.join(cells[names[0], ps[0]] for ps in columns)} |" for names in rows]
    return "\n".join(lines) + "\n"


def _alike(names: Sequence[str], told: Callable[[str], tuple[str, ...]]) -> list[list[str]]:
    """The names in groups of which the table says the same."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        groups.setdefault(told(name), []).append(name)
    return list(groups.values())


def _named(names: Sequence[str]) -> str:
    """The names in one cell, where "scorer raises" and the like are said once."""
    whats: dict[str, list[str]] = {}
    for name in names:
        what = max((name[: name.find(verb) + len(verb)] for verb in (" raises ", " gives ") if verb in name), default="")
        whats.setdefault(what, []).append(name.removeprefix(what))
    return "; ".join(what + ", ".join(rest) if what else "; ".join(rest) for what, rest in whats.items())


_HEAD = "| what breaks | "


def _true(found: Outcome) -> int:
    return (TRUE in found.released) + (LAST in found.released)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="also put the table into this page, in the old one's place")
    parser.add_argument("--alone", nargs="+", metavar="WORD", help=argparse.SUPPRESS)  # row, policy, and "async"
    options = parser.parse_args()
    if options.alone:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
        name, policy, *how = options.alone
        broken = next(row for row in BREAKS if row.name == name)
        print(json.dumps(_written(broken, policy, is_async=bool(how))))
        return
    text = table()
    print(text, end="")
    if options.page is not None:
        page = options.page.read_text(encoding="utf-8")
        old = re.compile(rf"^{re.escape(_HEAD + next(iter(POLICIES)))}.*\n(?:\|.*\n)+", re.MULTILINE)
        options.page.write_text(old.sub(lambda _: text, page), encoding="utf-8")


if __name__ == "__main__":
    main()
