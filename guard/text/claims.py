"""From a sentence to its claim: `read_claim`, the only reading of guard, corpus and evaluation.

A sentence claims nothing only if it is made of known polite phrases from end to end. Any other phrase is a claim,
question mark or not; a bare "Yes" is judged together with its question.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from textwrap import shorten
from typing import NamedTuple, TypeAlias

from groundrail.errors import InputError, UncheckableError
from groundrail.text.attributions import announced, attribution, is_document, is_written, role
from groundrail.text.context import around, context_of, in_context, message_of
from groundrail.text.ends import heading_of, without_mark
from groundrail.text.english import words
from groundrail.text.english.language import is_english
from groundrail.text.english.phrases import (
    GLAD,
    PICTURE,
    announced_name,
    announced_topic,
    depends_on_question,
    is_claimless,
    is_fragment,
    may_answer,
    only_agrees,
    opens_with_answer,
    question_of,
    refuses_what_follows,
    takes_footnotes,
    without_pointer,
    without_tick,
)
from groundrail.text.english.quantities import MONTHS
from groundrail.text.english.statements import is_yes_or_no, statement
from groundrail.text.english.unfinished import is_unfinished
from groundrail.text.form import SourceText, refuse_unreadable
from groundrail.text.marks import MOST, USUAL, Mark, clauses, parts, without
from groundrail.text.quotations import QuotedSpan, place_of, quotations, quoted_block, wording
from groundrail.text.rendering.rendered import words as shown_words
from groundrail.text.rendering.visible import has_fence, is_blank, visible

ClaimOf: TypeAlias = Callable[[str, str, str], str | None]
"""(sentence, the text shown before it, the question) -> the claim as text, or None if the sentence claims nothing.

Raises: UncheckableError for a sentence that cannot be checked; the guard refuses the sentence.
"""


class Asked(NamedTuple):
    """A text that a scorer is asked about.

    named: the places of the documents that have to support it, () for all documents.
    around: `Claim.around`.
    """

    text: str
    named: tuple[int, ...] = ()
    around: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that a scorer can judge.

    text: all that is claimed.
    lines: the lines of a block of code that say something, and every two neighbours as one text. Each is judged by itself,
        since a reader may take each by itself, or a line as going on in the next.
    context: how the claim is meant, for a judge that reads contexts (`groundrail.text.context`).
    around: the user's message and the sentence before, from which its kind is read (`groundrail.text.kinds`);
        None for what is a claim in any case.
    parts: the claim by the marks in it: each text with the places of the documents that have to support it, () for any.
    marks: the marks in the sentence, each with the number of its part. No parts, no marks.
    quoted: the places of the words that it quotes.
    speaker: the words for a person or an office that it has say something, "" for none.
    """

    text: str
    lines: tuple[str, ...] = ()
    context: str = ""
    around: str | None = field(default=None, compare=False)
    parts: tuple[tuple[str, tuple[int, ...]], ...] = ()
    marks: tuple[tuple[Mark, int], ...] = ()
    quoted: tuple[QuotedSpan, ...] = ()
    speaker: str = ""

    def asked(self, *, by_marks: bool) -> tuple[Asked, ...]:
        """The texts to score, each against the documents that it names if `by_marks`."""
        if by_marks and self.parts:
            return tuple(Asked(in_context(text, self.context), named, self.around) for text, named in self.parts)
        return tuple(Asked(text, around=self.around) for text in self.judged)

    @property
    def judged(self) -> tuple[str, ...]:
        """The texts to score, each in its context; the claim is as true as the least supported of them."""
        return tuple(in_context(text, self.context) for text in self.lines or (self.text,))


@dataclass(frozen=True, slots=True)
class NoClaim:
    """A sentence without anything to check."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A sentence that is unsupported whatever a scorer says.

    reason: why, for a reader.
    misquoted: the words of a misquotation.
    wording: the words of a misquotation, and the source's instead, where they are known; `place` is where these stand.
    """

    reason: str
    misquoted: str = ""
    wording: tuple[str, str] | None = None
    place: QuotedSpan | None = None


PART_OF_BLOCK = Refused("a code block is longer than a sentence may be, so that its end is not seen")
"""The reading of a sentence that is a part of a code block, see `groundrail.text.sentences.Sentence`."""

_BULLETS = re.compile(r"\s*(?:(?:[-+–>](?!\s*\d)|[*•‣◦▪·●■◆►▶➤]|#{1,6})\s+)*")
_ENUMERATOR = re.compile(r"(?:\(\d{1,2}\)(?!\s+[a-z])|\d{1,2}[.)]|\(?[a-zA-Z]\))\s+")
"""Number or letter of a list item. "(3) bedrooms" has none: a number in brackets before a small letter counts things."""
_MONTH = re.compile(rf"(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_DECORATION = re.compile(
    rf"^(?:{PICTURE}\s*)+(?=[^\W\d_])(?![a-z])"
    rf"|(?<=[\w)\"'”’.!?…])\s*{GLAD}(?:\s|{GLAD})*(?=[.!?…]*$)"
    rf"|(?<=[.!?…])\s*(?:{PICTURE}\s*)+$"
    r"|(?<=[.!])\s*(?:[\U0001f44c\U0001f44d][\U0001f3fb-\U0001f3ff]?\s*)+$"
)
"""Pictures that say nothing beside a sentence: before its capital, glad ones at its end, others and "good" behind its end."""
_BORDER = re.compile(r"[|+]?(?:\s*+:?[-=]++:?\s*+[|+]?)+")
_MARKS = re.compile(r"([-–—−=~^<>+/\\])(?: ?\1)*|_(?: ?_){2,}|[!\"#%&'()*,.:;?@\[\]{}`…“”„‘’«»‹›•‣·。、！？\s]*")
"""Signs that say nothing alone: a rule of one sign, and marks without strokes."""
_WIDE_GAP = re.compile(r"\S\s{2,}\S")
_ANSWERING = re.compile(r"(?:[-*+•]\s+)?[-–—−+=~<>^]{1,2}")
_BAR = re.compile(r"(?<!\\)\|")
_OPENS_CLAUSE = frozenset("who which that whose whom where when if unless while because whether".split())


def claim_of(sentence: str, previous: str = "", question: str = "") -> str | None:
    """Return the claim of a sentence as a reader sees it, without list marks, or None if nothing is claimed.

    White space, rules, bare list marks and known polite phrases claim nothing. A number is a list mark if `previous`,
    the text shown before, ended its line. A text that says something only as an answer, such as "No.", makes a statement
    with its question where the grammar is plain, else it stands behind the question: the one in `previous`, else the one
    that `question` ends with. Footnote marks stay: `read_claim` compares them with the documents.

    Raises: UncheckableError for a sentence that two readers would read differently, for an answer without a question,
    and for a number in brackets behind a phrase that claims nothing.
    """
    return _claim_of(sentence, previous, question)


def _claim_of(sentence: str, previous: str, question: str, *, reads_context: bool = False) -> str | None:
    line = _Line(sentence, previous, question, reads_context)
    if not any(map(str.isalnum, line.bare)):
        return line.claim_of_signs()
    return line.claim_of_phrases() if is_claimless(line.bare) else line.claim_of_words()


_ALONE: ClaimOf = claim_of


def in_its_context(claim_of: ClaimOf) -> ClaimOf:
    """The function for a judge that reads the question as the claim's context; a caller's own function stays as it is."""
    return partial(_claim_of, reads_context=True) if claim_of is _ALONE else claim_of


class _Line:
    """A sentence that is being read, behind the text shown before it.

    shown: the text that a reader sees. number: its number in a list. marked: the text without list marks and pictures.
    bare: the same without footnote marks. answered: the question that it may answer, or an empty text. reads_context: whether the judge
    reads the question as the context of the claim, so that no claim but a bare yes or no is put together with it.
    """

    def __init__(self, sentence: str, previous: str, question: str, reads_context: bool) -> None:
        self.sentence, self.previous, self.question, self.reads_context = sentence, previous, question, reads_context
        self.shown = visible(sentence).strip()
        item = _BULLETS.sub("", self.shown, count=1)
        self.number = _number(item, previous)
        self.marked = without_tick(_DECORATION.sub("", item[len(self.number) :]))
        self.bare = without(self.marked, USUAL.find(self.marked)).strip()

    @cached_property
    def answered(self) -> str:
        return question_of(self.previous) or question_of(self.question)

    def claim_of_signs(self) -> str | None:
        """Rules, borders and marks claim nothing, but signs may draw letters, or answer a question."""
        if not _BORDER.fullmatch(self.shown) and (not _MARKS.fullmatch(self.bare) or _WIDE_GAP.search(self.shown)):
            raise UncheckableError("signs alone cannot be read as words")
        if _ANSWERING.fullmatch(self.shown) and self.answered:
            return f"{self.answered} {self.shown}"
        return self.shown if self.number else None

    def claim_of_phrases(self) -> str | None:
        """Polite phrases claim nothing, but for those that answer a question, or count as an item."""
        if refuses_what_follows(self.bare):
            raise UncheckableError("a refusal with a colon says something about what follows it")
        alone = self.sentence.rstrip(" ").endswith("\n")
        if self.answered and (opens_with_answer(self.bare) or may_answer(self.bare, alone=alone)):
            return f"{self.answered} {self.bare}"
        if self.bare != self.marked.strip() and not takes_footnotes(self.bare):
            raise UncheckableError("a number in brackets is no footnote where nothing is said before it")
        return self.shown if self.number else None

    def claim_of_words(self) -> str | None:
        """The words to judge, with the question if they answer one."""
        bare, marked = without_pointer(self.bare), without_pointer(self.marked).strip()
        if is_unfinished(bare) and is_english(bare):
            raise UncheckableError("it ends before its clause does, so that a reader joins it to what follows")
        leans = depends_on_question(bare)
        if not leans and not opens_with_answer(bare) and not is_fragment(bare):
            return marked
        if not self.previous.strip() and only_agrees(self.bare, self.question):
            return None
        if self.answered and (not self.reads_context or is_yes_or_no(bare)):
            return statement(self.answered, marked)
        if self.answered:
            return marked
        has_context = self.reads_context and bool(heading_of(self.sentence) or message_of(self.question))
        if leans and (is_yes_or_no(bare) or not has_context):
            raise UncheckableError("it says something only as an answer, and there is no question to it")
        return marked


def _number(item: str, previous: str) -> str:
    """The number or letter that counts an item of a list, at the beginning of its line; an empty text if it counts none.

    It does not in "12. March", nor in "4. Guests may stay" as the first sentence of an answer. Behind another line any
    number counts, since the items before may be kept back.
    """
    mark = _ENUMERATOR.match(item) if not previous.strip() or previous.rstrip(" ").endswith("\n") else None
    if mark is None:
        return ""
    if number := re.search(r"\d+", mark[0]):
        counted = without_tick(item[mark.end() :])
        first = _LETTERS.match(counted)
        if first is None or _MONTH.match(counted):
            return ""
        if not previous and int(number[0]) != 1 and first[0].lower() not in words.DETERMINERS | words.PRONOUNS:
            return ""
    return mark[0]


def read_claim(
    sentence: str,
    previous: str,
    question: str,
    source: SourceText,
    *,
    lead: str = "",
    heading: str = "",
    claim_of: ClaimOf = claim_of,
    unread: Callable[[str], Sequence[str]] = lambda claim: (),
    reads_context: bool = False,
) -> Claim | NoClaim | Refused:
    """Read the claim of a sentence, an answer to `question` with `previous` shown before it.

        read_claim("- The rent is **900** euros [1].", "", "", SourceText(as_documents(lease)))  # Claim("The rent ...")

    Args:
        source: the documents of the answer; links, footnote marks and strange spellings must stand there. A blank
            source holds none of them and refuses none: who uses the claim decides what a missing source means.
        lead, heading: `Sentence.lead` and `Sentence.heading`.
        claim_of: replaces the function `claim_of` of this module. Its claims are compared with the source all the same.
        unread: `ScorerMetadata.unread`, the words of a claim that the judge has no token for.
        reads_context: `ScorerMetadata.reads_context`, whether the judge tells a claim from its context.

    Raises: InputError for a `claim_of` that returns anything but text or None; other errors of the two functions.
    """
    try:
        said = _said(sentence, previous, question, lead, in_its_context(claim_of) if reads_context else claim_of)
        if said is None or _announces(said, source, alone=not lead):
            return NoClaim()
        marks = _marks_of(said, sentence, source)
        quoting = without(said, marks)
        text, speaker = said_of(quoting, sentence, source)
        if not source.is_blank:
            refuse_unreadable(text, source, unread)
        context = context_of(text, question=question, heading=heading, previous=previous) if reads_context else ""
        beside = None if has_fence(sentence) else around(question, previous)
    except UncheckableError as error:
        return Refused(str(error))
    quoted = _quoted(quoting, sentence, previous, question, source)
    if isinstance(quoted, Refused):
        return quoted
    by_marks, placed = _by_marks(sentence, said, marks, source)
    by_marks = tuple((said_of(part, sentence, source)[0], named) for part, named in by_marks)
    lines = _lines_of(text) if has_fence(sentence) else ()
    return Claim(text, lines, context, beside, by_marks, placed, quoted, speaker)


def _said(sentence: str, previous: str, question: str, lead: str, claim_of: ClaimOf) -> str | None:
    """The words that a sentence claims, with the lead that it needs; None if it claims nothing."""
    if opens_list(sentence, lead) or needs_lead(sentence, lead):
        said = claim_of(_with_lead(sentence, lead), "", question)
    else:
        said = claim_of(sentence, previous, question)
    if said is None and lead:
        whole, item = _joined(sentence, lead)
        said = whole if item else None  # "Welcome" in a list says something
    if not isinstance(said, str | None):
        raise InputError(f"claim_of returns the text of a claim or None, not {type(said).__name__}")
    return said


def _announces(said: str, source: SourceText, *, alone: bool) -> bool:
    """Whether the words only announce what follows: a name of the source's, or in a line `alone` a text of the source."""
    if (name := announced_name(said)) and source.names(name):
        return True
    speaker = announced(said) if alone else ""
    return bool(speaker) and (is_written(speaker) or is_document(speaker, source.naming.known))


def _marks_of(said: str, sentence: str, source: SourceText) -> Sequence[Mark]:
    """The marks of documents in a claim. Raises: UncheckableError for too many, or a mark of a document without text."""
    marks = source.marks(said, sentence)
    if len(marks) > MOST:
        raise UncheckableError(f"it has {len(marks)} marks of documents, more than {MOST}")
    named = (mark.documents for mark in marks if mark.documents and not source.is_blank)
    if any(all(is_blank(source.documents[place].text) for place in places) for places in named):
        raise UncheckableError("it names a document without text")
    return marks


def _lines_of(code: str) -> tuple[str, ...]:
    """`Claim.lines` of a block of code."""
    lines = [line.strip() for line in code.splitlines() if any(map(str.isalnum, line))]
    return (*lines, *map(" ".join, pairwise(lines)))


def said_of(text: str, sentence: str, source: SourceText) -> tuple[str, str]:
    """A claim without "according to the document", and the words for the speaker that it names, "" for none.

    A kind of text for which the source has no word is a document, too.

    >>> said_of("According to the source, the rent is low.", "", SourceText([]))
    ('The rent is low.', '')
    """
    found = None if has_fence(sentence) else attribution(text)
    if found is None:
        return text, ""
    is_unnamed = is_written(found.speaker) and not source.holds(role(found.speaker))
    if not (is_unnamed or is_document(found.speaker, source.naming.known)):
        return text, "" if is_written(found.speaker) else found.speaker
    content = found.content.rstrip(".") + "." if text.rstrip().endswith(".") else found.content
    return (content[:1].upper() + content[1:] if found.plain else text), ""


def _quoted(text: str, sentence: str, previous: str, question: str, source: SourceText) -> tuple[QuotedSpan, ...] | Refused:
    """The places of the words that a claim quotes, from the source or from the user; refused for other words."""
    if source.is_blank or has_fence(sentence):
        return ()
    texts, places = [document.text for document in source.documents], list[QuotedSpan]()
    block = quoted_block(sentence, previous)
    for quoted in [block] if block else [quotation.words for quotation in quotations(text, sentence)]:
        if place := place_of(quoted, texts):
            places.append(place)
        elif not place_of(quoted, [question]):
            return _misquoted(quoted, texts)
    return tuple(places)


def _misquoted(words: str, texts: Sequence[str]) -> Refused:
    place = wording(words, texts)
    if place is None:
        return Refused("the source does not hold the quotation", words)
    meant = " ".join(texts[place.document][place.start : place.end].split())
    now = meant[0].upper() + meant[1:] if words[0].isupper() else meant
    return Refused(f"the source's words are “{shorten(meant, 200, placeholder=' …')}”", words, (words, now), place)


def _by_marks(
    sentence: str, said: str, marks: Sequence[Mark], source: SourceText
) -> tuple[tuple[tuple[str, tuple[int, ...]], ...], tuple[tuple[Mark, int], ...]]:
    """`Claim.parts` and `Claim.marks` of a sentence that says `said`; none where the marks leave no document out."""
    there = [mark for mark in marks if mark.documents]
    groups = clauses(said, there) if there else []
    named = [tuple(sorted({place for mark in group for place in mark.documents})) for group in groups]
    if all(len(places) == len(source.documents) for places in named):
        return (), ()
    of_part = [number for number, group in enumerate(groups) for _ in group]
    written = [mark for mark in source.marks(sentence, sentence) if mark.documents]
    is_same = [mark.documents for mark in written] == [mark.documents for mark in there]
    placed = tuple(zip(written, of_part, strict=True)) if is_same else ()
    return tuple(zip(parts(said, groups), named, strict=True)), placed


def opens_list(sentence: str, lead: str) -> bool:
    """Whether the sentence is the lead with the first item of its list."""
    return bool(lead) and sentence.lstrip().startswith(lead)


def needs_lead(item: str, lead: str) -> bool:
    """Whether an item says something only with its lead: "people with asthma", not "The rent is due on the first."

    An item is a sentence of its own if it begins with a capital and its main clause has a verb that is surely one.
    """
    if not lead or is_claimless(visible(lead)):
        return False
    if lead.startswith("|"):
        return True
    found = _WORD.findall(without_mark(item))
    if not found or not found[0][0].isupper():
        return True
    for word in (word.lower().replace("’", "'") for word in found[1:]):
        if word in _OPENS_CLAUSE:
            return True
        if word in words.AUXILIARIES or word in words.PRESENT_SINGULAR or word.endswith("n't"):
            return False
    return True


def _with_lead(sentence: str, lead: str) -> str:
    """The sentence that lead and item make: "Who must not take it: people with asthma".

    If the lead claims nothing, such as "Here are the key points:", the item stands alone. Of a lead that announces a text
    about a topic, such as "Here is an overview of Hotel Larkspur:", the topic stays.

    A row of a table names its columns: "Group Adults, Price: 12 euros", as a source's row does (`groundrail.sources.tables`).

    Raises: UncheckableError where markup goes on from the lead to the item, or a row has not the cells of its head.
    """
    if lead.startswith("|"):
        return _row(sentence.strip().removeprefix(lead), lead.splitlines()[0])
    whole, item = _joined(sentence, lead)
    if is_claimless(visible(lead)):
        return item
    said = whole.removesuffix(item)
    if shown_words(visible(whole)) != shown_words(visible(said)) + shown_words(visible(item)):
        raise UncheckableError("markup goes on from the lead of a list to its item")
    topic = announced_topic(visible(said))
    return f"{topic}: {item}" if topic else whole


def _row(row: str, head: str) -> str:
    """The row of a table, each cell but the first behind the name of its column."""
    columns, cells = _cells(head), _cells(row)
    if len(cells) != len(columns):
        raise UncheckableError(f"a row of a table has {len(cells)} cells under a head of {len(columns)}")
    named = [f"{column}: {cell}" for column, cell in zip(columns[1:], cells[1:], strict=True) if cell]
    return ", ".join([f"{columns[0]} {cells[0]}".strip(), *named])


def _cells(line: str) -> list[str]:
    return [" ".join(cell.split()) for cell in _BAR.split(line.strip().removeprefix("|").removesuffix("|"))]


def _joined(sentence: str, lead: str) -> tuple[str, str]:
    """An item of a list behind its lead, and the item alone, both without marks."""
    item = without_mark(sentence.strip().removeprefix(lead).strip())
    return f"{without_mark(' '.join(lead.split()))} {item}", item
