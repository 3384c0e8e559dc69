"""How long a reader waits for the first sentence and between sentences, as the table of docs/speed.md.

    python benchmarks/latency.py
    python benchmarks/latency.py --sentences 2 --runs 1

A scripted writer writes 50 tokens a second: by itself, as a server does whose text is read as it comes, or when it is asked,
as a model in this process does. The default guard judges each sentence over a source of three pages, with and without
writing ahead, quiet and beside a process that multiplies matrices on one core. Seconds are medians over the runs; the wait
for the first sentence includes reading the source, and the longest is the longest wait between two sentences of a run. What
the writer alone takes for a sentence stands in the last line.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from statistics import median

from busy import MULTIPLY, process
from memory import claims, source
from shared import head, row

from groundrail import Guard, Policy
from groundrail.entailment import load
from groundrail.generators import CallableGenerator

PER_SECOND = 50.0
"""Tokens that are written in a second."""

WORDS = 900
"""Words of the source: three pages."""


class Writer:
    """Writes the text token by token, at its own pace where it `pushes`, else each token when it is asked for."""

    def __init__(self, text: str, *, pushes: bool) -> None:
        ends = [end for _, end in load(None).offsets(text)]
        self._pieces = [text[start:end] for start, end in pairwise([0, *ends[:-1], len(text)])]
        self._pushes = pushes

    def __call__(self, prompt: str, accepted: str) -> Iterator[str]:
        due = time.perf_counter()
        for piece in self._pieces:
            due += 1 / PER_SECOND
            time.sleep(max(0.0, due - time.perf_counter()) if self._pushes else 1 / PER_SECOND)
            yield piece


def waits(guard: Guard, text: str) -> list[float]:
    """Seconds until each sentence is released, from the one before it or from the beginning."""
    times = [time.perf_counter()]
    with guard.stream("What does the source say?", text) as stream:
        times.extend(time.perf_counter() for _ in stream)
    return [later - earlier for earlier, later in pairwise(times)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=8, help="sentences of the answer")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    sentences = source(WORDS * 8)
    text = " ".join(" ".join(sentences).split()[:WORDS])
    answer = " ".join(claims(sentences[: len(sentences) // 2], options.sentences, some_false=False))
    # an unsupported sentence goes out as well, so that every run has the same sentences
    base = Guard(policy=Policy(attempts=1, fallback="flag"))
    guards = {
        (pushes, ahead): base.with_generator(CallableGenerator(Writer(answer, pushes=pushes), writes_ahead=ahead))
        for pushes in (True, False)
        for ahead in (False, True)
    }
    waits(guards[True, True], text)  # loads the judge
    head("text comes | written ahead | beside a busy process | first sentence, s | between sentences, s | longest, s")
    for is_busy in (False, True):
        with process(sys.executable, "-c", MULTIPLY) if is_busy else nullcontext():
            found: dict[tuple[bool, bool], list[list[float]]] = {which: [] for which in guards}
            for _ in range(options.runs):
                for which, guard in guards.items():
                    found[which].append(waits(guard, text))
        for (pushes, ahead), runs in found.items():
            first = median(run[0] for run in runs)
            between = [wait for run in runs for wait in run[1:]]
            longest = median(max(run[1:], default=0.0) for run in runs)
            how = ("by itself" if pushes else "when asked", *("yes" if yes else "no" for yes in (ahead, is_busy)))
            row(*how, *(f"{seconds:.2f}" for seconds in (first, median(between or [0.0]), longest)))
    tokens = len(load(None).offsets(answer))
    print(f"\nwriting takes {tokens / PER_SECOND / options.sentences:.2f} s a sentence")


if __name__ == "__main__":
    main()
