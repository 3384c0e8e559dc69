"""The guard's own marks, "[1]", written behind the supported sentences of an answer, and the places that they refer to.

Streams write them as sentences are released, `groundrail.report.markdown` into a whole result.
"""

import re
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from groundrail.types import CheckedSentence, Citation

_BRACKETED = re.compile(r"[\[【][^\[\]【】\n]*[\]】]")
_NUMBER = re.compile(r"[0-9]+")
_LONGEST_MARK = 3
"""Maximum number of digits of a mark; a longer number in brackets is a year or an amount."""


class Reference(NamedTuple):
    """A place in the source with the number of its mark."""

    number: int
    citation: Citation


class Numbering:
    """The marks of one answer, whose sentences are given in order.

    texts: what may hold numbers in brackets that readers see, the answer or its source; the marks continue after these.
    marks: marks of the answer's own that are written in another way.
    """

    def __init__(self, texts: Iterable[str], marks: Iterable[str] = ()) -> None:
        bracketed = (found for text in texts for found in _BRACKETED.findall(text))
        taken = {each for written in (*bracketed, *marks) for each in _NUMBER.findall(written)}
        highest = max((int(each) for each in taken if len(each) <= _LONGEST_MARK), default=0)
        self._free = (number for number in count(highest + 1) if str(number) not in taken)
        self._references: dict[tuple[str, int, int], Reference] = {}
        self._ends_with_mark = False

    @property
    def references(self) -> tuple[Reference, ...]:
        """The places that marks were written for, in the order of their numbers."""
        return tuple(self._references.values())

    def marked(self, sentence: CheckedSentence) -> str:
        """The released text of the next sentence with a mark for each place that supports it.

        The marks stand before the white space at its end.
        """
        text = sentence.released_text
        bare = text.rstrip()
        places = sentence.supporting if bare else ()
        written = "".join(f"[{number}]" for number in dict.fromkeys(map(self._number, places)))
        opens = "\\" if self._ends_with_mark and text.startswith("(") else ""  # else mark and brackets are a link
        apart = "\n\n" if bare.endswith(("```", "~~~")) else " "  # a fence must end its line
        self._ends_with_mark = bool(written and bare == text) or (self._ends_with_mark and not text)
        return f"{opens}{bare}{apart}{written}{text[len(bare) :]}" if written else f"{opens}{text}"

    def _number(self, citation: Citation) -> int:
        if citation.place not in self._references:
            self._references[citation.place] = Reference(next(self._free), citation)
        return self._references[citation.place].number
