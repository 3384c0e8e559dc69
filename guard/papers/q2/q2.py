"""Q² (Honovich et al., EMNLP 2021): ask about a claim, answer from the claim and from the source, compare.

Candidates, questions and answers are made elsewhere and pluggable; here is what is asked of whom. What an answer is
worth is `groundrail.papers.q2.exchanges`, what many responses amount to `.tally`, coreference (appendix A) `.pronouns`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from groundrail.entailment.base import EntailmentModel, Pair
from groundrail.errors import InputError
from groundrail.papers.decomposed import SentencePairScorer, load_nli
from groundrail.papers.q2.answering import Answerer, AnswerSpan, LexicalAnswerer
from groundrail.papers.q2.asking import QuestionGenerator, Seq2SeqQuestions, TemplateQuestions
from groundrail.papers.q2.candidates import Candidate, candidates
from groundrail.papers.q2.exchanges import Exchange, Label, normalised, response_score, token_f1
from groundrail.papers.q2.personal import is_personal
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerFacts, best_first
from groundrail.scoring.passages import best
from groundrail.types import Citation, Document, Source, Span, as_documents

Variant: TypeAlias = Literal["base", "filter", "top-k"]
"""The rows of the paper's table 7: the main setting, the personal filter, the filter and five questions a span."""

_LABELS: tuple[Label, Label, Label] = ("entailment", "neutral", "contradiction")
_TOP = 5
"""Appendix B's k."""


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    answer: str


class Q2Scorer(Scorer):
    """The mean score of the questions that a claim answers itself; every document apart, the best counts.

    As it comes, questions are templates and answers word overlap: a baseline, far below the paper's. The paper's own
    models are `Q2Scorer(NLI_ID, questions=PAPER_GENERATOR, answerer=PAPER_ANSWERER)`.

    entailment: a model of three classes, for answers that differ; premise and hypothesis are the question, the
        answer and a full stop, which the authors' program adds to what section 2 prints.
    questions: a generator, a hub id or folder of an encoder-decoder, or None for templates.
    answerer: an answerer, a hub id or folder of an extractive model, or None for word overlap; better than that, and
        a baseline too, is `groundrail.papers.q2.span_head.SpanHeadAnswerer.builtin()`.
    spans: what of a claim is asked for, by rule as it comes; the paper's, spaCy's entities and noun phrases, is
        `groundrail.papers.q2.parsed.ParsedText().spans`.
    personal: which questions the filter leaves out, by word order as it comes; by the parser's subjects and owners
        with `groundrail.papers.q2.parsed.ParsedText().is_personal`.
    fallback: scores claims about which no valid question could be asked. By default the claim's entailment
        from its best source sentence, as a probability; the authors' program takes 1, 0.5 or 0 by the label, the
        paper leaves such claims out (section 6.5), which `exchanges` shows.
    variant: "base" is section 6.1's main setting: the first question of each span, asked greedily, none left out as
        personal. "filter" leaves out personal questions, "top-k" also takes the first valid one of five questions a
        span, found by beam search (appendix B). A generator that was built elsewhere searches as it was told.
    one_each: False takes all valid questions of a span, appendix B's other way with five.
    nli: False scores differing answers by token F1 alone, the paper's plain Q².
    discard: leave out unanswered questions where another has an answer (section 6.4's Q²*).

    A response is scored whole: the mean is over all its questions, not over the means of its sentences.

    A question is valid when its answer from the claim is, normalised, the span it was asked for. One that was written
    for two spans, such as a name with its article and without, counts once, where the paper counts it for each.
    """

    claim_units = "whole"

    def __init__(
        self,
        entailment: EntailmentModel | str | None = None,
        *,
        questions: QuestionGenerator | str | None = None,
        answerer: Answerer | str | None = None,
        spans: Callable[[str], Sequence[Candidate]] = candidates,
        personal: Callable[[str], bool] = is_personal,
        fallback: Scorer | None = None,
        variant: Variant = "base",
        one_each: bool = True,
        nli: bool = True,
        discard: bool = False,
    ) -> None:
        if variant not in get_args(Variant):
            raise InputError(f"a variant of Q² is one of {', '.join(get_args(Variant))}, not {variant!r}")
        self.entailment = load_nli(entailment, "Q²")
        self.questions = _generator(questions, _TOP if variant == "top-k" else 1)
        self.answerer = _answerer(answerer)
        self.spans = spans
        self.personal = personal
        self.fallback: Scorer = SentencePairScorer(self.entailment) if fallback is None else fallback
        self.variant = variant
        self.one_each = one_each
        self.nli = nli
        self.discard = discard

    @property
    def facts(self) -> ScorerFacts:
        """The class around its judge; the threshold is not the judge's, and a longer claim has other questions."""
        judge = self.entailment.facts
        return ScorerFacts(f"{type(self).__name__} around {judge.identity}", judges=(judge,))

    def read(self, source: Source) -> Reader:
        """Nothing but the documents: questions are answered from them as they are."""
        return Prepared(self._score, [document for document in as_documents(source) if document.text.strip()])

    def _score(self, claims: Sequence[str], documents: Sequence[Document]) -> list[Score]:
        """One score a claim, with the sentences that answered as citations; NaN for a blank claim or source."""
        asked = [self._valid(claim) for claim in claims]
        exchanges = self._exchanges(asked, documents)
        scores = [best([self._mean(of_one) for of_one in of_claim if of_one]) for of_claim in exchanges]
        bare = [i for i, claim in enumerate(claims) if documents and claim.strip() and not asked[i]]
        if bare:
            for i, score in zip(bare, self.fallback.score([claims[i] for i in bare], documents), strict=True):
                scores[i] = score
        return scores

    def explain(self, claim: str, source: Source) -> list[Exchange]:
        """The exchanges behind a claim's score, from the best document; none where the fallback scores it."""
        return self.exchanges([claim], source)[0]

    def exchanges(self, claims: Sequence[str], source: Source) -> list[list[Exchange]]:
        """`explain` for many claims, in order."""
        documents = [document for document in as_documents(source) if document.text.strip()]
        asked = self._exchanges([self._valid(claim) for claim in claims], documents)
        return [max(of_claim, key=lambda found: self._mean(found).value, default=[]) for of_claim in asked]

    def _valid(self, claim: str) -> list[_Question]:
        """Questions about the claim that it answers with the span they were asked for."""
        spans = self.spans(claim)
        top = _TOP if self.variant == "top-k" else 1
        asked = [questions[:top] for questions in self.questions.questions(claim, spans)] if spans else []
        if self.variant != "base":
            asked = [[question for question in questions if not self.personal(question)] for questions in asked]
        found = iter(self.answerer.answer([(q, claim) for questions in asked for q in questions]))
        valid: dict[str, _Question] = {}
        for span, questions in zip(spans, asked, strict=True):
            answers = [next(found) for _ in questions]
            returned = [
                question
                for question, answer in zip(questions, answers, strict=True)
                if answer is not None and normalised(span.text) and normalised(answer.text) == normalised(span.text)
            ]
            for question in returned[: 1 if self.one_each else None]:
                valid.setdefault(question, _Question(question, span.text))
        return list(valid.values())

    def _exchanges(
        self, asked: Sequence[Sequence[_Question]], documents: Sequence[Document]
    ) -> list[list[list[Exchange]]]:
        """Per claim and document, one exchange a question: one call to the answerer, one to the judge."""
        pairs = [(q.text, document.text) for of_claim in asked for document in documents for q in of_claim]
        answers = iter(self.answerer.answer(pairs) if pairs else [])
        drafts = [
            [[_compared(q, next(answers), document) for q in of_claim] for document in documents] for of_claim in asked
        ]
        flat = [exchange for of_claim in drafts for of_document in of_claim for exchange in of_document]
        judged = self._judged(flat)
        return [[[next(judged) for _ in of_document] for of_document in of_claim] for of_claim in drafts]

    def _judged(self, exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
        """The same, with NLI on question and answer where the source's differs from the claim's, if NLI is wanted."""
        if not self.nli:
            yield from exchanges
            return
        pairs: list[Pair] = [
            (f"{e.question} {e.source_answer}.", f"{e.question} {e.claim_answer}.") for e in exchanges if _differs(e)
        ]
        rows = iter(self.entailment.classify(pairs) if pairs else np.empty((0, 3)))
        for exchange in exchanges:
            if not _differs(exchange):
                yield exchange
                continue
            row = next(rows)
            if np.isnan(row).any():
                yield replace(exchange, score=math.nan)
                continue
            label = _LABELS[int(row.argmax())]
            score = {"entailment": 1.0, "neutral": exchange.f1, "contradiction": 0.0}[label]
            citation = exchange.citation and exchange.citation.model_copy(update={"score": score})
            yield replace(exchange, label=label, score=score, citation=citation)

    def _mean(self, exchanges: Sequence[Exchange]) -> Score:
        """The response's score, and each cited sentence once, with the best score it has, best first."""
        value = response_score(exchanges, self.nli, self.discard)
        return Score(value, best_first(exchange.citation for exchange in exchanges if exchange.citation is not None))


def _generator(questions: QuestionGenerator | str | None, beams: int) -> QuestionGenerator:
    if isinstance(questions, str):
        return Seq2SeqQuestions.from_pretrained(questions, beams=beams)
    return TemplateQuestions() if questions is None else questions


def _answerer(answerer: Answerer | str | None) -> Answerer:
    if isinstance(answerer, str):
        from groundrail.papers.q2.extractive import ExtractiveAnswerer

        return ExtractiveAnswerer.from_pretrained(answerer)
    return LexicalAnswerer() if answerer is None else answerer


def _differs(exchange: Exchange) -> bool:
    return exchange.source_answer is not None and exchange.f1 < 1


def _compared(question: _Question, answer: AnswerSpan | None, document: Document) -> Exchange:
    if answer is None:
        return Exchange(question.text, question.answer, None, 0.0, None, 0.0, None)
    f1 = token_f1(question.answer, answer.text)
    citation = _sentence_of(answer, document, f1)
    return Exchange(question.text, question.answer, answer.text, f1, None, f1, citation)


def _sentence_of(answer: AnswerSpan, document: Document, score: float) -> Citation:
    """The sentences of the document that the answer touches, usually one."""
    from groundrail.text.sentences import split

    touched = [s for s in split(document.text) if s.start < answer.end and answer.start < s.end]
    start, end = Span.trimmed(document.text, touched[0].start, touched[-1].end)
    return document.cite(start, end, score)
