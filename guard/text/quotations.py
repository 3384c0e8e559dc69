"""Quotations in a sentence, and the places where the documents have their words.

Words in quotation marks are a quotation if the sentence says that somebody said or wrote them, or if they make a whole
statement. Titles, names of things and words that are held at a distance are none. Free are the case of the first letter,
the punctuation at the end, white space and the form of marks; "..." leaves words out, "[he]" stands for others.
Whether the sentence around a quotation is supported is for a scorer to say.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from groundrail.text.english.words import NEGATIONS, is_finite

_PAIRS = re.compile(
    r"“([^“”\n]{2,2000})”|„([^„“”\n]{2,2000})[“”]|«\s?([^«»\n]{2,2000}?)\s?»|»([^«»\n]{2,2000})«|‹([^‹›\n]{2,2000})›"
    r"|‘([^‘\n]{2,2000}?)’(?!\w)|「([^「」\n]{2,2000})」"
    r"""|(?<![\w"])"(?=\S)([^"\n]{2,2000})(?<=\S)"(?!\w)|(?<![\w'])'(?=\S)([^'\n]{2,2000}(?:'\w[^'\n]*)*)(?<=[\w.,!?…])'(?!\w)"""
    r"|“([^“”\n]{2,2000})\Z"
)
"""Words between marks, or behind a mark that another sentence closes."""
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_WORD = re.compile(r"\w+(?:[.,'’:/-]\w+)*")
_SAYING = re.compile(
    r"\b(?:say|write|explain|insist|declare|mention|tell|describe|define|specify|stipulate|says|said|saying|states|stated|stating|writes|wrote|written|writing|reads|notes|noted|explains|explained|adds"
    r"|added|claims|claimed|warns|warned|asks|asked|replies|replied|answers|answered|insists|insisted|declares|declared"
    r"|mentions|mentioned|promises|promised|remarks|remarked|reports|reported|announces|announced|quotes?|quoted|quoting"
    r"|tells|told|puts\s+it|put\s+it|describes|described|defines|defined|specifies|specified|stipulates|stipulated"
    r"|according\s+to|in\s+the\s+words\s+of|the\s+(?:exact\s+)?(?:wording|words|phrase)\s+(?:is|are|was|were))\b",
    re.IGNORECASE,
)
_NAMING = re.compile(
    r"\b(?:called|titled|entitled|named|known\s+as|so-called|labell?ed|marked|nicknamed|dubbed|terms?|words?|section|chapter"
    r"|article|book|song|film|movie|series|album|poem|novel|play|heading|title|tab|button|menu|option|field|folder|file"
    r"|clause|paragraph|category|brand|project|programme|program|course|as)\s*[:,]?\s*\Z",
    re.IGNORECASE,
)
_OMISSION = re.compile(r"\[\s?(?:\.\.\.|…)\s?\]|\(\s?(?:\.\.\.|…)\s?\)|\.{3,4}|…")
_BRACKET = re.compile(r"\[[^\[\]]{1,80}\]")
_APART = re.compile(rf"({_OMISSION.pattern}|{_BRACKET.pattern})")
_LETTER = re.compile(r"\[(\w)\](?=\w)")
_BREAK = re.compile(r"\n\s*\n")
_END = ".,;:!?… \t"
_TURNING = NEGATIONS | frozenset(
    "no not none never nobody nothing neither nor unless if except only without until provided but however hardly "
    "cannot rarely seldom although though before after".split()
)
_PASSAGE = 600
"""Most characters that an omission may leave out."""
_ANNOUNCEMENT = 120
"""Characters before a block of quoted lines that may announce it."""
_REPLACED = 60
"""Most characters that words in brackets may stand for."""
_LIKELY_PLACES = 200
_LEAST_SHARED = 0.6
"""Share of the words of a misquotation that a passage has, from which it counts as the wording that was meant."""
_LIKELY = 8
_ALIKE = {
    **dict.fromkeys('"“”„‟«»「」', r'\\?["“”„‟«»「」]'),
    **dict.fromkeys("'’‘‚`´", "['’‘‚`´]"),
    **dict.fromkeys("-–—‐‑−", "[-–—‐‑−]"),
}


class Quotation(NamedTuple):
    """The words `text[start:end]`, without the punctuation at their end."""

    start: int
    end: int
    words: str


class QuotedSpan(NamedTuple):
    """A slice of a document, by its place in the answer's list."""

    document: int
    start: int
    end: int


def quotations(text: str, code: str = "") -> list[Quotation]:
    """The quotations in a sentence that is shown. code: Markdown in whose code the text may stand.

    >>> [each.words for each in quotations('The lease says “pets are allowed.” It is a “must”.')]
    ['pets are allowed']
    """
    written = [span[2] for span in _CODE.finditer(code)]
    outside = _PAIRS.sub(lambda pair: " " * len(pair[0]), text)
    is_said = _SAYING.search(outside) is not None
    found = []
    for pair in _PAIRS.finditer(text):
        group = next(number for number in range(1, len(pair.groups()) + 1) if pair[number] is not None)
        words = pair[group].rstrip(_END)
        start = pair.start(group) + len(words) - len(words.lstrip())
        words = words.lstrip()
        in_code = any(words in span for span in written)
        if words and not in_code and _is_quotation(words, text[: pair.start()], is_said=is_said):
            found.append(Quotation(start, start + len(words), words))
    return found


def quoted_block(sentence: str, previous: str = "") -> str:
    """The lines of a sentence behind ">", if the words before them announce what somebody says; else an empty text.

    previous: the text before the sentence.

    >>> quoted_block("> Pets are allowed.", "The lease says:")
    'Pets are allowed'
    """
    lines = sentence.strip().splitlines()
    first = next((number for number, line in enumerate(lines) if line.lstrip().startswith(">")), len(lines))
    before = "\n".join(lines[:first]) or previous
    is_announced = before.rstrip("*_ \n").endswith(":") and _SAYING.search(before[-_ANNOUNCEMENT:])
    return " ".join(line.strip().lstrip("> ") for line in lines[first:]).rstrip(_END) if is_announced else ""


def _is_quotation(words: str, before: str, *, is_said: bool) -> bool:
    found = _WORD.findall(words)
    long = [word for word in found if len(word) > 3]
    if len(found) < 2 or (long and all(word[0].isupper() for word in long) and len(found) < 12 and found[0][0].isupper()):
        return False  # the name of a thing, or a title
    if _NAMING.search(before) and not _SAYING.search(before[-12:]):
        return False
    return is_said or (len(found) > 4 and any(is_finite(word.lower().replace("’", "'")) for word in found))


def place_of(quotation: str, texts: Sequence[str]) -> QuotedSpan | None:
    """The first place where one of the documents has these words; None if none has.

    >>> place_of("the rent … is low", ["It is old. The rent of the flat is low."])
    QuotedSpan(document=0, start=11, end=38)
    """
    for pieces in _read(quotation):
        for number, text in enumerate(texts):
            if place := _found(pieces, text):
                return QuotedSpan(number, *place)
    return None


def wording(quotation: str, texts: Sequence[str]) -> QuotedSpan | None:
    """The passage whose words are most like those of a misquotation, None if no passage shares enough of them."""
    asked = [word.lower() for word in _WORD.findall(quotation)]
    likely = sorted(
        (
            (shared, -number, -first)
            for number, text in enumerate(texts)
            for shared, first in _windows(asked, text)
            if shared >= _LEAST_SHARED * len(asked)
        ),
        reverse=True,
    )[:_LIKELY]
    if not likely:
        return None
    aligned = [_aligned(asked, texts[-number], -number, -first) for _, number, first in likely]
    return max(aligned, key=lambda each: each[0])[1]


def _read(quotation: str) -> Iterator[list[tuple[int, re.Pattern[str]]]]:
    """The quotation as it stands, then in pieces around what is left out or replaced.

    Each piece has the number of characters that may stand between it and the piece before.
    """
    yield [(0, _pattern(quotation))]
    plain = _LETTER.sub(r"\1", quotation).replace("[sic]", " ")
    pieces, reach = list[tuple[int, re.Pattern[str]]](), 0
    for part in _APART.split(plain):
        if _APART.fullmatch(part):
            reach = max(reach, _PASSAGE if _OMISSION.fullmatch(part) else _REPLACED)
        elif part.strip(f"{_END}'\"“”‘’"):
            pieces.append((reach, _pattern(part.strip())))
            reach = 0
    if plain != quotation or (pieces and len(_APART.split(plain)) > 1 and not _turns(" ".join(_BRACKET.findall(plain)))):
        yield pieces


def _found(pieces: Sequence[tuple[int, re.Pattern[str]]], text: str) -> tuple[int, int] | None:
    """Where the pieces stand in a text, one behind the other in one passage."""
    if not pieces:
        return None
    for opening in islice(pieces[0][1].finditer(text), _LIKELY_PLACES):
        end = opening.end()
        for reach, pattern in pieces[1:]:
            found = pattern.search(text, end, end + reach + 2 * len(pattern.pattern))
            left_out = text[end : found.start()] if found else ""
            if found is None or len(left_out) > reach or _BREAK.search(left_out) or _turns(left_out):
                break
            end = found.end()
        else:
            return opening.start(), end
    return None


_SPACE = r"(?:[\s*_\u00ad]|\\[nt])+"


def _pattern(words: str) -> re.Pattern[str]:
    """The words in any spelling of white space and marks, and with the first letter in any case."""
    signs = [_SPACE if part.isspace() else _ALIKE.get(part, re.escape(part)) for part in re.findall(r"\s+|\S", words)]
    if words[:1].isalpha():
        signs[0] = f"[{words[0].lower()}{words[0].upper()}]"
    return re.compile(rf"(?<!\w){''.join(signs)}(?!\w)")


def _turns(left_out: str) -> bool:
    """Whether words that are left out may turn the meaning: a negation or a condition."""
    found = [word.lower().replace("’", "'") for word in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", left_out)]
    return any(word in _TURNING or word.endswith("n't") for word in found)


def _windows(asked: Sequence[str], text: str) -> Iterator[tuple[int, int]]:
    """(the words that it shares, its first word) of each run of as many words as asked."""
    words = [word.lower() for word in _WORD.findall(text)]
    missing = Counter(asked)
    shared, size = 0, len(asked)
    for place, word in enumerate(words):
        shared += missing[word] > 0
        missing[word] -= 1
        if place >= size:
            gone = words[place - size]
            missing[gone] += 1
            shared -= missing[gone] > 0
        if place >= size - 1 or place == len(words) - 1:
            yield shared, max(0, place - size + 1)


def _aligned(asked: Sequence[str], text: str, document: int, first: int) -> tuple[float, QuotedSpan]:
    """How like the passage around a run of words is to the words asked, and the passage."""
    around = max(2, len(asked) // 3)
    words = list(_WORD.finditer(text))
    start = max(0, first - around)
    part = words[start : first + len(asked) + around]
    matcher = SequenceMatcher(None, asked, [word[0].lower() for word in part], autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    begin = max(0, blocks[0].b - blocks[0].a)
    end = min(len(part), blocks[-1].b + blocks[-1].size + len(asked) - blocks[-1].a - blocks[-1].size)
    shared = sum(block.size for block in blocks)
    return shared - abs(end - begin - len(asked)) / 10, QuotedSpan(document, part[begin].start(), part[end - 1].end())
