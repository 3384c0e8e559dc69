"""How often a false sentence gets out with each of many tricks, and without, by entailment model.

    python benchmarks/attacks.py
    python benchmarks/attacks.py --documents 1 --limit 1      # a first look
    python benchmarks/attacks.py --entailment google/flan-t5-base --markdown docs/attacks_table.md

Each trick of `tricks.py` is applied to every fact of three documents: a true sentence, and the detail that makes it
false. Counted is how often anything but the true sentence was released. Tricks of the kind "form" are refused before a
model is asked, so that they must not get out whatever it says: the row of a model that believes everything shows that.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tricks import FACTS, TRICKS, Fact, Trick

from groundrail import Guard
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.types import Source

DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"


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


def released(guard: Guard, trick: Trick, fact: Fact, source: str) -> bool:
    """Whether anything but the true sentence got out."""
    answer = trick.answer(fact)
    return any(s.released_text.strip() not in ("", fact.true) for s in guard.check(answer, source).sentences)


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
    """A guard for each kind of judge."""
    found = {"built-in": Guard(), "believes everything": Guard(scorer=Believing())}
    return found | {name: Guard(scorer=name) for name in entailment}


def table(subjects: dict[str, Guard], facts: Sequence[Fact] = FACTS) -> list[str]:
    """Lines of Markdown: how many of the facts got out false, by trick and judge. Progress goes to standard error."""
    texts = sources()
    lines = [f"| trick | kind | {' | '.join(subjects)} |", "| --- | --- " + "| ---: " * len(subjects) + "|"]
    totals = dict.fromkeys(subjects, 0)
    for number, trick in enumerate(sorted(TRICKS, key=lambda trick: trick.form), 1):
        counts = {
            name: sum(released(guard, trick, fact, texts[fact.document]) for fact in facts)
            for name, guard in subjects.items()
        }
        totals = {name: totals[name] + counts[name] for name in subjects}
        kind = "form" if trick.form else "meaning"
        lines.append(f"| {trick.name} | {kind} | {' | '.join(f'{n} of {len(facts)}' for n in counts.values())} |")
        print(f"{number} of {len(TRICKS)}: {trick.name}, {counts}", file=sys.stderr, flush=True)
    lines.append(f"| all | | {' | '.join(f'{n} of {len(TRICKS) * len(facts)}' for n in totals.values())} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entailment", nargs="*", default=[], help="more judges, by hub id or folder")
    parser.add_argument("--documents", type=int, metavar="N", help="the first N documents only")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N facts of each document")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    text = "\n".join(table(guards(options.entailment), chosen(options.documents, options.limit)))
    print(text)
    if options.markdown is not None:
        options.markdown.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
