"""English phrases that say nothing alone: they claim nothing, or need the question or the sentence before them.

Greetings, refusals to answer, lead-ins and questions back to the reader claim nothing. A text counts as claimless only if
it is made of such phrases from end to end: a phrase with room for a fact in it is a claim. A short answer needs its
question, a pronoun the sentence before. `groundrail.text.claims` decides how such a sentence is judged.
"""

import re

from groundrail.text.english import words
from groundrail.text.english.lead_ins import BASIS, LEAD_IN
from groundrail.text.facts.quantities import CARDINALS, DAYS, MONTHS, ORDINALS, UNITS
from groundrail.text.sentences import split

_MAXIMUM_LENGTH = 200
"""Maximum characters of a text that is compared with the phrases; a longer text counts as a claim."""

_AROUND = "\"'“”‘’()*_ "
"""Marks and blanks that may stand around a phrase."""

_TOPIC = r"(?: (?:with|about|on|for) (?:that|this|it|anything else|something else|your question))?"
_GREETING = (
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day))(?: there| again| everyone)?",
    r"(?:many )?thanks?(?: you)?(?: (?:so|very) much)?(?: for (?:asking|your question|reaching out|waiting))?",
    r"you(?:'re| are) (?:very |most )?welcome",
    r"(?:good question|got it|i see|understood)",
    r"(?:that's|that is|what) a (?:great|good|fair) question",
    r"(?:i'?d|i would|i will|i'?ll)(?: be)? (?:happy|glad)? ?(?:to )?help(?: you)?" + _TOPIC,
    r"sure,? i can help(?: you)?" + _TOPIC,
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
    rf"(?:i'?m )?unable to answer(?: (?:the|this|that|your) question)? {BASIS}",
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
_ANSWERING = r"(?:in )?(?:short|brief)|great|welcome(?: there| again| everyone)?"
_LEAD_IN = (
    LEAD_IN,
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
_AGREED = re.compile(r"(?:sure(?: thing)?|certainly|of course|ok(?:ay)?|got it)[!.]*", re.IGNORECASE)
_TO_WRITE = re.compile(
    r"(?:please )?(?:summari[sz]e|write|list|describe|outline|create|generate)"
    r" (?:the|this|these|a|an|all|my|our|your|one|two|three|four|five|\d+)\b[^?]*",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"\b(?:whether|if|or not|yes|no|say|tell|answer|question|right|correct|true|false|are|is|may|can|do|does)\b",
    re.IGNORECASE,
)
"""Words of prompts that ask something, beside a question mark."""
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


def agrees_to_write(text: str, prompt: str) -> bool:
    """Whether a text only agrees to an order to write something: "Sure!" to "Summarize the lease."

    >>> agrees_to_write("Sure!", "Write whether dogs are allowed.")
    False
    """
    is_order = _TO_WRITE.fullmatch(prompt.strip()) is not None and _ASKING.search(prompt) is None
    return is_order and _AGREED.fullmatch(_plain(text)) is not None


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


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POLAR = frozenset(
    "yes no yeah yep yup nope nah sure certainly absolutely definitely indeed correct right true false wrong".split()
)
_ANSWER_WORDS = (
    _POLAR
    | words.AUXILIARIES
    | words.PRONOUNS
    | words.NEGATIONS
    | words.ADVERBS
    | words.CONJUNCTIONS
    | words.PREPOSITIONS
    | words.DETERMINERS
    | frozenset(
        "all any none some both neither either nothing nobody everybody everyone everything anyone ok okay fine exactly "
        "precisely course least most more less maybe perhaps sometimes usually generally likely probably possibly "
        "please so too well case cases not only here there think believe guess suppose afraid know so it's that's "
        "isn't aren't wasn't don't doesn't didn't can't won't couldn't shouldn't wouldn't mustn't they're you're "
        "allowed required possible permitted forbidden included needed necessary mandatory optional time times "
        "same today tomorrow yesterday weekly monthly yearly annually daily".split()
    )
)
_MEASURES = frozenset(CARDINALS) | frozenset(ORDINALS) | frozenset(MONTHS) | frozenset(DAYS) | frozenset(UNITS)
_SPEAKER = re.compile(r"(?:question|user|human|q|prompt)\s*:\s*", re.IGNORECASE)
_TURN = re.compile(r"(?:answer|assistant|a)\s*:", re.IGNORECASE)
"""The mark that a prompt ends with where the answer is to begin."""
_POINTING = frozenset("he she it they him her them his hers its their theirs".split())
_DEMONSTRATIVE = frozenset("this that these those".split())
_OPENING = words.CONJUNCTIONS | words.ADVERBS | _POLAR
_BEFORE_SUBJECT = _OPENING | words.PREPOSITIONS
_NAMED_LATER = re.compile(rf",\s+(?:{'|'.join(sorted(words.DETERMINERS))})\b", re.IGNORECASE)
"""A main clause that names its subject: "Before they get the keys, the tenants pay"."""
_BARE_NOUN = re.compile(
    r"(?:and |but |so |also,? |then,? |however,? )?(?:"
    r"(?:this|that|these|those|both|neither|such|the former|the latter)\b"
    r"|the [\w-]+(?! (?:of|in|for|from|on|at|to|with|between|under|by|that|which|who|whose)\b)\b)",
    re.IGNORECASE,
)
_OF_ANSWERS = frozenset(
    "answer reply respond be keep it brief briefly concise concisely short shortly clear precise use cite quote please "
    "thanks thank you do not don't explain guess just only strictly exactly directly in with by from on using and or a "
    "an the this that these one single yes no sentence sentences word words line lines phrase number name english "
    "given above below following provided source sources document documents text context passage information your my".split()
)
"""Words of instructions on the form of an answer. These instructions ask no question."""
_READ = 4000
"""Characters at a prompt's end in which its question is looked for."""


def opens_with_answer(claim: str) -> bool:
    """Whether a claim begins by answering yes or no."""
    first = _WORD.search(claim)
    return first is not None and first[0].lower() in _POLAR


def leans_on_question(claim: str) -> bool:
    """Whether a claim says something only as an answer: "No, never.", "Both.", "Until Friday.", "Two years."

    True for signs alone, for a single word, for words that answer, point or count and nothing else, for those and one
    word more, or up to four words, that hang on a preposition, and for two on an article. A longer one, a label with
    its value, a question is none.
    """
    found = [word.lower().replace("’", "'") for word in _WORD.findall(claim)]
    if claim.rstrip().endswith("?"):
        return False
    others = [word for word in found if word not in _ANSWER_WORDS and not _measures(word)]
    if len(found) <= 1 or not others:
        return True
    hangs = found[0] in words.PREPOSITIONS
    if hangs and len(found) <= 3 and others == found[1:2]:  # "As agreed.", where "agreed" is no verb with tense
        return True
    if ":" in claim or any(words.is_finite(word) or word in words.PRESENT_PLURAL for word in found):
        return False
    if found[0] in _POLAR:
        return len(found) <= 6
    if hangs and len(others) <= 1:
        return True
    if hangs or found[0] in words.NEGATIONS or _measures(found[0]):
        return len(found) <= 4
    return found[0] in words.DETERMINERS and len(found) == 2


def leans_on_sentence(claim: str, *, nouns: bool = False) -> bool:
    """Whether a sentence opens with a pronoun, whose noun stands in the sentence before: "But they may be taken."

    "It" counts wherever it opens a sentence, "this" and "those" only before a verb: "This is free.", not "This flat is".

    Args:
        nouns: also where it opens with a noun that may stand before: "This flat is free.", "The fee is 45 euros."
    """
    if nouns and _BARE_NOUN.match(claim):
        return True
    found = [word.lower().replace("’", "'").partition("'")[0] for word in _WORD.findall(claim)]
    first = next((place for place, word in enumerate(found) if word not in _BEFORE_SUBJECT), len(found))
    match found[first : first + 2]:
        case [word, *_] if word in _POINTING:
            return _OPENING.issuperset(found[:first]) or _NAMED_LATER.search(claim) is None
        case [word, *rest] if word in _DEMONSTRATIVE:
            return not rest or words.is_finite(rest[0])
        case _:
            return False


def is_fragment(claim: str) -> bool:
    """Whether a claim is a few words without a verb, as a name is: clearer after its question, where there is one."""
    found = [word.lower() for word in _WORD.findall(claim)]
    return (
        0 < len(found) <= 4
        and ":" not in claim
        and not claim.rstrip().endswith("?")
        and not any(words.is_finite(word) or word in words.PRESENT_PLURAL for word in found)
    )


def question_of(prompt: str) -> str:
    """The questions that a prompt ends with, as one text; empty where it ends with none.

    Behind them may stand how to answer, "Answer in one word.", and the mark of whoever answers. Where someone begins
    to speak, what stands before is not read.
    """
    asked: list[str] = []
    for sentence in reversed(split(prompt[-_READ:])):
        said = sentence.text.strip()
        speaker = _SPEAKER.match(said)
        text = said[speaker.end() :] if speaker else said
        if text.rstrip("\"'”’)*_ ").endswith("?"):
            asked.append(text)
        elif asked or not _is_on_form(text):
            break
        if speaker:
            break
    return " ".join(reversed(asked))


def _is_on_form(text: str) -> bool:
    """Whether a sentence only says how to answer, or marks where the answer begins."""
    return bool(_TURN.fullmatch(text)) or all(word.lower() in _OF_ANSWERS for word in _WORD.findall(text))


def _measures(word: str) -> bool:
    return word[0].isdigit() or word in _MEASURES or word.removesuffix("s") in _MEASURES
