"""What a guard releases, which verdict it gives and what it raises when a part breaks, under every policy.

    python benchmarks/failures.py
    python benchmarks/failures.py --markdown docs/failures_table.md

A generator writes a true sentence, a false one and a true one. In each row one part breaks at the second sentence,
or at the beginning; each column is a policy. "1 of 2" means that one of the two true sentences was released.
"""

import argparse
import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, NamedTuple

from groundrail import CheckedSentence, Guard, GuardResult, Policy
from groundrail.errors import GroundrailError
from groundrail.generators import Generator, Session
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.types import Document, Source

SOURCE = "The rent is 950 euros. Pets are allowed."
TRUE, FALSE, LAST = "The rent is 950 euros. ", "The rent is 990 euros. ", "Pets are allowed."
LATE = 1.2
"""Seconds: longer than the deadlines of the rows in which a part is late."""


class Outcome(NamedTuple):
    """What came of one answer. `error` is the name of what was raised, empty for nothing."""

    released: str
    verdict: str
    error: str


class Break(NamedTuple):
    """A part that breaks: what a claim's score becomes, what a session does, or what the call is given."""

    name: str
    score: Callable[[str], Any] = lambda claim: Score(float("990" not in claim))
    read: Callable[[], object] = lambda: None
    started: Callable[[], object] = lambda: None
    writing: Callable[[str], object] = lambda sentence: None
    told: Callable[[], object] = lambda: None
    source: Source = SOURCE
    policy: dict[str, Any] = {}  # noqa: RUF012
    claim_of: Callable[[str, str, str], str | None] | None = None


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

    def start(self, prompt: str, documents: Sequence[Document]) -> "_Writer":
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


_ERRORS: tuple[BaseException, ...] = (
    RuntimeError("broken"),
    MemoryError("no memory"),
    TimeoutError("its own"),
    StopIteration("ended"),
    CancelledError("cancelled"),
    ConnectionError("gone"),
    KeyboardInterrupt("interrupted"),
    SystemExit(3),
)
_TEXT: Any = "high"
BREAKS = (
    Break("nothing breaks"),
    *(Break(f"scorer raises {type(e).__name__}", score=_raise(e, "990")) for e in _ERRORS),
    *(Break(f"reading the source raises {type(e).__name__}", read=_raise(e)) for e in _ERRORS[:2]),
    Break("scorer gives NaN", score=_at_second(Score(float("nan")))),
    Break("scorer gives infinity", score=_at_second(Score(float("inf")))),
    Break("scorer gives None", score=_at_second(None)),
    Break("scorer gives text", score=_at_second(Score(_TEXT))),
    Break("scorer gives too many scores", score=_at_second([Score(1.0)] * 2)),
    Break("scorer gives malformed citations", score=_at_second(Score(1.0, (_TEXT,)))),
    Break("scorer is late", score=_late),
    *(Break(f"generator's start raises {type(e).__name__}", started=_raise(e)) for e in _ERRORS),
    *(Break(f"generator raises {type(e).__name__}", writing=_raise(e, "990")) for e in _ERRORS),
    Break("generator is late", writing=_late),
    Break("generator's start is late", started=_late),
    Break("session's accept raises", told=_raise(RuntimeError("broken"))),
    Break("session's accept is late", told=_late),
    Break("no source", source=""),
    Break("blank source", source=" \n"),
    Break("invisible source", source="\u200b\ufeff"),
    Break("no documents", source=[]),
    Break("calibration raises", policy={"calibration": _raise(ZeroDivisionError("no"))}),
    Break("calibration gives NaN", policy={"calibration": lambda value: float("nan")}),
    Break("calibration gives text", policy={"calibration": lambda value: "high"}),
    Break("claim function raises", claim_of=_raise(KeyError("no"))),
)


def _replace(sentence: CheckedSentence) -> str | None:
    return "[left out] "


_TIGHT = {"deadline": LATE / 3, "answer_deadline": 4 * LATE}
_AMPLE = {"deadline": 60.0, "answer_deadline": 120.0}
"""Seconds: where nothing is late, a busy machine must not make it so."""
POLICIES: dict[str, dict[str, Any]] = {
    "drop": {"fallback": "drop"},
    "flag": {"fallback": "flag"},
    "abstain": {"fallback": "abstain"},
    "raise": {"fallback": "raise"},
    "callable": {"fallback": _replace},
    "callable that raises": {"fallback": _raise(LookupError("fallback"))},
    "open on error": {"on_error": "open"},
    "open without source": {"on_no_source": "open"},
    "nothing refused kept": {"keep_refused": False},
}


def outcome(broken: Break, policy: str, *, is_async: bool) -> Outcome:
    """Write one answer with this part broken."""
    more: dict[str, Any] = {} if broken.claim_of is None else {"claim_of": broken.claim_of}
    deadlines = _TIGHT if broken.name.endswith("is late") else _AMPLE
    rules = Policy(**(deadlines | POLICIES[policy] | broken.policy))
    guard = Guard(_Writer(broken), scorer=_Judge(broken), policy=rules, **more)
    try:
        result = asyncio.run(guard.agenerate("?", broken.source)) if is_async else guard.generate("?", broken.source)
    except BaseException as error:
        found = getattr(error, "result", None) if isinstance(error, GroundrailError) else None
        return Outcome(*_summed(found), type(error).__name__)
    return Outcome(*_summed(result), "")


def _summed(result: object) -> tuple[str, str]:
    if not isinstance(result, GuardResult):
        return "", ""
    failed = [s.verdict.value for s in result.sentences if s.verdict.value not in ("supported", "no_claim")]
    return result.text, failed[0] if failed else "supported"


def table(policies: Sequence[str] = tuple(POLICIES)) -> list[str]:
    """Lines of Markdown."""
    lines = ["| what breaks | " + " | ".join(policies) + " |", "| --- " * (len(policies) + 1) + "|"]
    for broken in BREAKS:
        found = [outcome(broken, policy, is_async=False) for policy in policies]
        cells = [
            f"{_true(o)} of 2{', the false one too' * (FALSE in o.released)}; {o.error or o.verdict}" for o in found
        ]
        lines.append(f"| {broken.name} | {' | '.join(cells)} |")
    return lines


def _true(found: Outcome) -> int:
    return (TRUE in found.released) + (LAST in found.released)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    text = "\n".join(table())
    print(text)
    if options.markdown is not None:
        options.markdown.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
