"""The interface of question answering, and an answerer that needs no model.

`groundrail.papers.q2.span_head` has an answerer with the built-in judge's encoder, and
`groundrail.papers.q2.extractive` an answerer with extractive models from the hub.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from groundrail.errors import InputError
from groundrail.papers.q2.candidates import Candidate, Kind, candidates
from groundrail.text.english import words
from groundrail.text.english.words import stem

_TOKEN = re.compile(r"\w+(?:['’.\-/,]\w+)*")
_ASKING = frozenset(map(stem, "what who whom whose which where when why how many much year date time".split()))
_FIGURES = (
    (re.compile(r"\bhow (?:much|many)\b"), (Kind.AMOUNT, Kind.NUMBER)),
    (re.compile(r"\bwhat year\b"), (Kind.YEAR, Kind.DATE)),
    (re.compile(r"\bwhat date\b"), (Kind.DATE, Kind.YEAR)),
    (re.compile(r"\bwhat time\b"), (Kind.TIME,)),
    (re.compile(r"\bwhen\b"), (Kind.DATE, Kind.YEAR, Kind.TIME)),
)


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """`text` is the source's slice from `start` to `end`; `score` in [0, 1], as sure as the answerer is."""

    text: str
    start: int
    end: int
    score: float


@runtime_checkable
class Answerer(Protocol):
    """Answer questions with a slice of a text."""

    def answer(self, pairs: Sequence[tuple[str, str]]) -> list[AnswerSpan | None]:
        """One answer for each `(question, text)`, None where the text has none."""
        ...


@dataclass(frozen=True, slots=True)
class _Sentence:
    """The stems and candidates of a sentence; offsets are into the whole text."""

    stems: tuple[tuple[str, int, int], ...]
    candidates: tuple[Candidate, ...]


class LexicalAnswerer:
    """Answer with a span of the requested kind from the sentence that shares most words with the question.

    This is a weak baseline without a model: it compares words and not meaning, and reads from the question only its
    words and whether it asks for a number or a date. There is no answer if the sentence has less than the share
    `min_overlap` of the question's words (rare words weigh more), or no span of the kind.

        LexicalAnswerer().answer([("When does the lease end?", "The lease ends on 28 February 2026.")])
    """

    def __init__(self, min_overlap: float = 0.4) -> None:
        if not 0 < min_overlap <= 1:
            raise InputError(f"min_overlap is a share of words above 0 and at most 1, not {min_overlap}")
        self.min_overlap = min_overlap

    def answer(self, pairs: Sequence[tuple[str, str]]) -> list[AnswerSpan | None]:
        """One answer for each `(question, text)`; its score is the share of the question's words found."""
        read = {text: _read(text) for text in dict.fromkeys(text for _, text in pairs)}
        return [self._one(question, text, read[text]) for question, text in pairs]

    def _one(self, question: str, text: str, sentences: Sequence[_Sentence]) -> AnswerSpan | None:
        asked = {stem for stem, _, _ in _stems(question)} - _ASKING
        counts = Counter(stem for sentence in sentences for stem in {stem for stem, _, _ in sentence.stems})
        weight = {stem: 1 / (1 + counts[stem]) for stem in asked}
        total = sum(weight.values())
        if not total:
            return None
        ranked = sorted(
            ((sum(weight[s] for s in asked & {stem for stem, _, _ in sentence.stems}) / total, -place)
             for place, sentence in enumerate(sentences)),
            reverse=True,
        )  # fmt: skip
        for share, place in ranked[:3]:
            if share < self.min_overlap:
                break
            chosen = _open_span(question, weight, sentences[-place])
            if chosen is not None:
                return AnswerSpan(text[chosen.start : chosen.end], chosen.start, chosen.end, share)
        return None


def _stems(text: str) -> list[tuple[str, int, int]]:
    """The stems of the content words, with offsets."""
    return [
        (stem(match[0]), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match[0].lower() not in words.FUNCTION
    ]


def _read(text: str) -> list[_Sentence]:
    from groundrail.text.sentences import split

    spans = candidates(text)
    sentences = []
    for sentence in split(text):
        stems = [(s, sentence.start + start, sentence.start + end) for s, start, end in _stems(sentence.text)]
        inside = [span for span in spans if sentence.start <= span.start and span.end <= sentence.end]
        sentences.append(_Sentence(tuple(stems), tuple(inside)))
    return sentences


def _order(question: str) -> tuple[set[str], set[str]]:
    """Stems that should stand before the answer, as in `the lease ends on what date?`, and stems that should follow it.

    Stems follow the answer only if the question asks for the subject: `Who wrote it?`, but not `In what year was it?`.
    """
    match = re.search(r"\b(?:what|who|how)\b\s*(\w*)", question.lower())
    if match is None:
        return set(), set()
    stems = _stems(question)
    subject = match.start() == 0 and match[1] not in words.AUXILIARIES | {"much", "many", "year", "date", "time"}
    before = {stem for stem, _, end in stems if end <= match.start()}
    return before, {stem for stem, _, _ in stems} if subject else set()


def _open_span(question: str, weight: Mapping[str, float], sentence: _Sentence) -> Candidate | None:
    """The candidate of the requested kind, without words of the question, that is closest to its rare words."""
    figures = next((kinds for pattern, kinds in _FIGURES if pattern.search(question.lower())), ())
    before, after = _order(question)
    anchors = [found for found in sentence.stems if found[0] in weight]

    def rank(span: Candidate) -> tuple[float, bool, float, int]:
        own = [stem for stem, start, end in sentence.stems if span.start <= start and end <= span.end]
        known = sum(stem in weight for stem in own) / max(1, len(own))
        near = 0.0
        for word, start, end in anchors:
            ordered = (word in before and end <= span.start) or (word in after and span.end <= start)
            near += weight[word] * (1 + ordered) / (5 + max(start - span.end, span.start - end, 0))
        return -known, span.kind in (Kind.NAME, Kind.PHRASE), near, span.end - span.start

    fitting = [span for span in sentence.candidates if not figures or span.kind in figures]
    best = max(fitting, key=rank, default=None)
    return None if best is None or rank(best)[0] <= -1 else best
