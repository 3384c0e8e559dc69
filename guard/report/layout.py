"""Divide documents for display into blocks that a browser can lay out one by one, and mark the cited places.

This module works with offsets only; `groundrail.report.telling` says why a place is cited.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from groundrail.errors import InputError
from groundrail.report.hidden import marked_up
from groundrail.types import Citation, Document

BLOCK = 4_000
"""Minimum number of characters of a block; the block ends with the next line end."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A cited piece of a document, with its `number` on the page."""

    number: int
    citation: Citation
    supports: bool = False
    contradicts: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """Text between two boundaries, with the places that contain it and the places that begin with it."""

    text: Markup
    places: Sequence[Passage] = ()
    begins: Sequence[Passage] = ()

    @property
    def kind(self) -> str:
        """CSS class: `for` if the piece supports a sentence, `against` if it contradicts one, else `near`."""
        if any(place.supports for place in self.places):
            return "for"
        return "against" if any(place.contradicts for place in self.places) else "near"

    @property
    def numbers(self) -> str:
        """The numbers of the places, separated by blanks."""
        return " ".join(str(place.number) for place in self.places)


def check_places(places: Sequence[Passage], documents: Sequence[Document]) -> None:
    """Check that each citation is in the documents at its offsets. Raises: InputError."""
    texts = {document.id: document.text for document in documents}
    for citation in (place.citation for place in places):
        if citation.document_id not in texts:
            raise InputError(
                f"the result cites {citation.document_id!r}, which is not among the sources {sorted(texts)}; "
                "pass the source that was checked"
            )
        if texts[citation.document_id][citation.start : citation.end] != citation.text:
            raise InputError(
                f"characters {citation.start} to {citation.end} of {citation.document_id!r} are not what the result "
                "cites there; pass the source that was checked"
            )


def blocks(document: Document, places: Sequence[Passage]) -> Iterator[list[Piece]]:
    """Divide a document into blocks of whole lines, and each block into pieces at the ends of cited places.

    The time is proportional to the length of the text plus the number of places.
    """
    ours = sorted(
        (place for place in places if place.citation.document_id == document.id),
        key=lambda place: (place.citation.start, place.citation.end),
    )
    edges = sorted({edge for place in ours for edge in (place.citation.start, place.citation.end)})
    waiting, open_places = deque(ours), list[Passage]()
    for start, end in _lines(document.text):
        inside = edges[bisect_right(edges, start) : bisect_left(edges, end)]
        pieces = []
        for left, right in pairwise([start, *inside, end]):
            begins = []
            while waiting and waiting[0].citation.start <= left:
                begins.append(waiting.popleft())
            open_places = [place for place in [*open_places, *begins] if place.citation.end > left]
            pieces.append(Piece(marked_up(document.text[left:right]), tuple(open_places), tuple(begins)))
        yield pieces


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of blocks of whole lines; each block but the last has at least `BLOCK` characters."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + BLOCK) + 1 or len(text)
        yield start, end
        start = end
