"""Lead-ins of assistants: "Based on the given passages, here is a brief overview of Hotel Larkspur:".

A lead-in announces a text and says nothing about the world, unless its topic does. Words that only point to the source
("based on the given passages") are no part of a claim. `groundrail.text.claims` uses both.
"""

import re

_TEXT = r"(?:passages?|data|information|context|sources?|documents?|texts?|articles?|records?|search results|excerpts?)"
_GIVEN = rf"(?:given|provided|supplied|above|following) (?:structured )?{_TEXT}"
_SOURCE = rf"(?:(?:(?:the|these|this|your) )?{_GIVEN}|(?:the|these) {_TEXT} (?:provided|given|above)|the (?:passages?|sources?))"
_POINTING = rf"(?:based on|according to) {_SOURCE}"
BASIS = rf"(?:{_POINTING}|(?:from|using) {_SOURCE})(?: in json format)?"
"""Words that point to the source of an answer, as a pattern in lower case."""

_NUMBER = r"(?:\d{1,4}|one|two|three|four|five)"
_LENGTH = (
    rf"(?:in|within|under) (?:about |around |exactly |at most |less than |no more than )?{_NUMBER} (?:words?|sentences?)"
    r"(?: or (?:less|fewer))?"
)
_KIND = r"(?:short|quick|brief|concise|objective|main|key|important|following|detailed|general|possible)"
_NOUN = r"(?:answers?|summary|overview|list|details|points|steps|facts|description|response|takeaways)"
_WHICH = rf"(?:(?:the|a|an|my|your|some|a few|{_NUMBER}) )?(?:{_KIND} )*"
_HERE = r"here(?:'s| is| are)"
_OF_TEXT = (
    rf"(?:of|about|on|for|to) (?:(?:the|this) (?:{_TEXT}|news|story)|(?:the|this|your) question|(?:the )?{_GIVEN})"
)
_REST = rf"(?: {BASIS}| {_LENGTH})*"
LEAD_IN = (
    rf"(?:{BASIS},? )?(?:{_HERE}|(?:this is|these are|below (?:is|are))(?=.*:$)) {_WHICH}{_NOUN}(?: {_OF_TEXT})?{_REST}"
)
"""A lead-in without a topic, as a pattern in lower case. "This is the list." is none: it speaks of what stands before."""

_ON_TOPIC = re.compile(
    rf"(?:{BASIS},? )?{_HERE} {_WHICH}(?P<noun>{_NOUN}) (?:of|about|on|for) (?P<topic>[^:]+?){_REST}:", re.IGNORECASE
)
_TELLING = frozenset({"summary", "overview", "description"})
"""Nouns of texts about a topic. A list or an answer says something of it: "Here is a list of approved suppliers:"."""

_NAME = re.compile(r"(?=.*[a-z])[A-Z][\w'&.-]*(?: (?:[A-Z][\w'&.-]*|of|and|the|&)){0,5}")
_POINTER = re.compile(rf"{_POINTING}(?: in json format)?, (?=\S)", re.IGNORECASE)
_PLAIN = re.compile(r"[a-z]{3,}\b|(?:a|i|it|in|on|no|an|at|by|he|we|if|to|as)\b", re.ASCII)
_MAXIMUM_LENGTH = 300


def _announced(sentence: str) -> re.Match[str] | None:
    plain = " ".join(sentence.replace("’", "'").split()).strip("*_# ")
    return _ON_TOPIC.fullmatch(plain) if len(plain) <= _MAXIMUM_LENGTH else None


def announced_topic(sentence: str) -> str:
    """The topic of a lead-in that ends with a colon; empty for every other sentence.

    >>> announced_topic("Here is a list of people who died:")
    'people who died'
    """
    found = _announced(sentence)
    return found["topic"] if found else ""


def announced_name(sentence: str) -> str:
    """The name that a lead-in announces a text about; empty for every other sentence.

    >>> announced_name("Here's an objective overview of Hotel Larkspur based on the provided structured data:")
    'Hotel Larkspur'
    >>> announced_name("Here is a list of Approved Suppliers:")
    ''
    """
    found = _announced(sentence)
    return found["topic"] if found and found["noun"].lower() in _TELLING and _NAME.fullmatch(found["topic"]) else ""


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
    return rest[0].upper() + rest[1:] if _PLAIN.match(rest) else rest
