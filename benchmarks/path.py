"""Print the modules that one sentence passes, from the generator's text to its `CheckedSentence`.

    python benchmarks/path.py

Traces `Guard.stream` over two sentences with the default scorer and a fake judge, so that no model's own code is counted.
A change of module is a call from one module of groundrail into another one, or a return.
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
BESIDE = ("scoring", "entailment", "testing", "runtime")
"""Rooms that are counted apart: the scorer's and the judge's own, and the fake judge's."""


class Tracer:
    """Counts calls and changes of module within groundrail while it is switched on."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.changes = 0
        self._last = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> "Tracer | None":
        module = str(frame.f_globals.get("__name__", ""))
        if not module.startswith("groundrail") or event != "call":
            return None
        self.calls[module] += 1
        self.changes += module != self._last
        self._last = module
        return None


def traced() -> Tracer:
    """Stream the answer once to load everything, then once under the tracer."""

    def write(prompt: str, documents: Sequence[Any]) -> str:
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
    own = {name for name in tracer.calls if name.split(".")[1] not in BESIDE}
    print(f"{len(tracer.calls)} modules, {sum(tracer.calls.values())} calls, {tracer.changes} changes of module")
    print(f"{len(own)} modules beside the scorer, the judge and the runtime:")
    for name, count in tracer.calls.most_common():
        print(f"{count:6} {'' if name in own else '(beside) '}{name}")


if __name__ == "__main__":
    main()
