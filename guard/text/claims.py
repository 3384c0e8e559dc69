"""What in a sentence is worth checking: its claim, or nothing.

Plain rules, closed by design: a sentence counts as claimless only when it is made of known polite
phrases from end to end. A phrase with room for a fact in it is a claim, question mark or not, and
so is a bare "Yes", which is checked together with what it answers.
"""

import re
import unicodedata

from groundrail.errors import UncheckableError
from groundrail.text.english import words
from groundrail.text.english.short_answers import is_fragment, leans_on_question, opens_with_answer, question_of
from groundrail.text.facts.quantities import MONTHS
from groundrail.text.rendering.cells import refuse_unseen_cells
from groundrail.text.rendering.pointers import without_footnotes
from groundrail.text.rendering.visible import visible

_LONGEST_PHRASE = 200
"""Characters; a longer text is a claim without a look."""

_BULLETS = re.compile(r"\s*(?:(?:[-+–>](?!\s*\d)|[*•‣◦▪·●■◆►▶➤]|#{1,6})\s+)*")
_ENUMERATOR = re.compile(r"(?:\(\d{1,2}\)(?!\s+[a-z])|\d{1,2}[.)]|\(?[a-zA-Z]\))\s+")
"""A number in brackets before a small letter counts what follows: "(3) bedrooms"."""

_MONTH = re.compile(rf"(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")

_GLAD = (
    "\U0001f600-\U0001f60e\U0001f638-\U0001f63b\U0001f642\U0001f917\U0001f929\U0001f970\U0001f973\U0001f389\U0001f38a\u2728"
    "\U0001f64f\U0001f680\U0001f4a1\U0001f4cc\U0001f44b"
)
_DECORATION = re.compile(rf"^[\s{_GLAD}]*[{_GLAD}]|[{_GLAD}][\s{_GLAD}]*(?=[.!?…]*$)")
"""Glad faces and the like at an end of a sentence, which say nothing. Within one they stand for words; a thumb up, a
check mark, a prohibition sign, a row of stars, a sad face do anywhere."""

_PICTURE = re.compile(
    "[\u2139\u23f0\u23f3\u260e\u2696\u2699\u26a0\u2709\u270f\U0001f3e0-\U0001f3ed\U0001f400-\U0001f43f\U0001f449\U0001f4b0-\U0001f4b7"
    "\U0001f4bb-\U0001f4c7\U0001f4ca-\U0001f4df\U0001f4e2-\U0001f4e8\U0001f50d-\U0001f512\U0001f517\U0001f527\U0001f528\U0001f550-\U0001f567"
    "\U0001f6e0]\ufe0f?\\s+(?=[^\\W\\d_])(?![a-z])"
)
"""A picture of a thing, set before a sentence in a bullet's place."""

_RULES = frozenset("|=~^`<>+")
"""Symbols, beside punctuation, that rules and table borders are made of."""

_SIGNS = re.compile(r"[-–—+=~<>^\s]*")
"""Signs that can answer a question, or none where there is nothing but a glad face."""

_RULE = re.compile(r"([-–—=~])\s*\1\s*\1")

_SAYING_CELL = re.compile(r"\|[^|]*(?<![-=+])\+(?![-=+])")
"""A plus alone in a table's cell, which says yes."""

_SOURCES = re.compile(r"(?:the )?sources?\W*", re.IGNORECASE)

_YOU_NEED = r"(?: you)?(?: (?:need|want|like|have))?"
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
"""What may be the whole answer to a question, unless a colon, a comma, or an exclamation mark follows."""

_REFUSED = re.compile(rf"(?:(?:{'|'.join(_REFUSAL)}){_SEPARATED})+", re.IGNORECASE)


def claim_of(sentence: str, previous: str = "", prompt: str = "") -> str | None:
    """The text to check as a reader sees it, list marks removed; None where nothing is claimed.

    None for white space, rules and bare list marks, and for greetings, thanks, refusals, lead-ins and
    questions back to the reader that consist of known phrases alone. A number counts as a list mark where
    `previous`, the text shown before, ended its line. What says something only as an answer, a sign such as "+"
    among it, is put after its question: `previous` where that asks one, else the one that `prompt` ends with.
    Footnote marks stay: whether they point to a document is asked in `groundrail.text.form`.

    Raises: UncheckableError for a sentence that readers would read differently, for an answer without question, and
    for a number in brackets behind a phrase that claims nothing.
    """
    refuse_unseen_cells(sentence, previous)
    text = visible(sentence).text.strip()
    bare = text[_BULLETS.match(text).end() :]  # type: ignore[union-attr]  # it matches the empty text too
    mark = _ENUMERATOR.match(bare) if not previous.strip() or previous.rstrip(" ").endswith("\n") else None
    if mark and not _counts_items(mark[0], bare[mark.end() :], previous):
        mark = None
    if mark:
        bare = bare[mark.end() :]
    marked = _DECORATION.sub("", _PICTURE.sub("", bare, count=1) if _PICTURE.match(bare) else bare)
    bare = without_footnotes(marked).strip()
    is_rule = all(c in _RULES or unicodedata.category(c)[0] in "PZ" or c.isspace() for c in bare)
    if is_rule and not _SAYING_CELL.search(bare):
        question = _question(previous, prompt) if text and _SIGNS.fullmatch(bare) and not _RULE.search(text) else ""
        return f"{question} {text}" if question else text if mark else None
    if _fully(_CLAIMLESS, bare):
        question = _question(previous, prompt)
        if question and _may_answer(bare, alone=sentence.rstrip(" ").endswith("\n")):
            return f"{question} {bare}"
        if bare != marked.strip() and not _SOURCES.fullmatch(bare) and not _fully(_REFUSED, bare):
            raise UncheckableError("a number in brackets is no footnote where nothing is said before it")
        return None if not mark else text
    leans = leans_on_question(bare)
    if not leans and not opens_with_answer(bare) and not is_fragment(bare):
        return marked.strip()
    question = _question(previous, prompt)
    if leans and not question:
        raise UncheckableError("it says something only as an answer, and there is no question to it")
    return f"{question} {marked.strip()}".strip()


def _question(previous: str, prompt: str) -> str:
    """The question that a sentence answers, if it answers one."""
    return question_of(previous) or question_of(prompt)


def _counts_items(mark: str, text: str, previous: str) -> bool:
    """Whether a number before `text` counts the items of a list, and is not part of what is said, as in "12. March" or,
    where an answer begins, in "4. Guests may stay". Behind other lines it counts: items before it may be kept back.
    """
    number = re.search(r"\d+", mark)
    if number is None:
        return True
    first = _WORD.match(text)
    if first is None or _MONTH.match(text):
        return False
    return bool(previous) or int(number[0]) == 1 or first[0].lower() in words.DETERMINERS | words.PRONOUNS


def _may_answer(phrase: str, *, alone: bool) -> bool:
    """Whether a known phrase answers the question before it. `alone`: on a line of its own, as a heading is."""
    if not _MAY_ANSWER.fullmatch(phrase.strip("\"'“”‘’()*_ ")):
        return False
    return not (alone and phrase[-1].isalnum() and re.fullmatch(_HEADING, phrase, re.IGNORECASE))


def is_refusal(text: str) -> bool:
    """Whether a text says that it does not know, and nothing else."""
    return _fully(_REFUSED, text)


def _fully(pattern: re.Pattern[str], text: str) -> bool:
    plain = " ".join(text.replace("’", "'").split()).strip("\"'“”‘’()*_ ")
    return len(plain) <= _LONGEST_PHRASE and pattern.fullmatch(plain) is not None
