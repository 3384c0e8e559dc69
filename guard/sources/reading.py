"""Read a source by its form: JSON, CSV, Markdown with tables and lists, turns with a speaker. Prose has no form.

A text that has none of these forms, or cannot be parsed, is read as sentences.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from groundrail.errors import InputError
from groundrail.sources.hidden import NOTE, hidden_parts
from groundrail.sources.json_records import read_json
from groundrail.sources.markdown import read_markdown
from groundrail.sources.premise import Premise, Region
from groundrail.sources.tables import read_csv, read_plain_tables
from groundrail.sources.turns import read_turns
from groundrail.text.sentences import splits

_JSON = re.compile(r"""\s*(?=[{\[]\s*["{\[}\]])(?:\{.*\}|\[.*\])\s*""", re.DOTALL)
_FORMS = [
    (re.compile(sign, re.MULTILINE), read)
    for sign, read in (
        (r"\A[\r\n]*+(?=[^\n]*\n)[^\n]*?[\t;,]\S", read_csv),
        (r"^ {0,3}(?:#{1,6}\s|\|?[ \t]*:?-+:?[ \t]*\|)|:[ \t]*\r?\n\s*(?:[-+*]|\d{1,9}[.)])\s", read_markdown),
        (r"[|\t]| {2}", read_plain_tables),
        (r"^[^\n:.!?|]+:\s", read_turns),
    )
]
"""The readers in order, each behind a sign of its form: a delimiter in the first of several lines; a heading, the line
under a table's head, or a list behind a colon; columns that stand apart; a label. No reader sees a text without its sign."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of a text that have a form, in order; `note` tells a user what was left out or not parsed."""

    text: str
    regions: tuple[Region, ...] = ()
    note: str | None = None

    def premises(self) -> Iterator[Premise]:
        """All premises in order: the sentences of the prose, white space included, and the premises of the regions."""
        place = 0
        for region in self.regions:
            yield from self._prose(place, region.start)
            yield from region.premises
            place = region.end
        yield from self._prose(place, len(self.text))

    def _prose(self, start: int, end: int) -> Iterator[Premise]:
        text = self.text if (start, end) == (0, len(self.text)) else self.text[start:end]
        for part in splits(text):
            yield Premise(start + part.start, start + part.end)


def read_by_form(text: str) -> Reading:
    """Find the form of a text.

    >>> reading = read_by_form('{"name": "Hotel Larkspur", "check_in": "from 15:00"}')
    >>> [premise.said for premise in reading.premises()]
    ['name: Hotel Larkspur', 'Hotel Larkspur, check in: from 15:00']
    """
    if _JSON.fullmatch(text):
        try:
            return Reading(text, tuple(read_json(text)))
        except InputError as error:
            return Reading(text, note=f"a source looks like JSON and is read as plain text: {error}")
    regions = next((found for sign, read in _FORMS if sign.search(text) and (found := read(text))), [])
    parts = hidden_parts(text) if "<" in text else ()
    hidden = [part for part in parts if not any(_overlap(part, region) for region in regions)]
    if not hidden:
        return Reading(text, tuple(regions))
    return Reading(text, tuple(sorted([*regions, *hidden], key=lambda region: region.start)), NOTE)


def _overlap(part: Region, other: Region) -> bool:
    return part.start < other.end and other.start < part.end
