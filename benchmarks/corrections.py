"""Count the wrong claims that `Policy(fallback="correct")` corrects, and the corrections that are wrong.

    python benchmarks/corrections.py

Takes the wrong claims of the kinds number, date, unit and name of both development files, and true claims in which
`benchmarks/figures.py` exchanges a figure, 30 of a file. Prints each corrected sentence beside its citation. A person read
them all: `benchmarks/claims/corrected.jsonl` says which are right. A sentence that this file lacks counts as unread.
"""

import argparse
import json
import random
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from figures import source_of, with_invented_figure
from shared import DOCUMENTS, head, json_lines, row

from groundrail import Guard, GuardResult, Policy
from groundrail.evaluation.loaders import load
from groundrail.types import Document

HERE = Path(__file__).parent
FILES = (HERE / "claims" / "written_dev.jsonl", HERE / "challenge" / "challenge.jsonl")
LABELS = HERE / "claims" / "corrected.jsonl"
KINDS = ("number", "date", "unit", "name")
EXCHANGED = "exchanged figure"
MOST_EXCHANGED = 30


class Wrong(NamedTuple):
    """A wrong claim and its kind."""

    kind: str
    claim: str
    source: tuple[Document, ...]


def wrong_claims(path: Path) -> list[Wrong]:
    """The wrong claims of a file, in its order; the same ones every time."""
    draw, examples = random.Random(0), load(path, documents=DOCUMENTS)
    found = [Wrong(e.kind, e.claim, e.source) for e in examples if e.label == 0 and e.kind in KINDS]
    true = [example for example in examples if example.label == 1]
    exchanged = [(e, other) for e in true if (other := with_invented_figure(e.claim, source_of(e), draw))]
    drawn = draw.sample(exchanged, min(MOST_EXCHANGED, len(exchanged)))
    return found + [Wrong(EXCHANGED, other, example.source) for example, other in drawn]


def checked(claims: list[Wrong], guard: Guard) -> Iterator[tuple[Wrong, GuardResult]]:
    """The claims with their results; the claims about one source are judged together."""
    for source, same in groupby(sorted(claims, key=lambda each: each.source[0].id), key=lambda each: each.source):
        alike = list(same)
        yield from zip(alike, guard.check_all([each.claim for each in alike], list(source)), strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="*", default=FILES)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, EXCHANGED], help="kinds of claims")
    parser.add_argument("--unread", type=Path, help="add the corrections that have no label to this file")
    options = parser.parse_args()
    guard = Guard(policy=Policy(fallback="correct"))
    labels = {(each["claim"], each["corrected"]): each["right"] for each in json_lines(LABELS)}
    counts: dict[tuple[str, str], list[int]] = {}
    for path in options.data:
        for (kind, claim, _), result in checked([w for w in wrong_claims(path) if w.kind in options.kinds], guard):
            changed = any(sentence.corrected for sentence in result.sentences)
            right = labels.get((claim, result.text)) if changed else None
            cited = " ".join(citation.text for citation in result.citations)
            told = {True: "right", False: "wrong", None: "unread"}[right] if changed else "not corrected"
            if not result.supported:
                print(f"{claim}\n  {told}: {result.text}\n  {cited or result.sentences[0].reason}", flush=True)
            seen = (1, not result.supported, changed, right is False, changed and right is None)
            counts[path.stem, kind] = [a + b for a, b in zip(counts.get((path.stem, kind), [0] * 5), seen, strict=True)]
            if options.unread and changed and right is None:
                unread = {"claim": claim, "corrected": result.text, "cited": cited, "right": None}
                with options.unread.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(unread, ensure_ascii=False) + "\n")
    counts["all", ""] = [sum(column) for column in zip(*counts.values(), strict=True)]
    print()
    head("file | kind | claims | refused | corrected | wrong | unread")
    for of, numbers in counts.items():
        row(*of, *numbers)


if __name__ == "__main__":
    main()
