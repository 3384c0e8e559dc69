"""Whole answers of an assistant as claims in their context, for the packing.

A line of a file is one answer: `source` (a text, or documents with `id` and `text`), `question`, `answer`, its right
`sentences` (`text`, `kind`), and `wrong` ones (`text`, `replace`, `kind`) that may stand in their places. Sentences, leads,
headings and contexts are read as the guard reads them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from groundrail.text.claims import Claim, read_claim
from groundrail.text.context import around, context_of, shown_words
from groundrail.text.form import SourceText
from groundrail.text.sentences import Sentence, split
from groundrail.types import Document, as_documents


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


def documents_of(row: Mapping[str, Any]) -> tuple[Document, ...]:
    """The documents of an answer."""
    source = row["source"]
    return as_documents(source if isinstance(source, str) else [Document(**each) for each in source])


def read_answer(row: Mapping[str, Any]) -> Iterator[Read]:
    """The right sentences of an answer, and its wrong ones behind the right sentences before them.

    A sentence of the guard that holds words of two marked sentences is right if both are; wrong sentences that the guard
    would cut in two are left out, since it is not known which of the two is wrong.

    Raises: SystemExit for a marked sentence that is not in the answer.
    """
    source, answer = SourceText(documents_of(row)), row["answer"]
    places, end = [], 0
    for sentence in row["sentences"]:
        start = answer.find(sentence["text"], end)
        if start < 0:
            raise SystemExit(f"{row['id']}: the answer has no {sentence['text']!r} behind character {end}")
        end = start + len(sentence["text"])
        places.append((start, end, sentence["kind"]))
    yield from _sentences(answer, places, source, row["prompt"])
    for wrong in row["wrong"]:
        start, end = next((s, e) for s, e, _ in places if answer[s:e] == wrong["text"])
        told = f"{answer[:start]}{wrong['replace']}{answer[end:]}"
        place = (start, start + len(wrong["replace"]), "wrong")
        found = list(_sentences(told, [place], source, row["prompt"]))
        if len(found) == 1:
            yield found[0]


def _sentences(
    answer: str, places: Sequence[tuple[int, int, str]], source: SourceText, question: str
) -> Iterator[Read]:
    """The sentences of the guard that hold words of the given places."""
    previous = ""
    for sentence in split(answer):
        words = sentence.text.strip()
        start = sentence.start + sentence.text.find(words)
        kinds = [kind for first, last, kind in places if first < start + len(words) and start < last]
        if kinds:
            yield _read(sentence, previous, question, source, next((k for k in kinds if k != "talk"), "talk"))
        previous = sentence.text


def _read(sentence: Sentence, previous: str, question: str, source: SourceText, kind: str) -> Read:
    above = {"prompt": question, "heading": sentence.heading, "previous": previous}
    found = read_claim(
        sentence.text, previous, question, source, lead=sentence.lead, heading=sentence.heading, reads_context=True
    )
    words = found.text if isinstance(found, Claim) else shown_words(sentence.text)
    context = found.context if isinstance(found, Claim) else context_of(words, **above)
    return Read(words, context, around(question, previous), kind)
