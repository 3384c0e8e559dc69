"""Time saved, and text wasted, by writing on while a sentence is judged, as Markdown tables.

Writer and judge are scripted and sleep, so that the seconds are those of the plan alone. Nothing is computed.

python benchmarks/pipelining.py
"""

import argparse
import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import shared

from groundrail import Guard, Policy
from groundrail.generators import CallableGenerator
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.types import Document, Source, as_documents

PIECES = 10
"""Pieces of a sentence."""


class Sleeping(Scorer):
    """Takes `seconds` a claim; supports all but those that are called wrong."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def read(self, source: Source) -> Reader:
        return Prepared(self._judge, as_documents(source))

    def _judge(self, claims: Sequence[str], documents: Sequence[Document]) -> list[Score]:
        time.sleep(self._seconds * len(claims))
        return [Score(float("wrong" not in claim)) for claim in claims]


class Writer:
    """Writes `sentences` of ten pieces, a share of them wrong at first try; goes on from `prefix`.

    Where it `pushes`, pieces come every `seconds`, read or not, as from a server; else they are begun when asked for.
    """

    def __init__(self, sentences: int, seconds: float, refused: float, seed: int, *, pushes: bool) -> None:
        self.seconds, self.pushes = seconds, pushes
        self.wrong = [_draw(seed, number) < refused for number in range(sentences)]
        self.written = self.calls = 0

    def __call__(self, question: str, prefix: str) -> Iterator[str]:
        due, first, retry = time.perf_counter(), prefix.count("\n\n"), self.calls > 0
        self.calls += 1
        for number in range(first, len(self.wrong)):
            wrong = self.wrong[number] and not (retry and number == first)
            for piece in [f"The {number}th ", *["rent "] * (PIECES - 2), f"is {'wrong' if wrong else 'right'}.\n\n"]:
                due += self.seconds
                time.sleep(max(0.0, due - time.perf_counter()) if self.pushes else self.seconds)
                self.written += 1
                yield piece


def _draw(seed: int, number: int) -> float:
    digest = hashlib.sha256(f"{seed} {number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: seconds to its first released sentence, to its end, and pieces that were written for nothing."""

    first: float
    whole: float
    wasted: int


def answered(writer: Writer, judge: float, *, ahead: bool) -> Answer:
    """Raises: AssertionError where the answer is not what was scripted."""
    guard = Guard(CallableGenerator(writer, writes_ahead=ahead), scorer=Sleeping(judge), policy=Policy())
    started, shown = time.perf_counter(), list[float]()
    with guard.stream("How much is the rent?", "The rent is 950 euros.") as stream:
        for _ in stream:
            shown.append(time.perf_counter() - started)
    if len(shown) != len(writer.wrong) or "wrong" in stream.result.text:
        raise AssertionError(f"{len(shown)} sentences came out: {stream.result.text}")
    return Answer(shown[0], time.perf_counter() - started, writer.written - PIECES * len(writer.wrong))


def row(seconds: float, judge: float, refused: float, sentences: int, runs: int, *, pushes: bool) -> list[str]:
    """Medians of `runs` answers each way, in turn."""
    found: dict[bool, list[Answer]] = {False: [], True: []}
    for seed in range(runs):
        for ahead in (False, True):
            writer = Writer(sentences, seconds, refused, seed, pushes=pushes)
            found[ahead].append(answered(writer, judge, ahead=ahead))
    cells = ["comes by itself" if pushes else "when asked", f"{judge:g}", f"{100 * refused:.0f} %"]
    for value in (lambda each: each.first, lambda each: each.whole):
        cells += [f"{median(map(value, found[ahead])):.2f}" for ahead in (False, True)]
    paired = zip(found[False], found[True], strict=True)
    cells.append(f"{median(ahead.whole / plain.whole for plain, ahead in paired):.2f}")
    return cells + [f"{median(each.wasted for each in found[ahead]):.0f}" for ahead in (False, True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=6)
    parser.add_argument("--piece", type=float, default=0.02, help="seconds to write one of a sentence's ten pieces")
    parser.add_argument("--judge", type=float, nargs="+", default=[0.05, 0.2], help="seconds to judge a sentence")
    parser.add_argument("--refused", type=float, nargs="+", default=[0.0, 0.2, 0.5, 1.0], help="share, at first try")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    shared.head("text | judge, s | refused | first sentence | ahead | whole answer | ahead | ratio | pieces wasted | ahead")
    plans: Sequence[tuple[bool, float, float]] = [
        *((False, judge, refused) for judge in arguments.judge for refused in arguments.refused),
        *((True, judge, 0.0) for judge in arguments.judge),
    ]
    for pushes, judge, refused in plans:
        shared.row(*row(arguments.piece, judge, refused, arguments.sentences, arguments.runs, pushes=pushes))


if __name__ == "__main__":
    main()
