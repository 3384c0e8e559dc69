"""Phrases that claim nothing: greetings, refusals to answer, lead-ins and questions back to the reader.

A text counts as claimless only if it is made of known phrases from end to end: a phrase with room for a fact in it is a
claim. `groundrail.text.claims` decides how a sentence made of known phrases is judged.
"""

import re

_MAXIMUM_LENGTH = 200
"""Maximum characters of a text that is compared with the phrases; a longer text counts as a claim."""

_AROUND = "\"'“”‘’()*_ "
"""Marks and blanks that may stand around a phrase."""

_TOPIC = r"(?: (?:with|about|on|for) (?:that|this|it|anything else|something else|your question))?"
_GREETING = (
    r"(?:hi|hello|hey|welcome|good (?:morning|afternoon|evening|day))(?: there| again| everyone)?",
    r"(?:many )?thanks?(?: you)?(?: (?:so|very) much)?(?: for (?:asking|your question|reaching out|waiting))?",
    r"you(?:'re| are) (?:very |most )?welcome",
    r"(?:great|good question|got it|i see|understood)",
    r"(?:that's|that is|what) a (?:great|good|fair) question",
    r"(?:i'?d|i would|i will|i'?ll)(?: be)? (?:happy|glad)? ?(?:to )?help(?: you)?" + _TOPIC,
    r"(?:i hope|hope) (?:this|that|it) helps",
    r"(?:please )?(?:feel free to|let me know if|do not hesitate to|don't hesitate to)"
    r"(?: you)?(?: (?:ask|contact me|have|need|want|reach out))?(?: (?:any|more|further|other))*"
    r"(?: (?:questions?|help|anything else|information|assistance|details))?",
    r"(?:goodbye|bye|take care|have a (?:nice|great|good) (?:day|evening|weekend))",
)
_REFUSAL = (
    r"(?:i'?m |i am )?(?:very )?sorry",
    r"(?:unfortunately |i'?m afraid )?(?:i )?(?:don't|do not) (?:know|have (?:that|this|enough) information)"
    r"(?: to answer(?: (?:that|this|your question|that question|this question))?)?",
    r"(?:unfortunately |i'?m afraid )?(?:i )?(?:can't|cannot|can not|could not|couldn't|am unable to|am not able to)"
    r" (?:answer|say|tell|help|find)(?: you)?"
    r"(?: (?:that|this|it|an answer|the answer|that question|this question))?"
    r"(?: (?:from|in|with|using) (?:that|this|it|(?:the|your) (?:source|document|documents|text|context|information)))?",
)
_QUESTION = (
    r"(?:what|which|how|who|where|when|why) (?:do|did|would|can|could|should|shall|will) (?:you|i|we)"
    r"(?: (?:mean|like|want|need|prefer|help|have in mind|refer to|do|say|know))+(?: (?:to know|by that|you with|with))*",
    r"(?:would|do|did|could|can|may|shall|will) (?:you|i|we)(?: please)?"
    r"(?: (?:like|want|need|mean|help|clarify|rephrase|repeat|explain|say more|tell me more|be more specific))+"
    r"(?: (?:me|you|that|this|it|your question|more|more details|help|to know more|to continue|anything else|with that))*",
    r"(?:is there )?anything else(?: (?:i can (?:help|do)|you(?:'d| would) like|you need))?"
    r"(?: (?:you )?(?:with|for you|to know))*(?: today)?",
    r"how (?:can|may) i (?:help|assist)(?: you)?(?: today| further)?",
    r"which (?:one|document|section|part)(?: do you mean| are you asking about)?",
)
_HEADING = r"(?:the )?(?:answer|summary|key points|note|sources?)|(?:in )?(?:summary|conclusion)"
_ANSWERING = r"(?:in )?(?:short|brief)|great|welcome"
_LEAD_IN = (
    r"(?:here (?:is|are)|this is|these are) (?:the|a|an|your|my)?(?: (?:short|quick|brief|main|key|following|full))*"
    r" (?:answer|answers|points|summary|list|details|overview|steps|facts)",
    _HEADING,
    _ANSWERING,
)
_SEPARATED = r"(?:[\s,;:.!?…]|\b(?:and|but|so)\b)*"
_CLAIMLESS = re.compile(
    rf"(?:(?:{'|'.join((*_GREETING, *_REFUSAL, *_LEAD_IN, *_QUESTION))}){_SEPARATED})+", re.IGNORECASE
)
_MAY_ANSWER = re.compile(rf"(?:{_HEADING}|{_ANSWERING})[.…]*", re.IGNORECASE)
"""Phrases that can be the whole answer to a question, unless a colon, a comma or an exclamation mark follows."""
_REFUSED = re.compile(rf"(?:(?:{'|'.join(_REFUSAL)}){_SEPARATED})+", re.IGNORECASE)
_REFUSED_AHEAD = re.compile(rf"(?:{'|'.join(_REFUSAL)})[{_AROUND}]*:", re.IGNORECASE)
_SOURCES = re.compile(r"(?:the )?sources?\W*", re.IGNORECASE)


def is_claimless(text: str) -> bool:
    """Whether a text consists of known phrases that claim nothing."""
    return _consists_of(_CLAIMLESS, text)


def is_refusal(text: str) -> bool:
    """Whether a text says that it does not know the answer, and nothing else."""
    return _consists_of(_REFUSED, text)


def refuses_what_follows(text: str) -> bool:
    """Whether a refusal goes on behind a colon: "I cannot find this in the source:" tells of what follows it."""
    return _REFUSED_AHEAD.search(_plain(text)) is not None


def may_answer(phrase: str, *, alone: bool) -> bool:
    """Whether a claimless phrase can answer the question before it. `alone`: it fills a line, as a heading does."""
    if not _MAY_ANSWER.fullmatch(phrase.strip(_AROUND)):
        return False
    return not (alone and phrase[-1].isalnum() and re.fullmatch(_HEADING, phrase, re.IGNORECASE))


def takes_footnotes(phrase: str) -> bool:
    """Whether a claimless phrase can carry footnote marks, as "Sources: [1]" and "I don't know [1]." do."""
    return _SOURCES.fullmatch(phrase) is not None or is_refusal(phrase)


def _consists_of(pattern: re.Pattern[str], text: str) -> bool:
    plain = _plain(text)
    return len(plain) <= _MAXIMUM_LENGTH and pattern.fullmatch(plain) is not None


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").split()).strip(_AROUND)
