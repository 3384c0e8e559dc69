"""Print the modules that one sentence passes, from the generator's text to its `CheckedSentence`.

    python benchmarks/path.py

Traces `Guard.stream` over two sentences with the default scorer and a fake judge, so that no model's own code is counted.
A change of module is a call from one module of groundrail into another one, or a return. A module that is entered
only under a call of the scorer, as those that read the source, belongs to the scorer.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from types import FrameType
from typing import Any

from groundrail import Guard
from groundrail.scoring.registry import DEFAULT, load_scorer
from groundrail.testing import FakeEntailment

SOURCE = "The rent is 1,450 euros a month. The lease ends on 28 February 2026. Pets are not allowed."
ANSWER = "The rent is 1,450 euros. The lease ends on 28 February 2026."
SCORER = ("scoring", "entailment", "testing")
"""Rooms of the scorer, of the judge and of the fake judge."""
BESIDE = (*SCORER, "runtime")
"""Rooms that are counted apart."""


class Tracer:
    """Counts calls and changes of module within groundrail while it is switched on."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.own: set[str] = set()
        self.changes = 0
        self._last = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> "Tracer | None":
        module = _module(frame)
        if not module.startswith("groundrail") or event != "call":
            return None
        self.calls[module] += 1
        if _room(module) not in BESIDE and not _is_under_scorer(frame):
            self.own.add(module)
        self.changes += module != self._last
        self._last = module
        return None


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "groundrail" and len(parts) > 1 else ""


def _is_under_scorer(frame: FrameType | None) -> bool:
    while frame is not None:
        if _room(_module(frame)) in SCORER:
            return True
        frame = frame.f_back
    return False


def traced() -> Tracer:
    """Stream the answer once to load everything, then once under the tracer."""

    def write(question: str, documents: Sequence[Any]) -> str:
        return ANSWER

    guard = Guard(write, scorer=load_scorer(DEFAULT, FakeEntailment()))
    "".join(guard.stream("What are the terms?", SOURCE))
    tracer = Tracer()
    sys.settrace(tracer)
    try:
        text = "".join(guard.stream("What are the terms?", SOURCE))
    finally:
        sys.settrace(None)
    if text != ANSWER:
        raise SystemExit(f"the guard released {text!r}")
    return tracer


def main() -> None:
    tracer = traced()
    print(f"{len(tracer.calls)} modules, {sum(tracer.calls.values())} calls, {tracer.changes} changes of module")
    print(f"{len(tracer.own)} modules beside the scorer, the judge and the runtime:")
    for name, count in tracer.calls.most_common():
        print(f"{count:6} {'' if name in tracer.own else '(beside) '}{name}")


if __name__ == "__main__":
    main()
