"""Questions about texts with the place of their answer, and questions that a text comes close to answering.

SQuAD's training questions come with the sentence that answers them; where in it the answer stands is marked by hand
(`tools/answers/`). Sentences of the same article are the distractors. The rest is made: MultiRC's right answers that
the passage holds word for word, and template questions about entailed claims.
"""

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pairs import Pair
from rewrites import Edit, apply_one, date, name, negation, number, opposite, roles

from groundrail.papers.q2.asking import TemplateQuestions
from groundrail.papers.q2.candidates import Kind, candidates
from groundrail.text import sentences
from groundrail.text.english import words

TWO_CLASS_TEMPLATES = {"hans_ketm", "help", "med", "breaking_nli", "dnc_factuality", "joci", "conjnli"}
FIGURES = (
    (re.compile(r"\bhow (?:much|many)\b", re.IGNORECASE), {Kind.AMOUNT, Kind.NUMBER}),
    (re.compile(r"\b(?:what|which) (?:year|date)\b|\bwhen\b", re.IGNORECASE), {Kind.YEAR, Kind.DATE}),
    (re.compile(r"^who\b", re.IGNORECASE), {Kind.NAME}),
)
WRONG: list[tuple[float, str, Edit]] = [
    (4, "name", name),
    (3, "date", date),
    (2, "number", number),
    (3, "opposite", opposite),
    (1, "roles", roles),
    (0.5, "negation", negation),
]
NEAR = 200
"""Questions of one article have numbers that differ by less than about this."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a text; `text[start:end]` is the answer, an empty slice at 0 where there is none."""

    question: str
    text: str
    start: int
    end: int

    def beside(self, other: str, *, before: bool) -> "Asked":
        """The same with another text before or after its own."""
        if not before:
            return replace(self, text=f"{self.text} {other}")
        shift = len(other) + 1
        return replace(self, text=f"{other} {self.text}", start=self.start + shift, end=self.end + shift)


@dataclass(frozen=True, slots=True)
class Row:
    """One of SQuAD's training questions by its number, with the sentence that answers it."""

    number: int
    question: str
    sentence: str
    answer: str | None


def placed(question: str, answer: str, text: str) -> Asked | None:
    """The question with its answer's place; None where the text has the answer not at all or more than once."""
    found = list(re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE))
    return Asked(question, text, *found[0].span()) if len(found) == 1 else None


def from_claims(pool: Sequence[Pair], rng: random.Random, longest: int) -> Iterator[Asked]:
    """Questions by template about entailed claims, answered from the premise."""
    ask = TemplateQuestions()
    for pair in pool:
        if pair.label != "entailment" or pair.kind in TWO_CLASS_TEMPLATES or not 8 <= len(pair.premise.split()) <= longest:
            continue
        spans = [span for span in candidates(pair.claim) if pair.claim.strip() != span.text]
        for span in rng.sample(spans, min(2, len(spans))):
            ((question,),) = ask.questions(pair.claim, [span])
            asked = placed(question, span.text, pair.premise)
            if asked is not None:
                yield asked


def from_multirc(pool: Sequence[Pair]) -> Iterator[Asked]:
    """MultiRC's right answers that the passage holds word for word."""
    for pair in pool:
        question, mark, answer = pair.claim.rpartition("?")
        if pair.kind == "multirc" and pair.label == "entailment" and mark and answer.strip(" ."):
            asked = placed(question + mark, answer.strip(" ."), pair.premise)
            if asked is not None and len(answer.split()) <= 12:
                yield asked


def squad(path: Path, marks: Path | None = None) -> list[Row]:
    """All rows in SQuAD's order, with the answer where it is marked, or where the sentence leaves one choice."""
    file = json.loads(path.read_text(encoding="utf-8"))
    marked = {int(k): v for k, v in json.loads(marks.read_text(encoding="utf-8")).items()} if marks else {}
    rows = zip(file["question_ids"], file["questions"], file["answers"], strict=True)
    return [
        Row(number, question.strip(), sentence, marked.get(number) or only_choice(question, sentence))
        for number, question, sentence in sorted(rows)
    ]


def written(path: Path) -> dict[int, str]:
    """By a row's number, a question that its sentence comes close to answering and does not, written by hand."""
    return {int(number): question for number, question in json.loads(path.read_text(encoding="utf-8")).items()}


def only_choice(question: str, sentence: str) -> str | None:
    """The one figure, date or name of the sentence that the question can ask for."""
    kinds = next((kinds for pattern, kinds in FIGURES if pattern.search(question)), set())
    said = set(re.findall(r"\w+", question.lower()))
    spans = [
        span
        for span in candidates(sentence)
        if span.kind in kinds and not said.intersection(re.findall(r"\w+", span.text.lower()))
    ]
    return spans[0].text if len(spans) == 1 else None


def neighbours(rows: Sequence[Row], place: int) -> list[str]:
    """Sentences of the same article, the nearest first, without the answer."""
    row = rows[place]
    found: dict[str, int] = {}
    for other in rows[max(0, place - 15) : place + 16]:
        away = abs(other.number - row.number)
        if other.sentence != row.sentence and away < NEAR and (row.answer or "\0") not in other.sentence:
            found.setdefault(other.sentence, away)
    return sorted(found, key=found.__getitem__)


def among(asked: Asked, others: Sequence[str], longest: int, rng: random.Random) -> Asked:
    """The same with other sentences before and after, `longest` words at most."""
    for other in others:
        if len(asked.text.split()) + len(other.split()) > longest:
            continue
        asked = asked.beside(other, before=rng.random() < 0.5)
    return asked


def beside(question: str, others: Sequence[str], longest: int) -> Asked | None:
    """The question with those sentences that share most words with it; None where none shares any."""
    asked = _content(question)
    ranked = sorted(others, key=lambda other: -len(asked & _content(other)))
    if not ranked or not asked & _content(ranked[0]):
        return None
    text = ranked[0]
    for other in ranked[1:2]:
        if len(text.split()) + len(other.split()) <= longest:
            text = f"{text} {other}"
    return Asked(question, text, 0, 0)


def misasked(asked: Asked, rng: random.Random) -> Asked | None:
    """The text with another question: another name, date or number in it, or the opposite."""
    changed = apply_one(WRONG, asked.question, asked.text, rng)
    return Asked(changed[1], asked.text, 0, 0) if changed else None


def around(asked: Asked, longest: int) -> Asked | None:
    """The sentences before, with and after the answer; None where they are too long."""
    parts = sentences.split(asked.text)
    touched = [i for i, part in enumerate(parts) if part.start < asked.end and asked.start < part.end]
    if not touched:
        return None
    first, last = parts[max(0, touched[0] - 1)], parts[min(len(parts) - 1, touched[-1] + 1)]
    text = asked.text[first.start : last.end]
    if len(text.split()) > longest:
        return None
    return Asked(asked.question, text, asked.start - first.start, asked.end - first.start)


def _content(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - words.FUNCTION
