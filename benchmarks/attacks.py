"""How often a false sentence gets out with each of many tricks, and without, by entailment model.

    python benchmarks/attacks.py
    python benchmarks/attacks.py --documents 1 --limit 1      # a first look
    python benchmarks/attacks.py --families                   # the second table alone
    python benchmarks/attacks.py --families heading table     # two of its families
    python benchmarks/attacks.py --entailment google/flan-t5-base --markdown docs/attacks_table.md

Each trick of `tricks.py` is applied to every fact of three documents: a true sentence, and the detail that makes it
false. Counted is how often anything but the true sentence was released. Tricks of the kind "form" are refused before a
model is asked, so that they must not get out whatever it says: the row of a model that believes everything shows that.
Tricks of which the first judge lets nothing out share one row for each kind, unless `--every` is given.
Each slip is a false sentence to each of three short sources of its own, of the kind "pairs".

A second table counts the families of `families.py`: false answers that came out, in part or whole, and their true twins
that came out whole.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import families
from shared import DOCUMENTS
from tricks import FACTS, SLIPS, TRICKS, Fact, Slip, Trick

from groundrail import Guard
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.scoring.nearest import NearestScorer
from groundrail.types import Source


class Believing(Scorer):
    """A judge that gives every claim the same score."""

    def __init__(self, value: float = 1.0) -> None:
        self.value = value
        self.claims: list[str] = []

    def read(self, source: Source) -> Reader:
        return Prepared(self._score, None)

    def _score(self, claims: Sequence[str], source: None) -> list[Score]:
        self.claims += claims
        return [Score(self.value) for _ in claims]


class Case(NamedTuple):
    """An answer to be kept back, all but the sentence in it that is true."""

    answer: str
    source: str
    true: str = ""


def tricked(trick: Trick, facts: Sequence[Fact], texts: dict[str, str]) -> list[Case]:
    """The trick on every fact. `texts`: the documents by name."""
    return [Case(trick.answer(fact), texts[fact.document], fact.true) for fact in facts]


def slipped(slip: Slip, documents: int | None = None) -> list[Case]:
    """The slip on its sources, or on the first `documents` of them."""
    return [Case(false, source) for source, false in slip.pairs[:documents]]


def released(guard: Guard, case: Case) -> bool:
    """Whether anything but the true sentence got out; rules and borders say nothing."""
    told = (sentence.released_text.strip() for sentence in guard.check(case.answer, case.source).sentences)
    return any(text != case.true and any(map(str.isalnum, text)) for text in told)


def sources() -> dict[str, str]:
    """The documents by name."""
    return {name: (DOCUMENTS / name).read_text(encoding="utf-8") for name in {fact.document for fact in FACTS}}


def chosen(documents: int | None, limit: int | None) -> list[Fact]:
    """At most `limit` facts of each of the first documents."""
    by_document: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in FACTS:
        by_document[fact.document].append(fact)
    return [fact for facts in list(by_document.values())[:documents] for fact in facts[:limit]]


def guards(entailment: Sequence[str]) -> dict[str, Guard]:
    """A guard for each kind of judge; those named read what the built-in one reads."""
    found = {"built-in": Guard(), "believes everything": Guard(scorer=Believing())}
    return found | {name: Guard(scorer=NearestScorer(name)) for name in entailment}


def rows(facts: Sequence[Fact], documents: int | None) -> Iterator[tuple[str, str, list[Case]]]:
    """Name, kind and cases of every row: what is left to the judge, the tricks of form last."""
    texts = sources()
    for slip in SLIPS:
        yield slip.name, "pairs", slipped(slip, documents)
    for trick in sorted(TRICKS, key=lambda trick: trick.form):
        yield trick.name, "form" if trick.form else "meaning", tricked(trick, facts, texts)


class Row(NamedTuple):
    """How many of a row's cases each judge let out."""

    name: str
    kind: str
    tried: int
    out: tuple[int, ...]


def counted(subjects: dict[str, Guard], facts: Sequence[Fact] = FACTS, documents: int | None = None) -> list[Row]:
    """Every row with its counts. Progress goes to standard error.

    facts: those on which tricks are tried. documents: of how many sources slips are made, all by default.
    """
    found = []
    for name, kind, cases in rows(facts, documents):
        out = tuple(sum(released(guard, case) for case in cases) for guard in subjects.values())
        found.append(Row(name, kind, len(cases), out))
        print(f"{len(found)} of {len(SLIPS) + len(TRICKS)}: {found[-1]}", file=sys.stderr, flush=True)
    return found


def summed(found: Sequence[Row]) -> list[Row]:
    """The rows of which the first judge let something out, and one row for the others of each kind."""
    open_rows = sorted((row for row in found if row.out[0]), key=lambda row: -row.out[0] / row.tried)
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in found:
        if not row.out[0]:
            groups[row.kind].append(row)
    closed = [
        Row(f"{len(group)} others", kind, sum(row.tried for row in group), _sums(group)) for kind, group in groups.items()
    ]
    return [*open_rows, *closed]


def _sums(found: Sequence[Row]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*(row.out for row in found), strict=True)))


def table(judges: Iterable[str], found: Sequence[Row]) -> list[str]:
    """Lines of Markdown with the rows and their sum."""
    lines = [f"| trick | kind | {' | '.join(judges)} |", f"| --- | --- {'| ---: ' * len(found[0].out)}|"]
    for name, kind, tried, out in [*found, Row("all", "", sum(row.tried for row in found), _sums(found))]:
        lines.append(f"| {name} | {kind} | {' | '.join(f'{n} of {tried}' for n in out)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entailment", nargs="*", default=[], help="more judges, by hub id or folder")
    parser.add_argument("--documents", type=int, metavar="N", help="the first N documents only, and sources of a slip")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N facts of each document, and N cases of a family")
    parser.add_argument("--every", action="store_true", help="a row for every trick, also those that were stopped")
    parser.add_argument(
        "--families", nargs="*", metavar="FAMILY", help="only the table of families, of all or of the named ones"
    )
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    facts = chosen(options.documents, options.limit)
    subjects = guards(options.entailment)
    lines: list[str] = []
    if options.families is None:
        found = counted(subjects, facts, options.documents)
        lines = [*table(subjects, found if options.every else summed(found)), ""]
    text = "\n".join([*lines, *families.table(subjects, options.limit, options.families or ())])
    print(text)
    if options.markdown is not None:
        options.markdown.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
