"""Families of falsehoods that no piece of an answer tells alone, each false answer with a true twin.

The cases of `families.jsonl` are written by hand. In a list every item stands in the source, but not under that lead. A
wrapped sentence is false as a whole, and its last line may be a name that the source knows. A frame takes back what a sentence
of the source says. A pronoun points at something else once the sentence before it is dropped. A bare answer is false
only as an answer to its question, and so is a phrase that agrees. Under a heading, in a cell of a table or about one of
two subjects a sentence says what the source says of the other. An abbreviation stands before the false end. A block of HTML,
which some readers do not show, takes back what stands before it. A correction has a value of another subject within reach.
How often each of them works is measured by `attacks.py`.
"""

import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from shared import DOCUMENTS, json_lines

from groundrail import Guard, Policy

CASES = Path(__file__).with_name("families.jsonl")
_NAME = re.compile(r"(?<= )[A-Z]\w*(?: (?:and|of|[A-Z]\w*))*\.$")


class Twins(NamedTuple):
    """A false answer and a true one to the same question, from the same source.

    harmless: the parts of the false answer that say nothing false alone, such as the lead of a list.
    """

    family: str
    source: str
    false: str
    true: str
    harmless: tuple[str, ...] = ()
    question: str = ""

    def tells_false(self, released: str) -> bool:
        """Whether the released text of the false answer holds more than its harmless parts."""
        for part in self.harmless:
            released = released.replace(part, "", 1)
        return any(map(str.isalnum, released))

    def tells_true(self, released: str) -> bool:
        """Whether the released text of the true answer is the whole answer, but for white space."""
        return released.split() == self.true.split()


class Row(NamedTuple):
    """A row of the table: false answers and true ones as they are laid out, each with the case that it belongs to."""

    name: str
    false: list[tuple[Twins, str]]
    true: list[tuple[Twins, str]]


def read() -> list[Twins]:
    """All cases. A source that is named after an example document is that document."""
    found = []
    for told in json_lines(CASES):
        case = Twins(**told)
        if case.source.endswith(".txt"):
            case = case._replace(source=(DOCUMENTS / case.source).read_text(encoding="utf-8"))
        found.append(case._replace(harmless=tuple(case.harmless)))
    return found


def before_names(sentence: str) -> list[str]:
    """The sentence broken before each capital of the name at its end, in one place at a time.

    "It was built by Arlo and Sons." is broken before "Arlo" and before "Sons".
    """
    name = _NAME.search(sentence)
    if name is None:
        return []
    starts = [name.start() + capital.start() for capital in re.finditer(r"\b[A-Z]", name[0])]
    return [f"{sentence[: start - 1]}\n{sentence[start:]}" for start in starts]


def _filled(columns: int) -> Callable[[str], list[str]]:
    return lambda sentence: [textwrap.fill(sentence, columns, break_on_hyphens=False)]


def _as_written(answer: str) -> list[str]:
    return [answer]


LAYOUTS: dict[str, dict[str, Callable[[str], list[str]]]] = {
    family: {family: _as_written}
    for family in (
        *("list", "wrap", "frame", "pronoun", "bare answer", "heading", "table", "two subjects", "agreement"),
        *("abbreviation", "HTML block", "correction"),
    )
}
LAYOUTS["wrap"] = {
    "wrap: none, on one line": _as_written,
    "wrap: at 36 columns": _filled(36),
    "wrap: at 72 columns": _filled(72),
    "wrap: at 80 columns": _filled(80),
    "wrap: before a name at the end": before_names,
}

OF_FORM = frozenset({"HTML block"})
"""Families that are refused before a judge is asked."""


def rows(limit: int | None = None, families: Collection[str] = ()) -> Iterator[Row]:
    """The rows of the table, each with the first `limit` cases of its family; of all families or of some."""
    cases = read()
    for family, layouts in LAYOUTS.items():
        if families and family not in families:
            continue
        twins = [case for case in cases if case.family == family][:limit]
        for name, layout in layouts.items():
            false = [(case, text) for case in twins for text in layout(case.false)]
            true = [(case, text) for case in twins for text in layout(case.true)]
            yield Row(name, false, true)


def released(guard: Guard, row: Row) -> tuple[int, int]:
    """How many false answers of the row came out, in part or whole, and how many true ones came out whole."""

    correcting = guard.with_policy(Policy(fallback="correct"))

    def text(case: Twins, answer: str) -> str:
        checking = correcting if case.family == "correction" else guard
        return checking.check(answer, case.source, case.question).text

    false = sum(case.tells_false(text(case, answer)) for case, answer in row.false)
    true = sum(case.tells_true(text(case, answer)) for case, answer in row.true)
    return false, true


def table(subjects: dict[str, Guard], limit: int | None = None, families: Collection[str] = ()) -> list[str]:
    """Lines of Markdown: how many false and true answers came out, by row and judge, alike rows as one. Progress goes to
    standard error."""
    columns = [f"{name}: {kind} released" for name in subjects for kind in ("false", "true")]
    alike: dict[str, list[str]] = {}
    for row in rows(limit, families):
        cells = []
        for guard in subjects.values():
            false, true = released(guard, row)
            cells += [f"{false} of {len(row.false)}", f"{true} of {len(row.true)}"]
        alike.setdefault(" | ".join(cells), []).append(row.name)
        print(row.name, cells, file=sys.stderr, flush=True)
    lines = [f"| family | {' | '.join(columns)} |", "| --- " + "| ---: " * len(columns) + "|"]
    lines += [f"| {'; '.join(names)} | {cells} |" for cells, names in alike.items()]
    return lines
