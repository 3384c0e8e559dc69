"""The words that stand above a sentence of a document: its title, or else its first sentence, and the heading of its part.

A judge that reads contexts reads them before the sentence, which may not name its subject: "Discharge letter for Ms Alvarez.
[...] She takes 50 mg a day." `tools/packed.py` adds the same words to the premises of the training.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groundrail.text.ends import heading_of
from groundrail.types import Span

ROOM = 64
"""Maximum number of tokens that stand above a premise."""

LONGEST = 32
"""Maximum number of tokens of a title or heading; the rest is left out."""

NONE = -1

_BREAKS = frozenset("\n\r\v\f\x85\u2028\u2029")


class HasSpan(Protocol):
    """A place in a text, `text[start:end]`; `said` has other words than the place, as for a row of a table."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def said(self) -> str | None: ...


def headings(text: str, sentences: Iterable[HasSpan]) -> list[int]:
    """For each sentence of a text the number of the heading above it, or -1.

    The first sentence is its own heading if it can stand for the document: it is prose, no row of a table and no record.
    An item of a list or a row of a table names its heading itself.

    >>> from groundrail.sources.premise import Premise
    >>> text = "House rules\\nPlease read them.\\n# Pets\\nDogs are welcome."
    >>> headings(text, [Premise(0, 12), Premise(12, 30), Premise(30, 37), Premise(37, 54)])
    [0, 0, 0, 2]
    """
    found: list[int] = []
    heading = NONE
    for number, sentence in enumerate(sentences):
        is_prose = sentence.said is None
        if number == 0 and is_prose:
            heading = 0
        found.append(heading if is_prose else NONE)
        if is_prose and heading_of(_line(text, sentence.start, sentence.end)):
            heading = number
    return found


def _line(text: str, start: int, end: int) -> str:
    """The words from `start` to `end` if they fill a line, else an empty text."""
    start, end = Span.trimmed(text, start, end)
    before, behind = text[max(0, start - 80) : start].rstrip(" \t"), text[end : end + 80].lstrip(" \t")
    is_alone = (not before or before[-1] in _BREAKS) and (not behind or behind[0] in _BREAKS)
    return f"{text[start:end]}\n" if is_alone else ""


def above(places: Sequence[int], headings: Sequence[int], tokens: Sequence[int] | NDArray[np.int_]) -> list[int]:
    """The places that stand above a premise and are not in it: the first of its document, and the heading of each place.

    Args:
        places: the sentences of the premise, by their numbers in the document.
        headings: `headings` of the document.
        tokens: the number of tokens of each sentence of the document.

    >>> above([3], [0, 0, 0, 2], [3, 4, 2, 4])
    [0, 2]
    """
    wanted = [*headings[:1], *(headings[place] for place in places)]
    found, room = [], ROOM
    for place in dict.fromkeys(wanted):
        if place != NONE and place not in places and (size := min(int(tokens[place]), LONGEST)) <= room:
            found.append(place)
            room -= size
    return found
