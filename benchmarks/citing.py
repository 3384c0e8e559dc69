"""Sentences that name a document or quote one, rightly and wrongly: how many of each does the guard release?

    python benchmarks/citing.py
    python benchmarks/citing.py --marks ignore

`citing.jsonl` holds three documents a line, with sentences about them. A sentence of the sort "mark" names the document
that supports it, or another one; one of the sort "quotation" has the words of a document, or one word changed. The judge
is the built-in one, and the guard checks one sentence at a time.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from groundrail import Guard, Policy

CASES = Path(__file__).with_name("citing.jsonl")


class Case(NamedTuple):
    """A sentence about documents, and whether it cites them rightly. sort: "mark" or "quotation"."""

    sources: Sequence[str]
    sort: str
    right: bool
    text: str


def cases() -> Iterator[Case]:
    """The cases of the file."""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        for case in told["cases"]:
            yield Case(told["sources"], case["sort"], case["right"], case["text"])


def main() -> None:
    """Print a row for each sort, and on request the sentences with the wrong verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--marks", choices=["check", "correct", "strip", "ignore"], default="check")
    parser.add_argument("--wrong", action="store_true", help="print the sentences that get the wrong verdict")
    options = parser.parse_args()
    guard = Guard(policy=Policy(marks=options.marks))
    counts: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    for case in cases():
        result = guard.check(case.text, case.sources)
        counts[case.sort, case.right].append(result.supported)
        if options.wrong and result.supported is not case.right:
            told = result.sentences[0]
            print(
                f"{case.sort}, {'right' if case.right else 'wrong'}: {case.text} ({told.score}, {told.reason})",
                file=sys.stderr,
            )
    for (sort, right), released in sorted(counts.items()):
        out = sum(released) if right else len(released) - sum(released)
        print(f"{sort:9}  {'right, released' if right else 'wrong, held back':16}  {out} of {len(released)}")


if __name__ == "__main__":
    main()
