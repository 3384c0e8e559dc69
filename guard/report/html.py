"""Render a result as one page that loads nothing: the answer beside its source, each sentence with reason and place.

`groundrail.report.assets` has the template, `groundrail.report.telling` words the verdicts, `groundrail.report.layout`
divides the source.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from groundrail.errors import InputError
from groundrail.report import telling
from groundrail.report.assets import asset, security_policy, template
from groundrail.report.chart import Axis, chart
from groundrail.report.layout import Passage, blocks, check_places
from groundrail.types import CheckedSentence, Citation, GuardResult, Source, Verdict, as_documents

_BLANKS = re.compile(r"[ \t]{2}|\t|\n ")


class Answered(NamedTuple):
    """A checked answer and its question ("" if unknown)."""

    result: GuardResult
    question: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    """A sentence on the page, with the threshold that its score was compared with: the second scorer's if that was asked.

    `passages` are (stance, place) pairs; the page scrolls to the first place.
    """

    number: int
    sentence: CheckedSentence
    threshold: float
    passages: Sequence[tuple[telling.Stance, Passage]]

    @property
    def written(self) -> str:
        return self.sentence.text.rstrip()

    @property
    def gap(self) -> str:
        return self.sentence.text[len(self.written) :]

    @property
    def kind(self) -> str:
        """CSS classes: the verdict, and whether the sentence was released."""
        return f"{self.sentence.verdict.value} {'seen' if telling.fate(self.sentence) == 'released' else 'held'}"


@dataclass(frozen=True, slots=True)
class _Section:
    """An answer on the page."""

    question: str
    rows: Sequence[_Row]

    @property
    def laid_out(self) -> bool:
        """Whether runs of blanks are meaningful, as in lists and code."""
        return any(_BLANKS.search(row.sentence.text) for row in self.rows)


def page(answers: Sequence[Answered], source: Source | None = None) -> str:
    """Render the page for answers from the same documents; without a source, the citations stand below each answer.

    Raises: InputError if a citation of a result is not in the source.
    """
    documents = () if source is None else as_documents(source)
    places = _places(sentence for answer in answers for sentence in answer.result.sentences)
    if source is not None:
        check_places(list(places.values()), documents)
    sections = _sections(answers, places)
    every = [row for section in sections for row in section.rows]
    scores = [row.sentence.score for row in every if row.sentence.score is not None]
    axis = Axis.over([*scores, *(row.threshold for row in every)])
    style, script = asset("report.css"), asset("report.js")
    return template("page.html").render(
        policy=security_policy(style, script),
        style=style,
        script=script,
        sections=sections,
        rows=every,
        supported=any(row.sentence.verdict is Verdict.SUPPORTED for row in every),
        held=any("held" in row.kind or telling.refused_attempts(row.sentence) for row in every),
        flagged=any(row.sentence.flagged for row in every),
        stances_of=lambda row: [telling.STANCES[stance].lower() for stance, _ in row.passages],
        kinds=telling.kinds(row.sentence for row in every),
        thresholds=sorted({row.threshold for row in every}),
        seconds=sum(answer.result.seconds for answer in answers),
        refused=sum(len(telling.refused_attempts(row.sentence)) for row in every),
        axis=axis,
        chart=chart([[(row.sentence.score, row.threshold) for row in section.rows] for section in sections], axis),
        has_source=source is not None,
        documents=[(d, sum(place.citation.document_id == d.id for place in places.values())) for d in documents],
        blocks=lambda document: blocks(document, list(places.values())),
    )


def short(result: GuardResult) -> str:
    """Render a fragment for a notebook: the answer with its verdicts, and reasons for sentences that were held back."""
    places = _places(result.sentences)
    (section,) = _sections([Answered(result)], places)
    thresholds = sorted({row.threshold for row in section.rows} or {result.threshold})
    return template("short.html").render(
        rows=section.rows, kinds=telling.kinds(iter(result.sentences)), thresholds=thresholds
    )


def save(text: str, path: Path) -> None:
    """Write a page completely or not at all: an older file stays if writing fails.

    Raises: InputError if the page cannot be written.
    """
    place = path.resolve()  # writes to the target of a link, so that the link stays
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        if place.exists() and not place.is_file():  # a device or a pipe cannot be replaced by a file
            place.write_text(text, encoding="utf-8")
            return
        try:
            beside.write_text(text, encoding="utf-8")
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error


def _places(sentences: Iterable[CheckedSentence]) -> dict[tuple[str, int, int], Passage]:
    """All cited places, each once, numbered in the order of the sentences."""
    stances: dict[tuple[str, int, int], tuple[Citation, set[telling.Stance]]] = {}
    for sentence in sentences:
        for stance, citation in telling.passages(sentence):
            stances.setdefault(citation.place, (citation, set()))[1].add(stance)
    return {
        key: Passage(number, citation, "for" in how, "against" in how)
        for number, (key, (citation, how)) in enumerate(stances.items(), start=1)
    }


def _sections(answers: Sequence[Answered], places: dict[tuple[str, int, int], Passage]) -> list[_Section]:
    sections, number = [], 0
    for result, question in answers:
        of_answer = []
        for sentence in result.sentences:
            number += 1
            found = [(stance, places[citation.place]) for stance, citation in telling.passages(sentence)]
            threshold = result.threshold if sentence.threshold is None else sentence.threshold
            of_answer.append(_Row(number, sentence, threshold, found))
        sections.append(_Section(question, of_answer))
    return sections
