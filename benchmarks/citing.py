"""Sentences that name a document, quote one or say who says something: how many does the guard release, right and wrong?

    python benchmarks/citing.py
    python benchmarks/citing.py --marks ignore
    python benchmarks/citing.py --claims benchmarks/claims/attributions_dev.jsonl

`citing.toml` holds 12 times three documents with sentences about them, 300 in all. A wrong mark names another document
than the one that supports the sentence, a wrong quotation has another word or speaker, a wrong attribution a speaker who
does not say this. The judge is the built-in one, and the guard checks one sentence at a time.
"""

import argparse
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from shared import json_lines

from groundrail import Guard, Policy

CASES = Path(__file__).with_name("citing.toml")
SORTS = ("mark", "quotation", "attribution")


class Case(NamedTuple):
    """A sentence about documents, and whether it cites them rightly. sort: one of `SORTS`."""

    documents: Sequence[str]
    sort: str
    right: bool
    text: str


def cases() -> Iterator[Case]:
    """The cases of the file."""
    for told in tomllib.loads(CASES.read_text(encoding="utf-8"))["texts"]:
        for sort in SORTS:
            for kind in ("right", "wrong"):
                for text in told[sort][kind]:
                    yield Case(told["documents"], sort, kind == "right", text)


def claims(path: Path) -> Iterator[Case]:
    """The claims of a file as in `benchmarks/claims`, of which the entailed ones are right."""
    for told in json_lines(path):
        for claim in told["claims"]:
            yield Case([told["text"]], "attribution", claim["label"] == "entailment", claim["text"])


def main() -> None:
    """Print a row for each sort, and on request the sentences with the wrong verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--marks", choices=["check", "correct", "strip", "ignore"], default="check")
    parser.add_argument("--sort", choices=SORTS, help="only sentences of this sort")
    parser.add_argument("--claims", type=Path, help="claims about who says what, instead of the cases")
    parser.add_argument("--wrong", action="store_true", help="print the sentences that get the wrong verdict")
    options = parser.parse_args()
    guard = Guard(policy=Policy(marks=options.marks))
    counts: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    for case in claims(options.claims) if options.claims else cases():
        if options.sort in (None, case.sort):
            result = guard.check(case.text, case.documents)
            counts[case.sort, case.right].append(result.supported is case.right)
            if options.wrong and result.supported is not case.right:
                told = result.sentences[0]
                said = f"{case.sort}, {'right' if case.right else 'wrong'}: {case.text} ({told.score}, {told.reason})"
                print(said, file=sys.stderr)
    for (sort, right), judged in sorted(counts.items()):
        print(f"{sort:12} {'right, released' if right else 'wrong, held back':16}  {sum(judged)} of {len(judged)}")


if __name__ == "__main__":
    main()
