"""Rows of Markdown tables of which readers do not see every cell.

A table shows as many cells a row as its first row has, and takes the lines directly behind a row for rows. What is
seen within a line belongs to `groundrail.text.rendering.visible`.
"""

import re

from groundrail.errors import UncheckableError
from groundrail.text.lines import line_starts

_ROW = re.compile(r"[ \t]*\|(?P<cells>.*)")
_BAR = re.compile(r"(?<!\\)(?:\\\\)*\|")
_ENDS_TABLE = re.compile(
    r" {0,3}(?:#{1,6}\s|[-+*]\s|\d{1,9}[.)]\s|`{3}[^`\n]*$|~{3}|(?:-{3,}|\*{3,}|_{3,})[ \t]*$)", re.MULTILINE
)
_UNFRAMED = re.compile(r"^(?![ \t]*\|)(?=[^|:\n]*[|:])(?=[^-\n]*-)[ \t>|:-]+$", re.MULTILINE)
"""The line under the head of a table in a quotation, or of one without bars at its sides, so that prose could be a row."""


def refuse_unseen_cells(text: str, previous: str) -> None:
    """Raises: UncheckableError for a sentence that a table cuts short for some readers.

    previous: the text shown before it. Cells count from the row before, so that a row that comes short cuts the next.
    """
    if _UNFRAMED.search(text) and not text.lstrip().startswith(("```", "~~~")):
        raise UncheckableError("a table whose rows do not begin with a bar has no end that all readers see")
    before = previous.rstrip()
    breaks = line_starts(previous, len(before), len(previous))
    above = _ROW.match(before.splitlines()[-1]) if before and len(breaks) == 1 else None
    if above is None or _ENDS_TABLE.match(previous[breaks[0] :] + text):
        return
    row = _ROW.match(text)
    if row is None:
        raise UncheckableError("a line directly behind a table is a row of it to some readers")
    if _cells(row["cells"]) > _cells(above["cells"]):
        raise UncheckableError("a table hides the cells of a row that are more than in the row before")


def _cells(row: str) -> int:
    """Cells of a row behind its first bar."""
    bare = row.rstrip()
    bars = [bar.end() for bar in _BAR.finditer(bare)]
    return len(bars) + (not bars or bars[-1] < len(bare))
