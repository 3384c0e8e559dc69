"""Citation recall and precision of answers that mark their documents, as ALCE (Gao et al., arXiv 2305.14627) defines them.

Recall is the share of sentences with a claim that the documents of their marks support together; a sentence without marks
has none. Precision is the share of marks that are not superfluous: a mark is superfluous if its sentence is not supported,
or if its document does not support the sentence alone while the other marked documents do. ALCE's files are read as its
models write them: an object with `data`, or its rows, each with `question`, `docs` and `output`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from groundrail.evaluation.places import Place
from groundrail.evaluation.rows import Format, fitting, read_file, read_rows
from groundrail.guard import Guard
from groundrail.scoring.read_source import ReadSource
from groundrail.text.marks import without
from groundrail.types import CheckedSentence, Document, Verdict


class CitedAnswer(NamedTuple):
    """An answer whose marks number the documents from 1."""

    dataset: str
    documents: tuple[Document, ...]
    question: str
    text: str


class MarkCounts(NamedTuple):
    """Sentences with a claim, those that their marked documents support, marks, and those that are not superfluous."""

    sentences: int
    supported: int
    marks: int
    needed: int


@dataclass(frozen=True, slots=True)
class MarkSummary:
    """Citation recall and precision over the answers of a data set; 0 where there are no sentences or no marks."""

    dataset: str
    answers: int
    sentences: int
    marks: int
    recall: float
    precision: float


class _Passage(BaseModel):
    text: str
    title: str = ""


class _Row(BaseModel):
    question: str
    docs: list[_Passage]
    output: str


class _Run(BaseModel):
    data: list[_Row]


def _row(place: Place, row: Mapping[str, Any], name: str) -> Iterator[CitedAnswer]:
    yield _answer(place.parse(_Row, row), name)


def _run(place: Place, row: Mapping[str, Any], name: str) -> Iterator[CitedAnswer]:
    yield from (_answer(each, name) for each in place.parse(_Run, row).data)


def _answer(row: _Row, name: str) -> CitedAnswer:
    documents = (
        Document(text=each.text, id=str(number), metadata={"title": each.title})
        for number, each in enumerate(row.docs, start=1)
    )
    return CitedAnswer(name, tuple(documents), row.question, row.output)


FORMATS = {
    "alce": Format(frozenset({"question", "docs", "output"}), _row),
    "alce-run": Format(frozenset({"args", "data"}), _run),
}


def cited_format(path: Path) -> str | None:
    """The format of a file of answers with marks, guessed from the fields of its first row; None for any other file."""
    return fitting(read_rows(path)[1][0][1].keys(), FORMATS)


def load_cited(path: Path, format: str | None = None) -> list[CitedAnswer]:
    """Read a file of answers with marks. Raises: InputError for a file in no known format, and for a bad row."""
    return read_file(path, FORMATS, format or cited_format(path), None, "answers with marks")


def count_marks(guard: Guard, answer: CitedAnswer) -> MarkCounts:
    """Check an answer and count. The guard's policy should be `Policy(fallback="flag")`, which checks marks."""
    read = ReadSource.of(answer.documents)
    counts = [
        _counts(guard, answer, read, sentence)
        for sentence in guard.check(answer.text, read, answer.question).sentences
        if sentence.verdict is not Verdict.NO_CLAIM
    ]
    return MarkCounts(*map(sum, zip(*counts, strict=True))) if counts else MarkCounts(0, 0, 0, 0)


def _counts(guard: Guard, answer: CitedAnswer, read: ReadSource, sentence: CheckedSentence) -> MarkCounts:
    marks = read.text.marks(sentence.text, sentence.text)
    named = sorted({place for mark in marks for place in mark.documents})
    missing = sum(not mark.documents for mark in marks)
    if not named or sentence.verdict is not Verdict.SUPPORTED:
        return MarkCounts(1, 0, len(named) + missing, 0)
    bare = without(sentence.text, marks).strip()

    def support(places: Iterable[int]) -> bool:
        return guard.check(bare, [answer.documents[place] for place in places], answer.question).supported

    needed = [
        len(named) == 1 or support([place]) or not support(other for other in named if other != place) for place in named
    ]
    return MarkCounts(1, 1, len(named) + missing, sum(needed))


def summarise_marks(
    guard: Guard, answers: Sequence[CitedAnswer], progress: Callable[[int, int], None] | None = None
) -> list[MarkSummary]:
    """One summary for each data set, in order of appearance. progress: gets the answers done, and all."""
    counted: dict[str, list[MarkCounts]] = {}
    for number, answer in enumerate(answers, start=1):
        counted.setdefault(answer.dataset, []).append(count_marks(guard, answer))
        if progress is not None:
            progress(number, len(answers))
    return [_summary(name, counts) for name, counts in counted.items()]


def _summary(dataset: str, counts: Sequence[MarkCounts]) -> MarkSummary:
    sentences, supported, marks, needed = map(sum, zip(*counts, strict=True))
    return MarkSummary(dataset, len(counts), sentences, marks, supported / max(1, sentences), needed / max(1, marks))
