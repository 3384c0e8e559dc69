"""A sentence with one detail as a premise gives it: a figure, a unit, a day or month, or a name; never a verb or a "not".

Reads no meaning: whether a corrected sentence is true is a model's to say. A detail that the sentence has in two places is
left alone, so that each correction changes one place.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groundrail.facts.mentions import Mention, mentions, opens
from groundrail.facts.missing import missing
from groundrail.facts.rivals import rivals
from groundrail.text.english.quantities import DAYS, MONTHS
from groundrail.text.english.words import DETERMINERS, FUNCTION, PRESENT_PLURAL, is_adverb, is_finite

_NUMBER = re.compile(r"(?:[-−](?=\d))?\d[\d,]*(?:\.\d+)?")
_YEAR, _DAY_OF_MONTH = re.compile(r"\b\d{4}\b"), re.compile(r"\b\d{1,2}\b(?!\d)")
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_MONTH = re.compile("|".join(month.capitalize() for month in MONTHS))
_DAY = re.compile(rf"\b(?:{'|'.join(day.capitalize() for day in DAYS)})(?=s?\b)")
_RATE = re.compile(r"\b(?:per|each|every|a) (day|week|month|quarter|year)\b", re.IGNORECASE)
_MONTH_ALONE = re.compile(
    rf"\b(?:{'|'.join(m.capitalize() for m in MONTHS if m != 'may')})\b"
    r"|(?<=\b[io]n )May\b|(?<=\b(?:of|by) )May\b|(?<=\buntil )May\b|(?<=\bsince )May\b"
)
_CALENDAR = {*MONTHS, *DAYS}
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ][^\W\d_]*(?:-[^\W\d_]+)*"
_NAME = re.compile(rf"\b{_CAPITAL}(?: {_CAPITAL})*\b")
_WORD_BEFORE = re.compile(r"([^\W\d_]+) $")
_WORD = re.compile(r"[^\W\d_]+")
_OPENS = re.compile(r"""(?:^|[.!?:;\n])[\s"'“‘(*_•-]*$""")
_JOINED_BEFORE, _JOINED_BEHIND = re.compile(r"(?:\band|\bof|&) $"), re.compile(r" (?:and|of|&) [^\W\d_a-z]")


class Exchange(NamedTuple):
    """A sentence with `sentence[start:end]` exchanged for `now`."""

    start: int
    end: int
    now: str

    def applied(self, sentence: str) -> str:
        """The corrected sentence.

        >>> Exchange(12, 15, "950").applied("The rent is 990 euros.")
        'The rent is 950 euros.'
        """
        return sentence[: self.start] + self.now + sentence[self.end :]


def corrections(sentence: str, premise: str) -> list[Exchange]:
    """All corrections by one premise. If it does not state some details of the sentence, only they are corrected.

    A name is exchanged only in a sentence without another detail that the premise does not state.

    >>> [each.now for each in corrections("The rent is €1,650.", "The rent is 1,450 euros.")]
    ['€1,450']
    """
    lacking = [(each.start, each.end) for each in missing(premise, sentence)]

    def overlaps(each: Exchange) -> list[bool]:
        return [each.start < end and start < each.end for start, end in lacking]

    named = [each for each in _names(sentence, premise) if all(overlaps(each))]
    found = dict.fromkeys(each for way in (_figures, _rates, _calendar) for each in way(sentence, premise))
    return [each for each in [*found, *named] if not lacking or any(overlaps(each))]


def _figures(sentence: str, premise: str) -> Iterator[Exchange]:
    own, given = mentions(sentence), mentions(premise)
    said = Counter(mention.meaning for mention in own)
    for mine in own:
        if said[mine.meaning] > 1 or opens(mine, sentence):
            continue
        others = list(_other_units(mine, given)) or rivals(mine, sentence, premise)
        for other in {other.meaning: other for other in others}.values():
            if _named_by(mine, sentence) != _named_by(other, premise):
                continue
            for now in _forms(sentence[mine.start : mine.end], premise[other.start : other.end], other):
                now = now[0].upper() + now[1:] if not sentence[: mine.start].strip() else now
                correction = Exchange(mine.start, mine.end, now)
                if _means(correction, sentence, other):
                    yield correction
                    break


def _other_units(mine: Mention, given: Sequence[Mention]) -> Iterator[Mention]:
    """The same number of another unit: 1,450 euros for 1,450 dollars."""
    for other in given:
        same_number = mine.meaning[0] == other.meaning[0] == "quantity" and mine.numbers == other.numbers
        if same_number and mine.meaning != other.meaning:
            yield other


def _named_by(figure: Mention, text: str) -> str:
    """The noun that a number tells apart, as in "room 110" or "model 2200 Travel"; "" for a number that counts."""
    before = _WORD_BEFORE.search(text, 0, figure.start) if figure.meaning[0] == "number" else None
    word = before[1].lower() if before else ""
    is_verb = word in PRESENT_PLURAL or is_finite(word) or word.endswith(("ing", "ed"))
    return "" if word in FUNCTION or is_verb or is_adverb(word) else word


def _forms(said: str, given: str, other: Mention) -> Iterator[str]:
    """The premise's figure in the sentence's form, then as the premise says it."""
    if other.meaning[0] == "date":
        day, month, year = other.meaning[1:]
        name = MONTHS[int(month or 1) - 1].capitalize()
        with_month = _MONTH.sub(name, said)
        with_day = _DAY_OF_MONTH.sub(f"{day:.0f}", with_month, count=1)
        if _ISO.fullmatch(said) and year is not None:
            yield f"{year:04.0f}-{month:02.0f}-{day:02.0f}"
        yield with_day if year is None else _YEAR.sub(f"{year:.0f}", with_day)
    elif other.meaning[0] == "number" and said[-1].isdigit() and not _NUMBER.search(given):
        yield f"{other.numbers[0]:g}"
    elif other.numbers[:1] != (1.0,) and _NUMBER.search(said) and (number := _NUMBER.search(given)):
        yield _NUMBER.sub(number[0], said, count=1)
    yield given


def _means(correction: Exchange, sentence: str, other: Mention) -> bool:
    """Whether the corrected place says what the premise says, with nothing around it that belongs to the figure."""
    end = correction.start + len(correction.now)
    if sentence[correction.end : correction.end + 1] in ("'", "’") and correction.now[-1] != "s":
        return False  # three months' rent, one month's
    for each in mentions(correction.applied(sentence)):
        if (each.start, each.end) == (correction.start, end):
            same_day = each.meaning[0] == "date" and each.meaning[3] is None and each.meaning[:3] == other.meaning[:3]
            return each.meaning == other.meaning or same_day
    return False


def _rates(sentence: str, premise: str) -> Iterator[Exchange]:
    """Another span of time for each of which something is: "per month" for "per week"."""
    own, given = list(_RATE.finditer(sentence)), {match[1].lower() for match in _RATE.finditer(premise)}
    if len(own) == 1 and own[0][1].lower() not in given:
        yield from (Exchange(*own[0].span(1), other) for other in sorted(given))


def _calendar(sentence: str, premise: str) -> Iterator[Exchange]:
    for kind in (_DAY, _MONTH_ALONE):
        own, given = _outside_figures(kind, sentence), _outside_figures(kind, premise)
        said = Counter(match[0] for match in own)
        for mine in own:
            for other in given:
                if said[mine[0]] == 1 and other[0] not in said:
                    yield Exchange(mine.start(), mine.end(), other[0])


def _outside_figures(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    figures = mentions(text)
    return [m for m in pattern.finditer(text) if not any(f.start <= m.start() < f.end for f in figures)]


def _names(sentence: str, premise: str) -> Iterator[Exchange]:
    own, given = list(_named(sentence)), list(_named(premise))
    words, theirs = _words(sentence), _words(premise)
    for start, end in own:
        name = sentence[start:end]
        if sentence.count(name) == 1 and not _words(name) & theirs:
            for first, last in given:
                if not _words(premise[first:last]) & words:
                    yield Exchange(start, end, premise[first:last])


def _named(text: str) -> Iterator[tuple[int, int]]:
    """The places of names: capitalised words in a row, without words that are capitalised for another reason."""
    for match in _NAME.finditer(text):
        start = match.start()
        parts = match[0].split(" ")
        opens_sentence = _OPENS.search(text[:start])
        while parts and (parts[0].lower() in FUNCTION or (opens_sentence and len(parts) > 2)):
            start, opens_sentence = start + len(parts.pop(0)) + 1, None
        before = text[:start].split()[-1:]
        joined = _JOINED_BEFORE.search(text[:start]) or _JOINED_BEHIND.match(text, match.end())
        if not parts or (opens_sentence and len(parts) == 1) or joined:
            continue
        is_role = bool(before) and before[0].lower() in DETERMINERS  # the Tenants
        if not is_role and not any(part.lower().removesuffix("s") in _CALENDAR or len(part) == 1 for part in parts):
            yield start, match.end()


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
