"""Whole answers with marked unsupported passages, as `MarkedAnswer`s: RAGTruth's and FaithBench's files, which people marked,
and right answers with wrong sentences to plant in them (`benchmarks/answers`).

Formats whose rows are single claims are in `groundrail.evaluation.loaders`.
`groundrail.evaluation.answer_summary` judges answers and compares the verdicts with the marks.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel

from groundrail.errors import InputError
from groundrail.evaluation.places import Place, one
from groundrail.evaluation.rows import Format, fitting, read_file, read_rows
from groundrail.types import Document

Range: TypeAlias = tuple[int, int]
"""Start and end of a passage in characters, the end exclusive."""

MARKS = ("implicit_true", "due_to_null", "questionable")
"""Kinds of marked passages that count as unsupported in the papers and that `load_answers` can leave out."""


class Part(NamedTuple):
    """A sentence of an answer, `text[start:end]`, with its kind: "applied" or "talk" if it is right, "bound" or "date" if not."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """A model's answer with its source, and the passages of its text that are marked as unsupported.

    `question` is the question or order that the text answers, if there is one. Marked passages may overlap. `parts` are the
    sentences whose kinds are known: all sentences of a right answer, or the wrong one of another.
    """

    id: str
    dataset: str
    source: tuple[Document, ...]
    text: str
    marked: tuple[Range, ...] = ()
    question: str = ""
    parts: tuple[Part, ...] = ()


class _RagTruthMark(BaseModel):
    start: int
    end: int
    implicit_true: bool | None = None
    due_to_null: bool | None = None


class _RagTruthResponse(BaseModel):
    source_id: str | int
    response: str
    labels: list[_RagTruthMark]
    id: str | int | None = None
    model: str = ""
    split: str = ""


class _RagTruthQuestion(BaseModel):
    question: str
    passages: str


class _RagTruthSource(BaseModel):
    source_id: str | int
    task_type: str
    source_info: str | dict[str, Any]


class _FaithBenchMark(BaseModel):
    label: list[str]
    summary_start: int
    summary_end: int


class _FaithBenchSample(BaseModel):
    sample_id: int
    source: str
    summary: str
    annotations: list[_FaithBenchMark] = []


class _FaithBenchBatch(BaseModel):
    samples: list[_FaithBenchSample]


_ORDERS = {
    "Summary": "Summarize the following news.",
    "Data2txt": "Write an objective overview of the following business.",
}
"""How RAGTruth's prompts begin, by task; its questions are in the file."""
_SOURCES = frozenset({"source_id", "task_type", "source_info"})


def _within(place: Place, field: str, text: str, start: int, end: int) -> Range:
    if not 0 <= start < end <= len(text):
        raise place.error(field, f"expected a passage of the text of {len(text)} characters, not {[start, end]}")
    return start, end


def _ragtruth(leave_out: Collection[str], place: Place, row: Mapping[str, Any], name: str) -> Iterator[MarkedAnswer]:
    """Niu et al.'s response.jsonl, with source_info.jsonl in the folder `documents`; each task is a data set.

    The evaluations of the authors and of LettuceDetect count marked passages of all kinds.
    """
    parsed, beside = place.parse(_RagTruthResponse, row), place.documents / "source_info.jsonl"
    sources = place.file(beside, _ragtruth_sources)
    if str(parsed.source_id) not in sources:
        raise place.error("source_id", f"{parsed.source_id!r} is not in {beside}")
    task, text, question = sources[str(parsed.source_id)]
    marked = tuple(
        _within(place, f"labels.{number}", parsed.response, mark.start, mark.end)
        for number, mark in enumerate(parsed.labels)
        if not any(getattr(mark, kind, None) for kind in leave_out)
    )
    id = str(parsed.id if parsed.id is not None else f"{parsed.source_id}/{parsed.model}")
    dataset = "-".join(filter(None, ("ragtruth", parsed.split, task)))
    yield MarkedAnswer(id, dataset, one(text, f"source {parsed.source_id}"), parsed.response, marked, question)


def _ragtruth_sources(path: Path) -> dict[str, tuple[str, str, str]]:
    """Task, text and prompt of each source: passages and articles unchanged, a record as JSON."""
    sources = {}
    for line, row in read_rows(path)[1]:
        place = Place(path, line)
        place.require(row, _SOURCES, "RAGTruth's source_info.jsonl")
        parsed = place.parse(_RagTruthSource, row)
        text, question = parsed.source_info, _ORDERS.get(parsed.task_type, "")
        if parsed.task_type == "QA":
            if isinstance(text, str):
                raise place.error("source_info", "expected an object with question and passages for task 'QA'")
            asked = place.parse(_RagTruthQuestion, text)
            text, question = asked.passages, asked.question
        if not isinstance(text, str):
            text = json.dumps(text, ensure_ascii=False)
        sources[str(parsed.source_id)] = parsed.task_type, text, question
    return sources


def _faithbench(leave_out: Collection[str], place: Place, row: Mapping[str, Any], name: str) -> Iterator[MarkedAnswer]:
    """Bao et al.'s batch_N.json; all batches are one data set.

    A passage counts if one of its labels is Unwanted or Questionable, as in the authors' binarize.py; Benign does not.
    """
    counted = ("Unwanted",) if "questionable" in leave_out else ("Unwanted", "Questionable")
    for sample in place.parse(_FaithBenchBatch, row).samples:
        marked = tuple(
            _within(place, f"samples.{sample.sample_id}", sample.summary, mark.summary_start, mark.summary_end)
            for mark in sample.annotations
            if any(label.startswith(counted) for label in mark.label)
        )
        yield MarkedAnswer(f"{name}/{sample.sample_id}", "faithbench", one(sample.source), sample.summary, marked)


class _Passage(BaseModel):
    id: str
    text: str


class _Right(BaseModel):
    text: str
    kind: str


class _Wrong(BaseModel):
    text: str
    replace: str
    kind: str


class _Planted(BaseModel):
    id: str
    source: str | list[_Passage]
    prompt: str
    answer: str
    sentences: list[_Right]
    wrong: list[_Wrong]


def _planted(place: Place, row: Mapping[str, Any], name: str) -> Iterator[MarkedAnswer]:
    """The right answer, and the answer with each of the wrong sentences in its place.

    Raises: InputError for a sentence that is not in the answer, or a wrong one in the place of no sentence.
    """
    read = place.parse(_Planted, row)
    parts, end = list[Part](), 0
    for number, sentence in enumerate(read.sentences, start=1):
        start = read.answer.find(sentence.text, end)
        if start < 0 or not sentence.text:
            raise place.error("sentences", f"sentence {number} is not in the answer behind the last one: {sentence.text!r}")
        end = start + len(sentence.text)
        parts.append(Part(start, end, sentence.kind))
    passages = [_Passage(id="source", text=read.source)] if isinstance(read.source, str) else read.source
    documents = tuple(Document(id=each.id, text=each.text) for each in passages)
    yield MarkedAnswer(f"{name}/{read.id}", name, documents, read.answer, (), read.prompt, tuple(parts))
    for number, wrong in enumerate(read.wrong, start=1):
        start, end = next(((p.start, p.end) for p in parts if read.answer[p.start : p.end] == wrong.text), (0, 0))
        if not end:
            raise place.error("wrong", f"number {number} stands for no sentence of the answer: {wrong.text!r}")
        text = f"{read.answer[:start]}{wrong.replace}{read.answer[end:]}"
        part = Part(start, start + len(wrong.replace), wrong.kind)
        yield MarkedAnswer(f"{name}/{read.id}-{number}", name, documents, text, (part[:2],), read.prompt, (part,))


def _formats(leave_out: Collection[str]) -> dict[str, Format[MarkedAnswer]]:
    return {
        "ragtruth": Format(frozenset({"source_id", "response", "labels"}), partial(_ragtruth, leave_out)),
        "faithbench": Format(frozenset({"samples"}), partial(_faithbench, leave_out)),
        "planted": Format(frozenset({"source", "prompt", "answer", "sentences", "wrong"}), _planted),
    }


ANSWER_FORMATS = _formats(())


def answer_format(path: str | Path) -> str | None:
    """The format of a file of whole answers, guessed from the fields of its first row; None for any other file.

    Raises: InputError for RAGTruth's file of sources, which is read with the responses, and for an unreadable file.
    """
    fields = read_rows(Path(path))[1][0][1].keys()
    if fields >= _SOURCES:
        raise InputError(f"{path}: these are RAGTruth's sources; name response.jsonl, which they are read with")
    return fitting(fields, ANSWER_FORMATS)


def load_answers(
    path: str | Path,
    format: str | None = None,
    documents: str | Path | None = None,
    leave_out: Collection[str] = (),
) -> list[MarkedAnswer]:
    """Read a file of whole answers.

        load_answers("ragtruth/response.jsonl", leave_out=["implicit_true"])

    Args:
        format: Name of the format; None guesses it from the first row.
        documents: The folder of RAGTruth's source_info.jsonl; by default the folder of the responses.
        leave_out: Kinds of marked passages (`MARKS`) that count as supported.

    Raises: InputError for a file in no known format, and for a bad row, with line and field.
    """
    unknown = sorted(set(leave_out) - set(MARKS))
    if unknown:
        raise InputError(f"no kind of marked passage is called {unknown[0]!r}; there are {', '.join(MARKS)}")
    folder = None if documents is None else Path(documents)
    return read_file(Path(path), _formats(leave_out), format or answer_format(path), folder, "whole answers")
