"""Measures splitters against WikiSplit: a sentence, and the two sentences that people split it into.

    python benchmarks/subsentences.py --data wiki_split_validation.tsv
    python benchmarks/subsentences.py --data wiki_split_validation.tsv --model HUB_ID --prefix "split: "

Columns: rows with exactly two units; token F1 of predicted against written units, one to one, over the larger
number of the two (so a missing or surplus unit counts 0); the same among rows cut in two; units a sentence; and
the share of the written simple sentences that are left whole, as they should be. Pronouns and words the writers
changed count as wrong, so no splitter that keeps to the sentence can reach 100.
"""

import argparse
import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

from groundrail.papers.units.clauses import ClauseSplitter
from groundrail.papers.units.subsentences import Seq2SeqSplitter

Splitter: TypeAlias = Callable[[str], list[str]]

_WORD = re.compile(r"\w+")
_SPACING = ((r" ([,.;:?!)%])", r"\1"), (r"([($]) ", r"\1"), (r" (n't|'\w+)\b", r"\1"), (r"``|''", '"'))


def natural(text: str) -> str:
    """WikiSplit's tokens as text: the spaces before commas, clitics and brackets taken out."""
    for pattern, replacement in _SPACING:
        text = re.sub(pattern, replacement, text)
    return " ".join(text.split())


def load(path: Path) -> list[tuple[str, list[str]]]:
    """Sentences and their two parts."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(natural(row[0]), [natural(part) for part in row[1].split("<::::>")]) for row in rows]


def token_f1(predicted: str, written: str) -> float:
    """F1 over words with multiplicity, case ignored."""
    ours, theirs = Counter(_WORD.findall(predicted.lower())), Counter(_WORD.findall(written.lower()))
    return 2 * (ours & theirs).total() / max(1, ours.total() + theirs.total())


def agreement(predicted: Sequence[str], written: Sequence[str]) -> float:
    """Token F1 of the best one-to-one assignment, per unit of the longer list."""
    table = np.array([[token_f1(ours, theirs) for theirs in written] for ours in predicted])
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum()) / max(len(predicted), len(written))


def whole(sentence: str) -> list[str]:
    """No splitting at all."""
    return [sentence]


def halves(sentence: str) -> list[str]:
    """Cut at the comma or conjunction nearest the middle."""
    places = [match.span() for match in re.finditer(r"; |, (?:and |but )?| and | but ", sentence)]
    if not places:
        return [sentence]
    start, end = min(places, key=lambda span: abs(span[0] - len(sentence) / 2))
    return [sentence[:start], sentence[end:]]


def measured(split: Splitter, rows: Sequence[tuple[str, list[str]]]) -> str:
    """One row of the table, without the name."""
    found = [split(sentence) for sentence, _ in rows]
    scores = np.array([agreement(units, parts) for units, (_, parts) in zip(found, rows, strict=True)])
    two = np.array([len(units) == len(parts) for units, (_, parts) in zip(found, rows, strict=True)])
    simple = [len(split(part)) == 1 for _, parts in rows for part in parts]
    cells = (
        f"{100 * two.mean():.1f}",
        f"{100 * scores.mean():.1f}",
        f"{100 * scores[two].mean():.1f}" if two.any() else "-",
        f"{np.mean([len(units) for units in found]):.2f}",
        f"{100 * np.mean(simple):.1f}",
    )
    return " | ".join(cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="only the first rows")
    parser.add_argument("--model", help="also measure this encoder-decoder, by id or folder")
    parser.add_argument("--prefix", default="", help="what the model wants before the sentence")
    parser.add_argument("--separator", help="what the model writes between units")
    args = parser.parse_args()

    rows = load(args.data)[: args.limit]
    clauses = ClauseSplitter()
    splitters: dict[str, Splitter] = {
        "whole sentence": whole,
        "halves": halves,
        "ClauseSplitter": lambda sentence: [unit.text for unit in clauses.split(sentence)],
    }
    if args.model:
        seq2seq = Seq2SeqSplitter.from_pretrained(args.model, prefix=args.prefix, separator=args.separator)
        splitters[args.model] = lambda sentence: [unit.text for unit in seq2seq.split(sentence)]
    print(f"{len(rows)} rows of {args.data.name}\n")
    print("| splitter | two units, % | token F1 | token F1 where two | units | simple left whole, % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, split in splitters.items():
        print(f"| {name} | {measured(split, rows)} |")


if __name__ == "__main__":
    main()
