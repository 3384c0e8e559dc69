"""Lead-ins of assistants: "Based on the given passages, here is a brief overview of Hotel Larkspur:".

A lead-in announces a text and says nothing about the world, unless its topic does. Words that only point to the source
("based on the given passages") are no part of a claim. `groundrail.text.claims` uses both.
"""

import re

_GIVEN = r"(?:given|provided|supplied|retrieved|above|following|structured|available)"
_TEXT = r"(?:passages?|data|information|context|sources?|documents?|texts?|articles?|records?|search results|excerpts?)"
BASIS = (
    r"(?:based (?:only |solely )?on|according to|from|using) (?:(?:the|these|this|your) )?"
    rf"(?:(?:{_GIVEN} )+{_TEXT}|{_TEXT} (?:provided|given|above)|(?<=the )(?:passages?|sources?))(?: in json format)?"
)
"""Words that point to the source of an answer, as a pattern in lower case."""

_LENGTH = r"(?:in|within|under) (?:about |around |exactly |at most |less than |no more than )?\d{1,4} words(?: or (?:less|fewer))?"
_KIND = r"(?:short|quick|brief|concise|objective|main|key|important|following|full|complete|detailed|general|overall|possible)"
_ANNOUNCED = (
    rf"(?:{BASIS},? )?(?:here(?:'s| is| are)|this is|these are|below (?:is|are)) (?:(?:the|a|an|my|your|some) )?"
    rf"(?:{_KIND} )*(?:answers?|summary|overview|list|details|points|steps|facts|description|response|takeaways)"
)
_OF_TEXT = rf"(?:of|about|on|for) (?:the|this|your) (?:{_TEXT}|news|story|question)"
_REST = rf"(?: {BASIS}| {_LENGTH})*"
LEAD_IN = rf"{_ANNOUNCED}(?: {_OF_TEXT})?{_REST}"
"""A lead-in without a topic, as a pattern in lower case."""

_ON_TOPIC = re.compile(rf"{_ANNOUNCED} (?:of|about|on|for) (.+?){_REST}[.:]?", re.IGNORECASE)
_NAME = re.compile(r"[A-Z0-9]\S*(?: (?:[A-Z0-9&]\S*|of|and|the|de|la))*")
_POINTER = re.compile(rf"{BASIS}, (?=\S)", re.IGNORECASE)
_MAXIMUM_LENGTH = 300


def topic_of(sentence: str) -> str | None:
    """The name that a lead-in announces a text about; None for every other sentence.

    >>> topic_of("Here's an objective overview of Hotel Larkspur based on the provided structured data:")
    'Hotel Larkspur'
    >>> topic_of("Here is a list of people who died:") is None
    True
    """
    plain = " ".join(sentence.replace("’", "'").split()).strip("*_ ")
    found = _ON_TOPIC.fullmatch(plain) if len(plain) <= _MAXIMUM_LENGTH else None
    return found[1] if found and _NAME.fullmatch(found[1]) else None


def without_pointer(sentence: str) -> str:
    """The sentence without the words at its beginning that only point to the source.

    >>> without_pointer("Based on the given passages, the rent is 900 euros.")
    'The rent is 900 euros.'
    >>> without_pointer("Based on the reviews, the rent is high.")
    'Based on the reviews, the rent is high.'
    """
    found = _POINTER.match(sentence)
    if found is None:
        return sentence
    rest = sentence[found.end() :]
    return rest[:1].upper() + rest[1:]
