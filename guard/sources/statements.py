"""The statements of a document, each with the words that stand above it, so that sentences can be compared by their words.

A scorer reads premises (`groundrail.scoring.index`); here only words are compared, without a model.
"""

from functools import lru_cache
from typing import NamedTuple

from groundrail.facts.subjects import names
from groundrail.sources.above import headings
from groundrail.sources.reading import read_by_form
from groundrail.text.ends import heading_of
from groundrail.text.english.words import stems
from groundrail.types import Span

_POINTING = frozenset("he she it they him her his its them their".split())


class Statement(NamedTuple):
    """`document[start:end]`, its words, and the stems of its words and of those above it.

    Above stand the title of the document and the heading; for a sentence with a pronoun, the sentence before; for one
    without a name, the names of the document's first sentence.
    """

    start: int
    end: int
    text: str
    stems: frozenset[str]

    def overlaps(self, place: Span) -> bool:
        """Whether a place of the same document has a part of it."""
        return self.start < place.end and place.start < self.end


@lru_cache(maxsize=16)
def statements(document: str) -> tuple[Statement, ...]:
    """All statements of a document, in order.

    >>> sorted(statements("# Otter Pool\\nThe sauna is small. It closes at 9.")[2].stems)
    ['9', 'at', 'close', 'is', 'it', 'otter', 'pool', 'sauna', 'small', 'the']
    """
    places = list(read_by_form(document).premises())
    texts = [document[each.start : each.end] if each.said is None else each.said for each in places]
    words = [frozenset(stems(text)) for text in texts]
    levels = [_level(text) for text in texts]
    of_document = frozenset[str]() if not texts or levels[0] else names(texts[0])
    found: list[Statement] = []
    for number, (place, heading) in enumerate(zip(places, headings(document, places), strict=True)):
        above = {heading} if heading > 0 or (heading == 0 and levels[0]) else set[int]()
        above |= {0} if 0 < levels[0] < levels[heading] else set()
        known = words[number].union(*(words[each] for each in above))
        if number and not _POINTING.isdisjoint(words[number]):
            known |= words[number - 1]
        if not names(texts[number]):
            known |= of_document
        found.append(Statement(place.start, place.end, texts[number], known))
    return tuple(found)


def _level(text: str) -> int:
    """1 to 6 for a Markdown heading, 7 for another heading, 0 for other text."""
    line = text.strip()
    return (len(line) - len(line.lstrip("#")) or 7) if heading_of(f"{line}\n") else 0
