"""A list item is read together with its lead, the line with a colon that the list begins with.

Which sentence has which lead is seen by `groundrail.text.sentences`.
"""

import re

from groundrail.errors import UncheckableError
from groundrail.text.english import words
from groundrail.text.english.phrases import is_claimless
from groundrail.text.lines import without_mark
from groundrail.text.rendering.visible import visible

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_OPENS_CLAUSE = frozenset("who which that whose whom where when if unless while because whether".split())


def opens_list(sentence: str, lead: str) -> bool:
    """Whether the sentence is the lead with the first item of its list."""
    return bool(lead) and sentence.lstrip().startswith(lead)


def needs_lead(item: str, lead: str) -> bool:
    """Whether an item says something only with its lead: "people with asthma", not "The rent is due on the first."

    An item is a sentence of its own if it begins with a capital and its main clause has a verb that is surely one.
    """
    if not lead or _is_claimless(lead):
        return False
    found = _WORD.findall(without_mark(item))
    if not found or not found[0][0].isupper():
        return True
    for word in (word.lower().replace("’", "'") for word in found[1:]):
        if word in _OPENS_CLAUSE:
            return True
        if word in words.AUXILIARIES or word in words.PRESENT_SINGULAR or word.endswith("n't"):
            return False
    return True


def with_lead(sentence: str, lead: str) -> str:
    """The sentence that lead and item make: "Who must not take it: people with asthma".

    If the lead claims nothing, such as "Here are the key points:", the item stands alone.

    Raises: UncheckableError where markup goes on from the lead to the item.
    """
    item = without_mark(sentence.strip().removeprefix(lead).strip())
    if _is_claimless(lead):
        return item
    lead = without_mark(" ".join(lead.split()))
    whole = f"{lead} {item}"
    if _letters(whole) != _letters(lead) + _letters(item):
        raise UncheckableError("markup goes on from the lead of a list to its item")
    return whole


def _is_claimless(lead: str) -> bool:
    return is_claimless(visible(lead).text)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, visible(text).text))
