"""The marks by which an answer names the documents behind its words: "[2]", "(source 2)", "as document 2 says".

`Naming` knows the documents of one answer by number, by id and by address, and finds their marks in a text. Text in
brackets that names no document stays text. Whether a named document supports the words is for a scorer to say.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from groundrail.text.english.quantities import UNITS
from groundrail.text.english.words import AUXILIARIES, DETERMINERS, PRONOUNS, is_finite

MOST = 100
"""Maximum number of marks in a sentence."""

_NOUN = r"(?:sources?|documents?|docs?\.?|passages?|references?|refs?\.?|excerpts?|contexts?|snippets?|chunks?)"
_NUMBERS = r"\d{1,3}(?:\s*(?:,|;|&|\+|-|–|\band\b)\s*\d{1,3}){0,50}"
_NAMED = rf"(?:the\s+)?(?P<named>{_NOUN}\s*(?:no\.?|number|\#)?\s*{_NUMBERS})"
_SAYS = r"(?:says?|states?|notes?|shows?|reports?|explains?|mentions?|confirms?|describes?|writes?|puts?\ it|indicates?)"
_BY = r"(?:according\s+to|as\s+per|as\s+(?:stated|noted|described|shown|mentioned|written|given)\s+(?:in|by))"

_BRACKETS = re.compile(r"\[([^\[\]\n]{1,80})\](?!\()|【([^【】\n]{1,80})】|\(([^()\n]{3,80})\)")
_RUN = re.compile(
    r"(?:[ \t\n]?(?:\[[^\[\]\n]{1,80}\](?!\()|【[^【】\n]{1,80}】|\([^()\n]{3,80}\)))++"
    r"(?=[*_]*+\s*+(?:[.,;:!?]|$|(?:and|but|or|while)\b|(?P<goes_on>(?:which|who|whereas|because|although|since|yet|is|are"
    r"|was|were|has|have|had|can|may|must|will|would|should)\b)))"
)
_OPENING = re.compile(
    rf"\A[\W_]*(?P<mark>(?:{_BY}|per|based\s+on|in)\s+{_NAMED}\s*,\s*|as\s+{_NAMED.replace('named', 'told')}\s+{_SAYS}\s*,\s*"
    rf"|{_NAMED.replace('named', 'told_that')}\s+{_SAYS}\s+that\s+)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    rf"(?P<mark>(?<!\s),?\s++(?:{_BY}|per|as)\s+{_NAMED}(?:\s+{_SAYS})?)(?=\s*(?:[.;!?,]|\Z))", re.IGNORECASE
)
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPERSCRIPT = re.compile(rf"(?:(?<=[.,;:!?”\")\]])|(?<=[^\W\d_]{{4}}))[{_RAISED}]+(?:[,˒⁻][{_RAISED}]+)*(?![\w{_RAISED}])")
_TAGGED = re.compile(
    r"(?:(?<=[.,;:!?”\")\]])|(?<=[^\W\d_]{4}))<sup>\[?(?P<items>\d{1,3}(?:,\d{1,3}){0,9})\]?</sup>", re.IGNORECASE
)
_LINK = re.compile(r" <(?P<target>[^<>\s]{1,500})>")
_LABEL = re.compile(r" ?(?P<bracket>\[\^?)?(?P<number>\d{1,3})(?(bracket)\])\Z")
_RAW_LINK = re.compile(r" ?\[(?P<words>(?:[^\[\]\n]|\[[^\[\]\n]{1,40}\]){1,300})\]\((?P<target>[^()\s]{1,500})\)")
_NUMBERED_LINK = re.compile(r"\[(\d{1,3})\]\(([^()\s]{1,500})\)")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)

_EMPHASIS = re.compile(r"(?<!\s)\s?(?<![*_])([*_]{1,3})\Z")
_SPLIT = re.compile(r"\s*(?:[,;&+]|\band\b)\s*")
_ITEM = re.compile(
    rf"(?:see\s+|from\s+|in\s+)?(?P<noun>{_NOUN})?\s*(?:no\.?|number|\#|:)?\s*\^?(?P<first>\d{{1,3}})(?:\s*[-–—]\s*(?P<last>\d{{1,3}}))?",
    re.IGNORECASE,
)
_TOLD = re.compile(r"(?:(?P<number>\d{1,3})|\d+:\d+)?†(?P<name>.*)")
_PLAIN_ID = re.compile(r"(?=.*[^\W\d_])(?=.*[^a-zA-Z\s])\S+")
_DIGITS = re.compile(r"\d+(?:.*\d)?", re.DOTALL)

_BEFORE_A_VALUE = frozenset(
    "a an the is are was were be of for to by at in on from about around only exactly than or and = :".split()
)
_BEFORE_A_COUNT = _BEFORE_A_VALUE | AUXILIARIES | DETERMINERS | PRONOUNS
_CITING = frozenset("source: sources: reference: references: see:".split())

_JOINT = re.compile(r"\s*(?:;|,?\s*\b(?:and|but|while|whereas)\b|,)\s*")
_LEANING = re.compile(r"(?:it|they|he|she|this|these|those|its|their|his|her|such)\b", re.IGNORECASE)
_REACHES_ON = frozenset(
    "if unless whether that when because although neither either nobody only says said except without until who".split()
)
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_MOST_PARTS = 8


class Mark(NamedTuple):
    """A mark `text[start:end]`.

    documents: the places of the named documents in the answer's list, counted from 0; empty if there are no such documents.
    kept: the words that stay when the mark is taken out, as those of a link do.
    words: "document 2" where the mark is written in words, which a source may write itself.
    """

    start: int
    end: int
    documents: tuple[int, ...]
    kept: str = ""
    words: str = ""


class Naming:
    """The documents of one answer by name.

    names: the names of each document: its id first, then its title and addresses.
    numbers: the number of each document; without them ids that are numbers count, and then the order, the first is 1.

    >>> naming = Naming([["lease.txt"], ["rules.txt"]])
    >>> [mark.documents for mark in naming.find("The rent is low [1], pets are fine (source 2).")]
    [(0,), (1,)]
    """

    def __init__(self, names: Sequence[Sequence[str]], numbers: Sequence[int] | None = None) -> None:
        self.known = [name for known in names for name in known if name]
        self._names = {name.casefold(): place for place, known in enumerate(names) for name in reversed(known) if name}
        ids = [known[0] if known else "" for known in names]
        self._numbers = list(numbers) if numbers is not None else _numbered(ids)
        self._by_number = {number: place for place, number in enumerate(self._numbers) if number is not None}
        self._ids = ids

    def find(self, text: str, code: str = "") -> list[Mark]:
        """The marks in a text that is shown, or in Markdown, in order; those of documents that are not there included.

        code: Markdown in whose code the text may stand; a mark that is written there is text.
        """
        shown = _CODE.sub(lambda span: "x" * len(span[0]), text)
        in_code = {found[0] for span in _CODE.finditer(code) for found in _BRACKETS.finditer(span[2])}
        found = sorted({*self._links(shown, code), *self._brackets(shown), *self._phrases(shown), *self._raised(shown)})
        marks: list[Mark] = []
        for mark in found:
            is_text = text[mark.start : mark.end].strip() in in_code
            if not is_text and (not marks or mark.start >= marks[-1].end):
                marks.append(mark)
        return marks

    def label(self, place: int, mark: str = "") -> str:
        """A document as a mark names it: by its id where the mark does, else by its number."""
        name, number = self._ids[place], self._numbers[place]
        is_named = number is None or (name and not name.isdecimal() and name in mark)
        return name if is_named else f"document {number}"

    def exchanged(self, mark: str, named: Sequence[int], place: int) -> str | None:
        """A mark with another document in the place of the named ones, or None where that cannot be written."""
        name = next((self._ids[each] for each in named if self._ids[each] and self._ids[each] in mark), "")
        known = self._numbers[place]
        number = self._ids[place] if known is None else str(known)
        if name and not name.isdecimal():
            return mark.replace(name, self._ids[place]) if len(named) == 1 else None
        if known is None and not mark.strip().startswith(("[", "【")):
            return None
        if any(letter in _RAISED for letter in mark):
            return "".join(_RAISED[int(digit)] for digit in number)
        return _DIGITS.sub(number, mark, count=1) if _DIGITS.search(mark) and "](" not in mark else None

    def _brackets(self, text: str) -> Iterator[Mark]:
        for run in _RUN.finditer(text):
            end, marks = run.end(), list[Mark]()
            for found in reversed(list(_BRACKETS.finditer(text, run.start(), run.end()))):
                named = self._named(found)
                if named is None:
                    break
                start = found.start() - (text[found.start() - 1 : found.start()].isspace())
                noun = found[3] is not None and _ITEM.match(found[3])
                marks.append(Mark(max(start, run.start()), end, named, words=found[3] if noun else ""))
                end = marks[-1].start
            before = _BEFORE_A_COUNT if run["goes_on"] else _BEFORE_A_VALUE
            if marks and (marks[-1].words or not _stands_for_a_value(text, marks[-1].start, before)):
                yield from marks

    def _named(self, found: re.Match[str]) -> tuple[int, ...] | None:
        """The documents that brackets name; None for text in brackets, empty for a document that is not there."""
        square, wide, rounded = found.groups()
        if wide is not None and (spelled := _TOLD.fullmatch(wide)):
            if spelled["number"]:
                return self._items(spelled["number"]) or ()
            return tuple(self._names[name] for name in (spelled["name"].casefold(),) if name in self._names)
        if rounded is not None:
            if len(self._ids) < 2:
                return None
            first = _ITEM.match(rounded)
            if not (first and first["noun"]) and not _PLAIN_ID.fullmatch(rounded):
                return None
        named = self._items(square or wide or rounded)
        return () if named is None and wide is not None else named

    def _items(self, content: str) -> tuple[int, ...] | None:
        """The documents of "1, 3", "1-3", "doc 2" or an id; None if that is something else."""
        if (whole := content.strip().casefold()) in self._names and not whole.isdecimal():
            return (self._names[whole],)
        found: list[int | None] = []
        for item in (pieces := _SPLIT.split(content.strip())):
            if (name := item.casefold()) in self._names and not name.isdecimal():
                found.append(self._names[name])
            elif counted := _ITEM.fullmatch(item):
                first = int(counted["first"])
                found += [self._by_number.get(n) for n in range(first, int(counted["last"] or first) + 1)] or [None]
            else:
                return None
        there = [place for place in found if place is not None]
        if not there and (len(pieces) > 1 or len(found) > 1):
            return None  # figures, as in [10-12]
        return tuple(dict.fromkeys(there)) if len(there) == len(found) else ()

    def _phrases(self, text: str) -> Iterator[Mark]:
        for pattern in (_OPENING, _CLOSING) if len(self._ids) > 1 else ():
            for found in pattern.finditer(text):
                words = next(value for key, value in found.groupdict().items() if key != "mark" and value)
                if (named := self._items(words)) is not None:
                    yield Mark(*found.span("mark"), named, words=words)

    def _raised(self, text: str) -> Iterator[Mark]:
        if len(self._ids) < 2:
            return
        for found in (*_SUPERSCRIPT.finditer(text), *_TAGGED.finditer(text)):
            word = re.search(r"[^\W\d_]*\Z", text[max(0, found.start() - 20) : found.start()])
            items = found.groupdict().get("items") or found[0]
            plain = "".join(str(unicodedata.digit(each, ",")) for each in items)
            named = self._items(plain)
            if named and not (word and word[0].casefold() in UNITS):
                yield Mark(*found.span(), named)

    def _links(self, text: str, raw: str) -> Iterator[Mark]:
        numbered = {(found[2], found[1]) for found in _NUMBERED_LINK.finditer(raw)}
        for found in _LINK.finditer(text):
            place = self._names.get(found["target"].casefold())
            if place is not None:
                label = _LABEL.search(text[max(0, found.start() - 7) : found.start()])
                is_mark = label and (label["bracket"] or (found["target"], label["number"]) in numbered)
                yield Mark(found.start() - (len(label[0]) if label and is_mark else 0), found.end(), (place,))
        for found in _RAW_LINK.finditer(text):
            place = self._names.get(found["target"].casefold())
            if place is not None:
                is_number = re.fullmatch(r"\[?\^?\d{1,3}\]?", found["words"]) is not None
                gap = " " if found[0].startswith(" ") else ""
                yield Mark(*found.span(), (place,), kept="" if is_number else gap + found["words"])


def _numbered(ids: Sequence[str]) -> list[int | None]:
    """The number of each document: its id if that is a number, else its place, counted from 1, where no id is that number.

    >>> _numbered(["a", "b"]), _numbered(["7", "1"]), _numbered(["2", "b"])
    ([1, 2], [7, 1], [2, None])
    """
    own = [int(each) if each.isascii() and each.isdecimal() else None for each in ids]
    taken = set(own)
    return [
        number if number is not None else (place if place not in taken else None)
        for place, number in enumerate(own, start=1)
    ]


USUAL = Naming([()] * 9)
"""The names of documents that are not known."""


def without(text: str, marks: Iterable[Mark]) -> str:
    """The text without marks of documents that there are."""
    pieces, end = [], 0
    for mark in marks:
        if mark.documents:
            before, end = text[end : mark.start], mark.end
            stars = _EMPHASIS.search(before)
            if stars and not mark.kept and text.startswith(stars[1], end):
                before, end = before[: stars.start()], end + len(stars[1])
            pieces += [before, mark.kept]
            if mark.words and not text[: mark.start].strip(' \t\n-*•>#_"“'):
                pieces.append(text[end : end + 1].upper())  # it opened the sentence
                end += 1
    return "".join([*pieces, text[end:]])


def clauses(text: str, marks: Sequence[Mark]) -> list[list[Mark]]:
    """The marks of each clause of a sentence that is judged by itself; all in one where the sentence is judged whole.

    A clause ends with its marks. It is judged by itself if it has a subject and a verb of its own, and nothing before it
    reaches on to it, as "if" and "says that" do.
    """
    groups: list[list[Mark]] = []
    for mark in marks:
        if groups and not text[groups[-1][-1].end : mark.start].strip():
            groups[-1].append(mark)
        else:
            groups.append([mark])
    if not 1 < len(groups) <= _MOST_PARTS or text[groups[-1][-1].end :].strip(' .!?\n*_”"'):
        return [list(marks)]
    joined = all(_JOINT.match(text, group[-1].end) for group in groups[:-1])
    return groups if joined and all(map(_is_clause, parts(text, groups))) else [list(marks)]


def parts(text: str, groups: Sequence[Sequence[Mark]]) -> list[str]:
    """The text of each clause that ends with a group of marks, without marks."""
    if len(groups) < 2:
        return [without(text, (mark for group in groups for mark in group))]
    said, start = list[str](), 0
    for group in groups:
        part = _JOINT.sub("", text[start : group[0].start], count=1) if said else text[start : group[0].start]
        said.append(part.strip().rstrip(".") + ".")
        start = group[-1].end
    return [part[:1].upper() + part[1:] for part in said]


def _is_clause(part: str) -> bool:
    found = [word.lower().replace("’", "'") for word in _WORDS.findall(part)]
    if "until" in found[1:] and not any(map(is_finite, found[found.index("until") :])):
        found.remove("until")  # "until Thursday" reaches on to nothing
    return not _LEANING.match(part) and not _REACHES_ON & set(found) and any(map(is_finite, found[1:]))


def _stands_for_a_value(text: str, start: int, before: frozenset[str]) -> bool:
    words = text[max(0, start - 20) : start].lower().split()
    return not words or words[-1] in before or (words[-1][-1] in ":=" and words[-1] not in _CITING)
