"""Read a source by its form: JSON, CSV, Markdown with tables and lists, turns with a speaker. Prose has no form.

A text that has none of these forms, or cannot be parsed, is read as sentences.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from groundrail.errors import InputError
from groundrail.sources.hidden import NOTE, without_hidden
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
    """The parts of a text that have a form, in order; `note` tells a user what was left out or not parsed.

    shown: the text, with blanks in the place of what its reader does not read; None for all of it.
    """

    text: str
    regions: tuple[Region, ...] = ()
    note: str | None = None
    shown: str | None = None

    def premises(self) -> Iterator[Premise]:
        """All premises in order: the sentences of the prose, white space included, and the premises of the regions.

        A premise with a part that its reader does not read says the rest of it.
        """
        for premise in self._in_order():
            shown = None if self.shown is None else self.shown[premise.start : premise.end]
            if shown is None or premise.said is not None or shown == self.text[premise.start : premise.end]:
                yield premise
            elif said := " ".join(shown.split()):
                start = premise.start + len(shown) - len(shown.lstrip())
                end = premise.start + len(shown.rstrip())
                yield Premise(start, end, None if said == self.text[start:end] else said)

    def _in_order(self) -> Iterator[Premise]:
        place = 0
        for region in self.regions:
            yield from self._prose(place, region.start)
            yield from region.premises
            place = region.end
        yield from self._prose(place, len(self.text))

    def _prose(self, start: int, end: int) -> Iterator[Premise]:
        shown = self.text if self.shown is None else self.shown
        text = shown if (start, end) == (0, len(shown)) else shown[start:end]
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
    shown = without_hidden(text)
    regions = next((found for sign, read in _FORMS if sign.search(shown) and (found := read(shown))), [])
    return Reading(text, tuple(regions)) if shown == text else Reading(text, tuple(regions), NOTE, shown)
