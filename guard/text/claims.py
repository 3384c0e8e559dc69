"""From a sentence to its claim: `read_claim`, the only reading of guard, corpus and evaluation.

A sentence claims nothing only if it is made of known polite phrases from end to end. Any other phrase is a claim,
question mark or not; a bare "Yes" is judged together with its question.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from groundrail.errors import InputError, UncheckableError
from groundrail.text.ends import without_mark
from groundrail.text.english import words
from groundrail.text.english.phrases import (
    agrees_to_write,
    announced_name,
    announced_topic,
    is_claimless,
    is_fragment,
    leans_on_question,
    may_answer,
    opens_with_answer,
    question_of,
    refuses_what_follows,
    takes_footnotes,
    without_pointer,
)
from groundrail.text.english.statements import statement
from groundrail.text.facts.quantities import MONTHS
from groundrail.text.form import SourceText, refuse_unreadable, without_footnotes
from groundrail.text.rendering.rendered import RenderedAnswer
from groundrail.text.rendering.visible import visible
from groundrail.text.sentences import split

ClaimOf: TypeAlias = Callable[[str, str, str], str | None]
"""(sentence, the text shown before it, the prompt) -> the claim as text, or None if the sentence claims nothing.

Raises: UncheckableError for a sentence that cannot be checked; the guard refuses the sentence.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that a scorer can judge. `text`: what the scorer is given."""

    text: str


@dataclass(frozen=True, slots=True)
class NoClaim:
    """A sentence without anything to check."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A sentence that is unsupported whatever a scorer says. `reason`: why, for a reader."""

    reason: str


PART_OF_BLOCK = Refused("a code block is longer than a sentence may be, so that its end is not seen")
"""The reading of a sentence that is a part of a code block, see `groundrail.text.sentences.Sentence`."""

_BULLETS = re.compile(r"\s*(?:(?:[-+–>](?!\s*\d)|[*•‣◦▪·●■◆►▶➤]|#{1,6})\s+)*")
_ENUMERATOR = re.compile(r"(?:\(\d{1,2}\)(?!\s+[a-z])|\d{1,2}[.)]|\(?[a-zA-Z]\))\s+")
"""Number or letter of a list item. "(3) bedrooms" has none: a number in brackets before a small letter counts things."""

_MONTH = re.compile(rf"(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")

_GLAD = (
    "\U0001f600-\U0001f640\U0001f642\U0001f917\U0001f929\U0001f970\U0001f973"  # faces
    "\u2728\U0001f389\U0001f38a\U0001f44b\U0001f4a1\U0001f4cc\U0001f64f\U0001f680"
)
_THINGS = (
    "\u2139\u23f0\u23f3\u260e\u2696\u2699\u26a0\u2709\u270f\U0001f3e0-\U0001f3ed\U0001f400-\U0001f43f\U0001f449\U0001f4b0-\U0001f4b7"
    "\U0001f4bb-\U0001f4c7\U0001f4ca-\U0001f4df\U0001f4e2-\U0001f4e8\U0001f50d-\U0001f512\U0001f517\U0001f527\U0001f528\U0001f550-\U0001f567"
    "\U0001f6e0"
)
_DECORATION = re.compile(
    rf"^(?:[{_GLAD}{_THINGS}]\ufe0f?\s*)+(?=[^\W\d_])(?![a-z])"
    rf"|(?<=[\w)\"'”’.!?…])\s*[{_GLAD}][\s{_GLAD}]*(?=[.!?…]*$)"
    rf"|(?<=[.!?…])\s*(?:[{_GLAD}{_THINGS}]\ufe0f?\s*)+$"
)
"""Pictures that say nothing beside a sentence: before its capital, glad ones at its end, others behind its end."""

_BORDER = re.compile(r"[|+]?(?:\s*+:?[-=]++:?\s*+[|+]?)+")
_MARKS = re.compile(r"([-–—−=~^<>+/\\])(?: ?\1)*|_(?: ?_){2,}|[!\"#%&'()*,.:;?@\[\]{}`…“”„‘’«»‹›•‣·。、！？\s]*")
"""Signs that say nothing alone: a rule of one sign, and marks without strokes."""
_WIDE_GAP = re.compile(r"\S\s{2,}\S")
_ANSWERING = re.compile(r"(?:[-*+•]\s+)?[-–—−+=~<>^]{1,2}")

_LEAD_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_OPENS_CLAUSE = frozenset("who which that whose whom where when if unless while because whether".split())


def claim_of(sentence: str, previous: str = "", prompt: str = "") -> str | None:
    """Return the claim of a sentence as a reader sees it, without list marks, or None if nothing is claimed.

    White space, rules, bare list marks and known polite phrases claim nothing. A number is a list mark if `previous`,
    the text shown before, ended its line. A text that says something only as an answer, such as "No.", makes a statement
    with its question where the grammar is plain, else it stands behind the question: the one in `previous`, else the one
    that `prompt` ends with. Footnote marks stay:
    `read_claim` compares them with the documents.

    Raises: UncheckableError for a sentence that two readers would read differently, for an answer without a question,
    and for a number in brackets behind a phrase that claims nothing.
    """
    line = _stripped(visible(sentence).strip(), previous)
    if not any(map(str.isalnum, line.bare)):
        return _of_signs(line, previous, prompt)
    if is_claimless(line.bare):
        return _of_phrases(line, sentence.rstrip(" ").endswith("\n"), previous, prompt)
    return _of_statement(line, previous, prompt)


class _Line(NamedTuple):
    """A sentence as it is shown, its number in a list, and its text without marks: with footnotes, and without."""

    shown: str
    number: str
    marked: str
    bare: str


def _stripped(shown: str, previous: str) -> _Line:
    marked = shown[_BULLETS.match(shown).end() :]  # type: ignore[union-attr]  # it matches the empty text too
    number = _ENUMERATOR.match(marked) if not previous.strip() or previous.rstrip(" ").endswith("\n") else None
    if number and not _counts_items(number[0], marked[number.end() :], previous):
        number = None
    if number:
        marked = marked[number.end() :]
    marked = _DECORATION.sub("", marked)
    return _Line(shown, number[0] if number else "", marked, without_footnotes(marked).strip())


def _of_signs(line: _Line, previous: str, prompt: str) -> str | None:
    """Rules, borders and marks claim nothing, but signs may draw letters, or answer a question."""
    if not _BORDER.fullmatch(line.shown) and (not _MARKS.fullmatch(line.bare) or _WIDE_GAP.search(line.shown)):
        raise UncheckableError("signs alone cannot be read as words")
    question = _question(previous, prompt) if _ANSWERING.fullmatch(line.shown) else ""
    return f"{question} {line.shown}" if question else line.shown if line.number else None


def _of_phrases(line: _Line, alone: bool, previous: str, prompt: str) -> str | None:
    """Polite phrases claim nothing, but for those that answer a question, or count as an item."""
    if refuses_what_follows(line.bare):
        raise UncheckableError("a refusal with a colon says something about what follows it")
    question = _question(previous, prompt)
    if question and (opens_with_answer(line.bare) or may_answer(line.bare, alone=alone)):
        return f"{question} {line.bare}"
    if line.bare != line.marked.strip() and not takes_footnotes(line.bare):
        raise UncheckableError("a number in brackets is no footnote where nothing is said before it")
    return line.shown if line.number else None


def _of_statement(line: _Line, previous: str, prompt: str) -> str | None:
    """The words to judge, with the question if they answer one."""
    bare, marked = without_pointer(line.bare), without_pointer(line.marked).strip()
    leans = leans_on_question(bare)
    if not leans and not opens_with_answer(bare) and not is_fragment(bare):
        return marked
    if question := _question(previous, prompt):
        return statement(question, marked)
    if leans and not previous.strip() and agrees_to_write(line.bare, prompt):
        return None
    if leans:
        raise UncheckableError("it says something only as an answer, and there is no question to it")
    return marked


def read_claim(
    sentence: str,
    previous: str,
    prompt: str,
    source: SourceText,
    *,
    lead: str = "",
    claim_of: ClaimOf = claim_of,
    unread: Callable[[str], Sequence[str]] = lambda claim: (),
) -> Claim | NoClaim | Refused:
    """Read the claim of a sentence, an answer to `prompt` with `previous` shown before it.

        read_claim("- The rent is **900** euros [1].", "", "", SourceText(as_documents(lease)))  # Claim("The rent ...")

    Args:
        source: the documents of the answer; links, footnote marks and strange spellings must stand there. A blank
            source holds none of them and refuses none: who uses the claim decides what a missing source means.
        lead: the line that the sentence's list begins with, see `Sentence.lead`.
        claim_of: replaces the function `claim_of` of this module. Its claims are compared with the source all the same.
        unread: `ScorerFacts.unread`, the words of a claim that the judge has no token for.

    Raises: InputError for a `claim_of` that returns anything but text or None; other errors of the two functions.
    """
    try:
        if opens_list(sentence, lead) or needs_lead(sentence, lead):
            sentence, previous = with_lead(sentence, lead), ""
        said = claim_of(sentence, previous, prompt)
        if said is None and lead:
            said = _item_of_list(sentence, lead)
        if said is None:
            return NoClaim()
        if not isinstance(said, str):
            raise InputError(f"claim_of returns the text of a claim or None, not {type(said).__name__}")
        if _is_about_a_name(said, source):
            return NoClaim()
        text = without_footnotes(said, len(source.documents))
        if not source.is_blank:
            refuse_unreadable(text, source, unread)
    except UncheckableError as error:
        return Refused(str(error))
    return Claim(text)


def read_claims(
    text: str, source: SourceText, *, unread: Callable[[str], Sequence[str]], prompt: str = ""
) -> list[Claim | NoClaim | Refused]:
    """Read the claim of every sentence of a text that answers `prompt`, each after the sentences before it."""
    rendered, previous = RenderedAnswer(), ""
    found: list[Claim | NoClaim | Refused] = []
    for sentence in split(text):
        claim = read_claim(sentence.text, previous, prompt, source, lead=sentence.lead, unread=unread)
        if sentence.of_block:
            claim = PART_OF_BLOCK
        if not isinstance(claim, Refused):
            try:
                rendered.refuse_difference(sentence.text)
            except UncheckableError as error:
                claim = Refused(str(error))
        rendered.add(sentence.text)
        found.append(claim)
        previous = sentence.text
    return found


def _is_about_a_name(sentence: str, source: SourceText) -> bool:
    """Whether a sentence only announces a text about a name that the source has letter by letter."""
    name = announced_name(sentence)
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return bool(name) and any(whole.search(document.text) for document in source.documents)


def _item_of_list(sentence: str, lead: str) -> str | None:
    """The claim of an item that would claim nothing alone: "Welcome" in a list says something. None for a blank item."""
    item = without_mark(sentence.strip().removeprefix(lead).strip())
    return f"{without_mark(' '.join(lead.split()))} {item}" if item else None


def opens_list(sentence: str, lead: str) -> bool:
    """Whether the sentence is the lead with the first item of its list."""
    return bool(lead) and sentence.lstrip().startswith(lead)


def needs_lead(item: str, lead: str) -> bool:
    """Whether an item says something only with its lead: "people with asthma", not "The rent is due on the first."

    An item is a sentence of its own if it begins with a capital and its main clause has a verb that is surely one.
    """
    if not lead or is_claimless(visible(lead)):
        return False
    found = _LEAD_WORD.findall(without_mark(item))
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

    If the lead claims nothing, such as "Here are the key points:", the item stands alone. Of a lead that announces a text
    about a topic, such as "Here is an overview of Hotel Larkspur:", the topic stays.

    Raises: UncheckableError where markup goes on from the lead to the item.
    """
    item = without_mark(sentence.strip().removeprefix(lead).strip())
    if is_claimless(visible(lead)):
        return item
    lead = without_mark(" ".join(lead.split()))
    whole = f"{lead} {item}"
    if _letters(whole) != _letters(lead) + _letters(item):
        raise UncheckableError("markup goes on from the lead of a list to its item")
    topic = announced_topic(visible(lead))
    return f"{topic}: {item}" if topic else whole


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, visible(text)))


def _question(previous: str, prompt: str) -> str:
    """The question that a sentence answers, or an empty text."""
    return question_of(previous) or question_of(prompt)


def _counts_items(mark: str, text: str, previous: str) -> bool:
    """Whether the number or letter `mark` before `text` counts the items of a list.

    It does not in "12. March", nor in "4. Guests may stay" as the first sentence of an answer. Behind another line any
    number counts, since the items before may be kept back.
    """
    number = re.search(r"\d+", mark)
    if number is None:
        return True
    first = _WORD.match(text)
    if first is None or _MONTH.match(text):
        return False
    return bool(previous) or int(number[0]) == 1 or first[0].lower() in words.DETERMINERS | words.PRONOUNS
