"""Whether a claim can be read in one way only, and whether the source holds its links and the marks of documents.

A claim is readable if it is made of the parts that `form.toml` lists, words, numbers and signs in a place that is their
own: other signs and places are markup to some readers, or stand for words. A reader follows links, e-mail addresses and
marks (`groundrail.text.marks`), so the source has to hold them. No model decides this: a claim that fails is refused before a scorer is
asked.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

from groundrail.errors import InputError, UncheckableError
from groundrail.text.marks import Mark, Naming
from groundrail.text.rendering.visible import has_fence, is_blank

if TYPE_CHECKING:
    from groundrail.types import Document

_DATA = tomllib.loads(files(__package__).joinpath("form.toml").read_text(encoding="utf-8"))
_WORDS = {name: frozenset(listed.split()) for name, listed in _DATA["words"].items()}

_READABLE = re.compile(rf"(?:{'|'.join(_DATA['readable'].values())})++", re.VERBOSE)
_LINK = re.compile(
    rf"<(?P<target>[^<>\s]{{1,500}})>|(?P<plain>{'|'.join(_DATA['links'].values())})".replace(
        "%endings%", "|".join(sorted(_WORDS["endings"]))
    ),
    re.IGNORECASE,
)
_IN_CODE = re.compile(r"[\w.,]")
_IN_WORD = re.compile(r"\S")
_TAKES_MARKS = re.compile("(?![\u0000-\u036f\u1e00-\u1eff])[^\\W\\d_]|[\u0900-\u1cff\u0591-\u05ff\u0610-\u06ff]")
"""Letters and vowels of scripts that are written with marks; Latin letters have theirs in one character."""
_SYMBOL = re.compile(r"\W+|\[x\]", re.IGNORECASE)
"""Signs without a word, and the box of a task. The source may have them elsewhere for another thing."""
_WORD = re.compile(r"[^\W\d_]+")
_LATIN_WORD = re.compile("[A-Za-z\u00aa-\u024f\u1e00-\u1eff]+")
_MEASURES = frozenset("µμΩªº")
_PHONETIC = re.compile("[\u01c0-\u01c3\u0250-\u02af\u1d00-\u1dbf\ua720-\ua7ff]")
_QUOTED = 3
"""Minimum words of a quotation: a claim that the source holds letter by letter."""
_UNWRITTEN = re.compile(r"^(?:https?://|mailto:|tel:)?(?:www\.)?", re.IGNORECASE)


@dataclass(frozen=True)
class SourceText:
    """The documents of one answer, as claims are compared with them letter by letter.

    numbering: gives the number by which marks name a document; None for the usual one (`Naming`).
    """

    documents: "Sequence[Document]"
    numbering: "Callable[[Document], int] | None" = None

    @cached_property
    def is_blank(self) -> bool:
        """Whether no document has any text that a reader can see."""
        return all(is_blank(document.text) for document in self.documents)

    @cached_property
    def lower(self) -> str:
        """The texts of all documents in lower case, a line break between two."""
        return "\n".join(document.text for document in self.documents).lower()

    @cached_property
    def naming(self) -> Naming:
        """The names of the documents: id, title, addresses."""
        known = ("title", "url", "source")
        names = [[each.id, *(str(each.metadata.get(name) or "") for name in known)] for each in self.documents]
        if self.numbering is None:
            return Naming(names)
        numbers = [self.numbering(each) for each in self.documents]
        if any(type(each) is not int or each < 0 for each in numbers) or len(set(numbers)) < len(numbers):
            raise InputError(f"a numbering gives each document another whole number, from 0 up, not {numbers!r:.200}")
        return Naming(names, numbers)

    def marks(self, text: str, sentence: str = "") -> list[Mark]:
        """The marks of documents in a text, but for words that a document itself has, and for code.

        sentence: the Markdown of which `text` is the visible form.
        """
        if has_fence(sentence):
            return []
        found = self.naming.find(text, sentence)
        return [mark for mark in found if not (mark.words and self.holds(mark.words))]

    def holds(self, part: str) -> bool:
        """Whether a document has this text, upper or lower case."""
        return part.lower() in self.lower

    def names(self, name: str) -> bool:
        """Whether a document has this name letter by letter, and not as a part of another word."""
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        return any(whole.search(document.text) for document in self.documents)

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
    for mark in source.marks(claim):
        written = claim[mark.start : mark.end].strip()
        if not mark.documents and not source.holds(written):
            raise UncheckableError(f"the source does not hold the footnote mark {written:.80}")
    if len(_WORD.findall(claim)) >= _QUOTED and source.holds(claim.strip()):
        return
    for part in unreadable(claim):
        if _SYMBOL.fullmatch(part):
            raise UncheckableError(f"the symbol {part:.20} cannot be read as words")
        if not source.holds(part):
            raise UncheckableError(f"“{part:.40}” can be read in two ways, and is not in the source")
    for word in _foreign(claim):
        if not source.holds(word):
            raise UncheckableError(f"“{word}” mixes or imitates letters, and is not in the source")
    for word in unread(claim):
        if not source.holds(word):
            raise UncheckableError(f"“{word:.40}” cannot be read by the judge")


def unreadable(claim: str) -> Iterator[str]:
    """The parts that are not on the list: a symbol alone, another sign with all that it is written together with."""
    place = 0
    while place < len(claim):
        if found := _READABLE.match(claim, place):
            place = found.end()
            continue
        sign, kind = claim[place], unicodedata.category(claim[place])[0]
        if kind == "M" and _TAKES_MARKS.match(claim, place - 1):
            place += 1
        elif sign.isascii() or sign.isalnum() or kind == "P":
            goes_on = _IN_CODE if sign.isalnum() else _IN_WORD
            start = place
            while start and goes_on.match(claim, start - 1):
                start -= 1
            while place < len(claim) and goes_on.match(claim, place):
                place += 1
            yield claim[start:place].strip(".,;?'\"()") or claim[start:place]
        else:
            yield sign
            place += 1


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
    return _WORDS["lookalike"].intersection(names)


def links(text: str) -> list[str]:
    """Links and e-mail addresses, without what may be left unwritten: `http://`, `www.`, a last slash."""
    return [
        _UNWRITTEN.sub("", (match["target"] or match["plain"]).rstrip(".,;:!?)]}*_/")).lower()
        for match in _LINK.finditer(text)
    ]
