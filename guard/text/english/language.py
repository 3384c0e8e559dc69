"""Whether a text is English, by how many of its words are the commonest English ones."""

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]+")
_COMMON = frozenset(
    "the of and to a in is it that for was on are with as be this have from or by not but at they you we his her "
    "their which will would there been has had were can all if must may should your each when who what no more".split()
)
_SHARE = 0.18
"""Some 40 % of English prose are such words; in languages that share some of them mostly under 12 %."""
_FEW = 8
_MANY = 40
"""Words from which the share of a text is known well; of fewer, at least one must be such a word."""
_LAST_LATIN = "\u024f"
_READ = 4000
"""Characters of a text that tell its language."""


def is_latin(text: str) -> bool:
    """Whether half of the letters of a text are Latin, or more."""
    letters = "".join(_WORD.findall(text[:_READ]))
    return 2 * sum(letter <= _LAST_LATIN for letter in letters) >= len(letters)


@lru_cache(maxsize=4096)
def is_english(text: str) -> bool:
    """Whether a text may be English; one of few words may be."""
    words = [word.lower() for word in _WORD.findall(text[:_READ])]
    common = sum(word in _COMMON for word in words)
    return len(words) < _FEW or (common >= _SHARE * len(words) if len(words) >= _MANY else common > 0)
