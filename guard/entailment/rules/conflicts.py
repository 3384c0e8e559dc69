"""Details that the premise gives, but not as the claim does: of something else, on the other side of a bound.

Small models often miss these: `The landlord pays for water` against `The tenants pay for water`, or `the steam
boiler holds 0.3 litres` where that is the coffee boiler's. Rules that speak up only where the texts are explicit;
everything else is left to the model.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from groundrail.english.mentions import Mention, mentions
from groundrail.english.words import FUNCTION, is_adverb, is_finite

Kind: TypeAlias = tuple[str | float | None, ...]
"""What competes: quantities of one family, dates, ..., or the words of one pair of opposites."""


def _pairs(table: str) -> list[tuple[frozenset[str], frozenset[str]]]:
    sides = (line.split("/") for line in table.strip().splitlines())
    return [(frozenset(one.split()), frozenset(other.split())) for one, other in sides]


_KINDS = _pairs("""
landlord/tenant tenants
seller sellers/buyer buyers
employer/employee employees
lender/borrower borrowers
left/right
upper/lower ground
north northern/south southern
east eastern/west western
hot warm/cold cool
morning/afternoon evening
maximum/minimum
highest/lowest
largest biggest/smallest
longest/shortest
""")
"""Opposites that tell two things of a kind apart: the left light, the right light."""

_OPPOSITES = [*_KINDS, *_pairs("""
increase increases increased rise rises rose/decrease decreases decreased fall falls fell drop drops dropped
always/never
all/none
inside indoors/outside outdoors
accept accepts accepted approve approved/reject rejects rejected
allowed permitted tolerated/forbidden prohibited banned
include includes included including/exclude excludes excluded excluding
agree agrees agreed/disagree disagrees disagreed
support supports supported/oppose opposes opposed
required mandatory compulsory/optional voluntary
best/worst
full/empty
temporary/permanent
""")]  # fmt: skip
"""Not among them: what the same fact can be told by from its other end, as `before` and `after`, `buy` and `sell`."""

_SIDES = [*_KINDS, *_pairs("""
higher/lower
larger bigger greater/smaller
longer/shorter
faster/slower
""")]  # fmt: skip
"""What can be said of the wrong one of two things, as figures can."""

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|none|nobody|nothing|without|cannot|hardly)\b|n['’]t\b", re.IGNORECASE
)
_NOT = re.compile(r"\b(?:not|never|cannot)\b|n['’]t\b", re.IGNORECASE)
_PART_END = re.compile(r"[,;:]|\b(?:and|but)\b")
_SENTENCE_END = re.compile(r"[.!?](?=\s+[\"“(]?[A-Z0-9])|\n")
_CLAUSE_END = re.compile(r"[;:](?=\s)|, (?=(?:and|but|so|while|whereas|because|which|who|if|unless)\b)")
_COMMA = re.compile(r"[;:,](?=\s)|\s[–—-]\s")
_CONJUNCTION = re.compile(r"\b(?:and|but|while|whereas|or)\b", re.IGNORECASE)
_SHARE = re.compile(r"\s*(?:out )?of (?:the|these|its|their|those|all)\s*")
_LIST_MARK = re.compile(r"(?m)(?:^|(?<=[.!?:]\s)|(?<=[.!?:]\s\s))[ \t]*\d+(?:\.\d+)*\.?[ \t]+(?=[A-Z])")
_NEXT_WORD = re.compile(r"\s*([^\W\d_]+)")
_NOUN = re.compile(r"\s+([a-z]{3,})")
_ONE = re.compile(r"\b(?:one|a single)\b", re.IGNORECASE)
_LOWER_BOUND = re.compile(
    r"\b(?:at least|no less than|no fewer than|minimum(?: of)?|more than|over)\s*$", re.IGNORECASE
)
_UPPER_BOUND = re.compile(
    r"\b(?:at most|no more than|not more than|maximum(?: of)?|less than|fewer than|under|up to)\s*$", re.IGNORECASE
)
_OR_MORE = re.compile(r"\s*(?:or more|or over|minimum|at least)\b", re.IGNORECASE)
_OR_LESS = re.compile(r"\s*(?:or less|or fewer|or under|maximum|at (?:the )?most)\b", re.IGNORECASE)
_STEM = 5


class _Item(NamedTuple):
    """A figure or one of two opposites, `text[start:end]`; `bare`: a number whose noun was left out."""

    start: int
    end: int
    kind: Kind
    value: object
    number: float | None
    bare: bool


class _Placed(NamedTuple):
    """An item with the content words of its part of the sentence, as stems.

    `shared`: those of a subject before its rivals, where it has none of its own: A begins in May and ends in June.
    """

    item: _Item
    words: frozenset[str]
    shared: frozenset[str]


def conflicts(premise: str, claim: str) -> int:
    """How many kinds of conflict there are between the explicit details of both."""
    checks = (misplaced, opposed, asserted, miscounted, misbounded)
    return sum(check(premise, claim) for check in checks)


def misplaced(premise: str, claim: str) -> bool:
    """Whether a detail is beside words that the premise has beside a rival of it, and beside none of its own."""
    of_premise = _placed(premise)
    for item, words, _ in _placed(claim):
        same = [placed for placed in of_premise if _same(placed.item, item)]
        own, shared = _union(placed.words for placed in same), _union(placed.shared for placed in same)
        rival = _union(p.words for p in of_premise if _rivals(p.item, item) and not _same(p.item, item))
        if own and words & rival - own - shared and not words & own - rival:
            return True
    return False


def opposed(premise: str, claim: str) -> bool:
    """Whether the claim has a word where the premise has only its opposite, and no more or less is negated."""
    ours, theirs = (frozenset(word.lower() for word in _WORD.findall(text)) for text in (claim, premise))
    against = any(
        ours & side and theirs & other and not theirs & side and not ours & other
        for one, two in _OPPOSITES
        for side, other in ((one, two), (two, one))
    )
    return against and _polarity(premise) == _polarity(claim)


def asserted(premise: str, claim: str) -> bool:
    """Whether the claim, which negates nothing, says a word that the premise says with a `not` alone."""
    if _NEGATION.search(claim) or not _polarity(premise):
        return False
    denied = {word.start() for word in _denied(premise)}
    said = {_stem(word[0]) for word in _content(premise) if word.start() not in denied}
    return bool({_stem(word[0]) for word in _denied(premise)} & _stems(claim) - said)


def miscounted(premise: str, claim: str) -> bool:
    """Whether the claim counts something that the premise counts, and not alike: two bathrooms, one bathroom."""
    counted = _counts(premise)
    return any(noun in counted and not counted[noun] & numbers for noun, numbers in _counts(claim).items())


def misbounded(premise: str, claim: str) -> bool:
    """Whether a figure is at least so much in one text and at most so much in the other."""
    if _polarity(premise) != _polarity(claim):
        return False
    known: dict[object, set[int]] = {}
    for figure in _figures(premise):
        known.setdefault(figure.meaning, set()).add(_bound(premise, figure))
    bounds = ((known.get(figure.meaning), _bound(claim, figure)) for figure in _figures(claim))
    return any(bound and found == {-bound} for found, bound in bounds)


@lru_cache(maxsize=4096)
def _figures(text: str) -> tuple[Mention, ...]:
    """The figures that say something, list and paragraph numbers left out."""
    marks = [match.span() for match in _LIST_MARK.finditer(text)]
    return tuple(m for m in mentions(text) if not any(start <= m.start and m.end <= end for start, end in marks))


def _items(text: str) -> list[_Item]:
    items = []
    for figure in _figures(text):
        kind = figure.meaning[:2] if figure.meaning[0] == "quantity" else figure.meaning[:1]
        follows = _NEXT_WORD.match(text, figure.end)
        bare = figure.meaning[0] == "number" and (follows is None or follows[1].lower() in FUNCTION)
        number = figure.numbers[0] if figure.numbers else None
        items.append(_Item(figure.start, figure.end, kind, figure.meaning, number, bare))
    taken = [(item.start, item.end) for item in items]
    for word in _WORD.finditer(text):
        if any(start <= word.start() < end for start, end in taken):
            continue
        for number, pair in enumerate(_SIDES):
            sides = [side for side in pair if word[0].lower() in side]
            items += [_Item(word.start(), word.end(), ("side", float(number)), side, None, False) for side in sides]
    return items


@lru_cache(maxsize=4096)
def _placed(text: str) -> tuple[_Placed, ...]:
    """Every item with the words of its clause; two rivals in one clause share its words out."""
    items = _items(text)
    ends = [*_SENTENCE_END.finditer(text), *_CLAUSE_END.finditer(text)]
    ends = [end for end in ends if not any(item.start <= end.start() < item.end for item in items)]
    placed = []
    for item in items:
        clause = max((end.end() for end in ends if end.end() <= item.start), default=0)
        first, last = clause, min((end.start() for end in ends if end.start() >= item.end), default=len(text))
        rivals = [other for other in items if _rivals(item, other) and other.start != item.start]
        for other in rivals:
            before, after = sorted((item, other), key=lambda each: each.start)
            apart = _apart(text, before.end, after.start)
            if apart is not None and other is before:
                first = max(first, apart[1])
            elif apart is not None:
                last = min(last, apart[0])
        words = _stems(text[first : item.start]) | _stems(text[item.end : last])
        shares = first > clause and all(is_finite(word[0].lower()) for word in _content(text[first : item.start]))
        shared = _stems(text[clause : min(other.start for other in rivals)]) if shares else frozenset()
        placed.append(_Placed(item, words, shared))
    return tuple(placed)


def _apart(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the words of one rival end and those of the next begin; None for `two of the five`, or if a sentence ends.

    Without a comma or conjunction between them, the words between belong to neither.
    """
    between = text[start:end]
    if _SHARE.fullmatch(between) or _SENTENCE_END.search(text[start : end + 1]):
        return None
    found = _COMMA.search(between) or _CONJUNCTION.search(between)
    return (start + found.start(), start + found.start()) if found else (start, end)


def _rivals(one: _Item, other: _Item) -> bool:
    """Whether a text could have said one in the other's place."""
    if one.kind == other.kind:
        return True
    counted = ("quantity", "number")
    return (one.bare and other.kind[0] in counted) or (other.bare and one.kind[0] in counted)


def _same(one: _Item, other: _Item) -> bool:
    if one.kind == other.kind:
        return one.value == other.value
    return _rivals(one, other) and one.number == other.number


def _counts(text: str) -> dict[str, set[float]]:
    """How many there are of what, by the noun's singular."""
    found: dict[str, set[float]] = {}
    numbers = [(figure.end, figure.numbers[0]) for figure in _figures(text) if figure.meaning[0] == "number"]
    for end, number in [*numbers, *((match.end(), 1.0) for match in _ONE.finditer(text))]:
        noun = _NOUN.match(text, end)
        if noun and noun[1] not in FUNCTION:
            found.setdefault(noun[1].rstrip("s"), set()).add(number)
    return found


def _bound(text: str, figure: Mention) -> int:
    """1 for a lower bound, -1 for an upper one, 0 for none."""
    before, after = text[max(0, figure.start - 24) : figure.start], text[figure.end :]
    lower = bool(_LOWER_BOUND.search(before) or _OR_MORE.match(after))
    return lower - bool(_UPPER_BOUND.search(before) or _OR_LESS.match(after))


def _polarity(text: str) -> int:
    return len(_NEGATION.findall(text)) % 2


def _denied(text: str) -> Iterator[re.Match[str]]:
    """The first content word after every `not`, in its part of the sentence."""
    content = list(_content(text))
    ends = [match.start() for pattern in (_SENTENCE_END, _PART_END) for match in pattern.finditer(text)]
    for negation in _NOT.finditer(text):
        last = min((end for end in ends if end >= negation.end()), default=len(text))
        yield from [word for word in content if negation.end() <= word.start() < last][:1]


def _content(text: str) -> Iterator[re.Match[str]]:
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if len(word) > 2 and word not in FUNCTION and not is_adverb(word) and not _NEGATION.fullmatch(word):
            yield match


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(match[0]) for match in _content(text))


def _stem(word: str) -> str:
    return (word[:-1] if word.endswith("s") and not word.endswith("ss") else word).lower()[:_STEM]


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
