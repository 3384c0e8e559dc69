"""Whether a clause ends without its object: "The baths are managed by", "The rent is", "The keys and the".

Reads no meaning. A word that may well end a sentence counts only where no object can stand before it: "what it is made of",
"Yes, it is" and "Meals are paid for" are whole.
"""

import re

from groundrail.text.english import words

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_END = re.compile(r"[\s*_`~\"'”’)\]]*\Z")
_STOP = re.compile(r"[.:…]+\Z")
_REACH = 200
"""Characters that are read at most of the end of a text."""

_OPEN = frozenset("a an the and or but nor every my your our their whose per than".split())
"""Words that end nothing."""
_ASKING = frozenset("by from into onto among between during despite towards via until".split())
"""Words that end only a clause with their object before them: "who it was built by"."""
_PAID = frozenset("of for with at upon".split())
"""Words that end also a clause in the passive: "Meals are paid for"."""
_OBJECTS = frozenset("who whom which what where when how that whatever whoever wherever than as so neither nor".split())
_BE = words.BE | {"be", "been", "become", "becomes"}


def is_unfinished(text: str) -> bool:
    """Whether a text, as a reader sees it, ends before its last clause does, with a stop or without one.

    >>> [is_unfinished(each) for each in ("The baths are managed by", "The rent is:", "The keys and the.")]
    [True, True, True]
    >>> [is_unfinished(each) for each in ("Yes, it is.", "Ask what it is made of.", "Take vitamin A.")]
    [False, False, False]
    """
    bare = _END.sub("", _STOP.sub("", _END.sub("", text[-_REACH:])))
    found = _WORD.findall(bare)
    if len(found) < 2 or not bare.endswith(found[-1]) or not found[-1].islower():
        return False
    *before, last = map(str.lower, found)
    if last in _OPEN:
        return True
    if not _OBJECTS.isdisjoint(before) or before[-2:-1] == ["to"]:
        return False
    if last in _BE:
        return words.PRONOUNS.isdisjoint(before) and not any(map(words.is_finite, before))
    is_passive = words.is_participle(before[-1]) or before[-1].endswith("ing") or before[-1] == "care"
    return last in _ASKING or (last in _PAID and not is_passive)
