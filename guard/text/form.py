"""Whether a claim can be read in one way only, and whether the source holds its links and footnote marks.

No model decides this: a claim that fails here is refused before a scorer is asked.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from groundrail.errors import UncheckableError
from groundrail.text.rendering.disguises import disguises
from groundrail.text.rendering.pointers import footnotes, links
from groundrail.text.rendering.visible import is_blank

if TYPE_CHECKING:
    from groundrail.types import Document

_WORD = re.compile(r"[^\W\d_]+")
_LATIN_WORD = re.compile("[A-Za-z\u00aa-\u024f\u1e00-\u1eff]+")
_BOX = re.compile(r"^\s*(?:\[[ xX-]?\]|\( ?\))(?=\s)")
_HARMLESS = frozenset("°©®™℃℉№|~+<=>±×÷−≈≤≥→←↔⁄∞√⁺⁻")
_SIGNS = re.compile(
    r"!=|<>|=/=|(?<![\w!])!(?=[A-Za-z])|×(?!\s?[\w(])|√(?![\d(]|\w\b)|(?<![\w)\]])(?<![\w)\]]\s)×(?!\d)"
)
"""Signs for "not" made of plain characters, and arithmetic signs in the place of a cross or a check mark."""
_LOOKALIKE = frozenset("LATIN CYRILLIC GREEK ARMENIAN CHEROKEE COPTIC LISU DESERET GEORGIAN".split())
_MEASURES = frozenset("µμΩªº")
_PHONETIC = re.compile("[\u01c0-\u01c3\u0250-\u02af\u1d00-\u1dbf\ua720-\ua7ff]")
_QUOTED = 3
"""Minimum words of a quotation: a claim that the source holds letter by letter."""


@dataclass(frozen=True)
class SourceText:
    """The documents of one answer, as claims are compared with them letter by letter."""

    documents: "Sequence[Document]"

    @cached_property
    def is_blank(self) -> bool:
        """Whether no document has any text that a reader can see."""
        return all(is_blank(document.text) for document in self.documents)

    @cached_property
    def lower(self) -> str:
        """The texts of all documents in lower case, a line break between two."""
        return "\n".join(document.text for document in self.documents).lower()

    def holds(self, part: str) -> bool:
        """Whether a document has this text, upper or lower case."""
        return part.lower() in self.lower

    def holds_mark(self, mark: str) -> bool:
        """Whether a document has this footnote mark."""
        return any(mark in document.text for document in self.documents)

    def holds_link(self, link: str) -> bool:
        """Whether a document has this link, in the form that `links` gives, and not only a longer one around it."""
        return self.holds(link) and any(
            link in links(word)
            for document in self.documents
            for word in document.text.split()  # a link holds no white space
            if link in word.lower()
        )


def refuse_unreadable(claim: str, source: SourceText, unread: Callable[[str], Sequence[str]]) -> None:
    """Refuse a claim that a judge would read otherwise than a reader, unless the source has the same letters.

    Args:
        claim: the text to judge, without marks of footnotes that there are.
        unread: the words of a text that the judge has no token for.

    Raises: UncheckableError with the reason.
    """
    for link in links(claim):
        if not source.holds_link(link):
            raise UncheckableError(f"the source does not hold the link “{link:.80}”")
    for mark in footnotes(claim):
        if not source.holds_mark(mark):
            raise UncheckableError(f"the source does not hold the footnote mark {mark}")
    if len(_WORD.findall(claim)) >= _QUOTED and source.holds(claim.strip()):
        return
    symbols = [c for c in claim if _is_symbol(c)] + _BOX.findall(claim) + _SIGNS.findall(claim)
    if symbols:
        raise UncheckableError(f"the symbol {symbols[0]} cannot be read as words")
    for part in disguises(claim):
        if not source.holds(part):
            raise UncheckableError(f"“{part:.40}” can be read in two ways, and is not in the source")
    for word in _foreign(claim):
        if not source.holds(word):
            raise UncheckableError(f"“{word}” mixes or imitates letters, and is not in the source")
    for word in unread(claim):
        if not source.holds(word):
            raise UncheckableError(f"“{word:.40}” cannot be read by the judge")


def _foreign(claim: str) -> list[str]:
    """Words in two alphabets or in letters that look like others', and words of other scripts in a Latin text."""
    latin = sum(map(len, _LATIN_WORD.findall(claim)))
    mostly_latin = 2 * latin > sum(map(len, _WORD.findall(claim)))
    words = ("".join(letter for letter in word if not unicodedata.digit(letter, None)) for word in _WORD.findall(claim))
    found = [word for word in words if not word.isascii()]
    foreign = [word for word in found if len(_alphabets(word)) > 1 or _PHONETIC.search(word)]
    if mostly_latin:
        foreign += [word for word in found if not _MEASURES.issuperset(_LATIN_WORD.sub("", word))]
        foreign += [letter for letter in claim if letter.isdecimal() and not letter.isascii()]
    return foreign


def _alphabets(word: str) -> frozenset[str]:
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in word if letter not in _MEASURES)
    return _LOOKALIKE.intersection(names)


def _is_symbol(letter: str) -> bool:
    """Whether a character is a picture or sign that can stand for words, a strange numeral, private, or unassigned."""
    kind = unicodedata.category(letter)
    if kind == "No":
        return not unicodedata.decomposition(letter)
    return kind in ("So", "Sm", "Co", "Cn") and letter not in _HARMLESS
