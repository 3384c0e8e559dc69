"""Sentences that say that the source is silent, and their opposites, which a judge reads more surely.

Whether "The lease does not mention dogs." is true shows in "The lease does mention dogs.": no place may support that.
"""

import re

_DENIALS = {
    "nothing": "something",
    "nobody": "somebody",
    "nowhere": "somewhere",
    "none": "some",
    "neither": "each",
    "no": "some",
    "never": "once",
    "silent": "clear",
    "unclear": "clear",
    "unsaid": "said",
    "unstated": "stated",
    "unspecified": "specified",
    "unmentioned": "mentioned",
    "open": "clear",
    "cannot": "can",
    "can't": "can",
    "won't": "will",
}
_DENIAL = re.compile(rf"(?i)\b(?:({'|'.join(_DENIALS)})\b(?!,)|(\w+)n't\b|not\s+(?=\w))")


def affirmed(sentence: str) -> str | None:
    """The sentence without its first denial, or None for a sentence that denies nothing.

    >>> affirmed("The lease doesn't say who pays for heating.")
    'The lease does say who pays for heating.'
    >>> affirmed("Nothing is said about dogs.")
    'something is said about dogs.'
    >>> affirmed("Dogs are allowed.") is None
    True
    """
    said, count = _DENIAL.subn(_without, sentence.replace("’", "'"), count=1)
    return said if count else None


def _without(denial: re.Match[str]) -> str:
    return _DENIALS[denial[1].lower()] if denial[1] else denial[2] or ""
