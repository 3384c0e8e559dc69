"""Whole answers of an assistant as claims in their context, for the packing.

`groundrail.evaluation.answers` reads the files: each right answer, then the same with one wrong sentence in its place.
Sentences, leads, headings and contexts are read as the guard reads them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from groundrail.evaluation.answers import MarkedAnswer, load_answers
from groundrail.text.claims import Claim, read_claim
from groundrail.text.context import around, context_of, shown_words
from groundrail.text.form import SourceText
from groundrail.text.sentences import Sentence, split
from groundrail.types import Document


class Read(NamedTuple):
    """A sentence of an answer as the guard reads it.

    claim: the words that are claimed; for talk the sentence itself.
    context: as `groundrail.text.context.context_of` makes it.
    around: the user's message and the sentence before, from which the second head tells the kind of the sentence.
    kind: the kind of the right sentence, "wrong" for a wrong one.
    """

    claim: str
    context: str
    around: str
    kind: str


def read_answers(file: Path) -> list[tuple[tuple[Document, ...], list[Read]]]:
    """The documents of each answer with its right sentences, and its wrong ones behind the right sentences before them.

    A sentence of the guard that holds words of two marked sentences is right if both are; wrong sentences that the guard
    would cut in two are left out, since it is not known which of the two is wrong.

    Raises: InputError for a marked sentence that is not in the answer.
    """
    answers: list[tuple[tuple[Document, ...], list[Read]]] = []
    for answer in load_answers(file, "planted"):
        if not answer.marked:
            source = SourceText(answer.source)
            answers.append((answer.source, list(_sentences(answer, source))))
        elif len(found := list(_sentences(answer, source))) == 1:
            answers[-1][1].append(found[0]._replace(kind="wrong"))
    return answers


def _sentences(answer: MarkedAnswer, source: SourceText) -> Iterator[Read]:
    """The sentences of the guard that hold words of the answer's parts."""
    previous = ""
    for sentence in split(answer.text):
        words = sentence.text.strip()
        start = sentence.start + sentence.text.find(words)
        kinds = [part.kind for part in answer.parts if part.start < start + len(words) and start < part.end]
        if kinds:
            kind = next((kind for kind in kinds if kind != "talk"), "talk")
            yield _read(sentence, previous, answer.question, source, kind)
        previous = sentence.text


def _read(sentence: Sentence, previous: str, question: str, source: SourceText, kind: str) -> Read:
    heading = sentence.heading
    found = read_claim(sentence.text, previous, question, source, lead=sentence.lead, heading=heading, reads_context=True)
    if isinstance(found, Claim):
        words, context = found.text, found.context
    else:
        words = shown_words(sentence.text)
        context = context_of(words, question=question, heading=heading, previous=previous)
    return Read(words, context, around(question, previous), kind)
