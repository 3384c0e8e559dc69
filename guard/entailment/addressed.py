"""A premise in the person of the claim: "you may keep a bicycle" beside a claim with "you", not "the tenant may keep one".

Whoever asks an assistant is mostly the tenant, guest or customer that the source speaks of, and is answered with "you". The words
for such readers are in `addressed.toml`.
"""

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files

from groundrail.text.context import MARK
from groundrail.text.english import words

_DATA = tomllib.loads(files(__package__).joinpath("addressed.toml").read_text(encoding="utf-8"))
_READERS, _OTHERS = (frozenset(_DATA[name].split()) for name in ("readers", "others"))
_WHOLE = frozenset("the a an all each every any our".split())
"""Determiners that leave nobody out."""
_VERBS = words.AUXILIARIES | words.PRESENT_SINGULAR | words.PRESENT_PLURAL
_BEFORE = (words.PREPOSITIONS | words.CONJUNCTIONS | _VERBS | {"that", "if", "when", "whether"}) - {"of"}
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*(?:(?<=s)['’])?")
_YOU = re.compile(r"\byou(?:r|rs|rself)?\b", re.IGNORECASE)
_SAID = re.compile(
    r"\b(?:(?:I(?:['’]m| am)|we(?:['’]re| are))\s+(?:(?:an?|the)\s+)?|as\s+(?:an?|the)\s+)(\w+(?:\s+\w+){0,2})",
    re.IGNORECASE,
)
"""Who the user says to be."""
_ENDING = re.compile(r"(?:['’]s?|s['’]?)\Z")


def addressed(premise: str, claim: str) -> str:
    """The premise with "you" for its readers, if the claim says "you" and the premise has one word for readers.

    Readers stay where a word says which of them are meant, or where the user is said to be somebody else.

    >>> addressed("The tenant may keep a bicycle. The landlord pays.", "You may keep a bicycle.")
    'You may keep a bicycle. The landlord pays.'
    >>> addressed("Guests over 60 pay less.", "You pay less.")
    'Guests over 60 pay less.'
    """
    context, _, said = claim.rpartition(MARK)
    if not _YOU.search(said) or _YOU.search(premise):
        return premise
    nouns = {_noun(word) for word in _WORD.findall(premise)} & _READERS
    user = {_noun(word) for match in _SAID.finditer(context) for word in match[1].split()} & (_READERS | _OTHERS)
    if len(nouns) != 1 or user - nouns:
        return premise
    pieces, end = [], 0
    for start, stop in _places(premise, nouns):
        you = "your" if "'" in premise[start:stop].replace("’", "'") else "you"
        pieces += [premise[end:start], you.capitalize() if premise[start].isupper() else you]
        end = stop
    return "".join([*pieces, premise[end:]])


def _places(premise: str, nouns: set[str]) -> Iterator[tuple[int, int]]:
    """The places of a word for all readers: behind no adjective, and before nothing that says which of them are meant."""
    found = [*_WORD.finditer(premise)]
    for place, match in enumerate(found):
        if _noun(match[0]) not in nouns:
            continue
        before = found[:place]
        start = match.start()
        if before and before[-1][0].lower() in _WHOLE and premise[before[-1].end() : start] == " ":
            start = before.pop().start()
        opens = not before or premise[before[-1].end() : start].strip() or before[-1][0].lower() in _BEFORE
        behind = found[place + 1] if place + 1 < len(found) else None
        goes_on = behind is None or premise[match.end() : behind.start()].strip() or behind[0].lower() in _VERBS
        if opens and (goes_on or "'" in match[0].replace("’", "'")):
            yield start, match.end()


def _noun(word: str) -> str:
    """A noun in the singular."""
    return _ENDING.sub("", word.lower())
