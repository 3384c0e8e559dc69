"""Q² (Honovich et al., EMNLP 2021): ask about a claim, answer from the claim and from the source, compare.

This module connects exchangeable parts that find candidates, ask and answer. `groundrail.papers.q2.exchanges` scores
answers, and `.pronouns` resolves coreference (appendix A).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from groundrail.entailment.base import EntailmentModel, Pair
from groundrail.entailment.loading import load
from groundrail.errors import InputError
from groundrail.papers.decomposed import SentencePairScorer
from groundrail.papers.premises import best
from groundrail.papers.q2.answering import Answerer, AnswerSpan, LexicalAnswerer
from groundrail.papers.q2.asking import QuestionGenerator, Seq2SeqQuestions, TemplateQuestions
from groundrail.papers.q2.candidates import Candidate, candidates
from groundrail.papers.q2.exchanges import Exchange, Label, normalised, response_score, token_f1
from groundrail.papers.q2.personal import is_personal
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerMetadata, best_first
from groundrail.types import Citation, Document, Source, Span, as_documents

Variant: TypeAlias = Literal["base", "filter", "top-k"]
"""Rows of the paper's table 7: main setting, personal filter, and filter with five questions for each span."""

_LABELS: tuple[Label, Label, Label] = ("entailment", "neutral", "contradiction")
_TOP = 5
"""Number of questions for each span in the variant "top-k" (k in appendix B)."""


class Q2Scorer(Scorer):
    """The mean score of the valid questions about a claim, for each document by itself; the best document counts.

        Q2Scorer(NLI_ID, questions=PAPER_GENERATOR, answerer=PAPER_ANSWERER)  # the paper's models

    By default, questions come from templates and answers from word overlap: a baseline, far below the paper's results.

    entailment: a judge of three classes, for differing answers. Premise and hypothesis are the question, the answer and
        a full stop; the full stop is from the authors' program and not in section 2.
    questions: a question generator, a hub id or folder of an encoder-decoder, or None for templates.
    answerer: an answerer, a hub id or folder of an extractive model, or None for word overlap. "span-head", a head on
        the built-in judge (`groundrail.papers.q2.span_head`), is a better baseline.
    spans: finds the spans to ask for, by default by rule. `groundrail.papers.q2.parsed.ParsedText().spans` finds
        spaCy's entities and noun phrases, as in the paper.
    personal: tells which questions the filter leaves out, by default by word order.
        `groundrail.papers.q2.parsed.ParsedText().is_personal` uses the parser's subjects and owners.
    fallback: scores claims without a valid question. By default this is P(entailment) from the best source sentence.
        The authors' program takes 1, 0.5 or 0 by the label; the paper leaves out these claims (section 6.5), for which
        `exchanges` returns no exchange.
    variant: "base" is the main setting of section 6.1: the first question for each span by greedy decoding, without a
        filter. "filter" leaves out personal questions. "top-k" also takes the first valid question of five for each
        span, by beam search (appendix B). A generator object keeps the search that it was built with.
    one_each: False takes all valid questions for a span, the other method with five questions in appendix B.
    nli: False scores differing answers by token F1 alone, the paper's plain Q².
    discard: leave out unanswered questions if another question has an answer (Q²*, section 6.4).

    A response is scored whole: the mean is over all questions, not over the means of sentences.

    A question is valid if its answer from the claim equals, after normalisation, the span that it was asked for. A
    question that was written for two spans (a name with and without article) counts once; in the paper it counts twice.
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
        self.entailment = load(entailment)
        if isinstance(questions, str):
            questions = Seq2SeqQuestions.from_pretrained(questions, beams=_TOP if variant == "top-k" else 1)
        if answerer == "span-head":
            from groundrail.papers.q2.span_head import SpanHeadAnswerer

            answerer = SpanHeadAnswerer.builtin()
        elif isinstance(answerer, str):
            from groundrail.papers.q2.extractive import ExtractiveAnswerer

            answerer = ExtractiveAnswerer.from_pretrained(answerer)
        self.questions: QuestionGenerator = questions or TemplateQuestions()
        self.answerer: Answerer = answerer or LexicalAnswerer()
        self.spans, self.personal = spans, personal
        self.fallback: Scorer = SentencePairScorer(self.entailment) if fallback is None else fallback
        self.variant, self.one_each, self.nli, self.discard = variant, one_each, nli, discard

    @property
    def metadata(self) -> ScorerMetadata:
        """The identity of the class around its judge, whose threshold does not hold for Q².

        Q² takes no context: a claim joined with other text has other questions.
        """
        judge = self.entailment.metadata
        return ScorerMetadata(f"{type(self).__name__} around {judge.identity}", judges=(judge,))

    def read(self, source: Source) -> Reader:
        """Keep the documents; questions are answered from their text."""
        return Prepared(self._score, [document for document in as_documents(source) if document.text.strip()])

    def _score(self, claims: Sequence[str], documents: Sequence[Document]) -> list[Score]:
        """Score each claim, with the answering sentences as citations; NaN for a blank claim or source."""
        asked = [self._valid(claim) for claim in claims]
        exchanges = self._exchanges(asked, documents)
        scores = [best([self._mean(of_one) for of_one in of_claim if of_one]) for of_claim in exchanges]
        bare = [i for i, claim in enumerate(claims) if documents and claim.strip() and not asked[i]]
        if bare:
            for i, score in zip(bare, self.fallback.score([claims[i] for i in bare], documents), strict=True):
                scores[i] = score
        return scores

    def explain(self, claim: str, source: Source) -> list[Exchange]:
        """The exchanges behind a claim's score, from the best document; none if the fallback scores the claim."""
        return self.exchanges([claim], source)[0]

    def exchanges(self, claims: Sequence[str], source: Source) -> list[list[Exchange]]:
        """The exchanges of many claims, in order; see `explain`."""
        documents = [document for document in as_documents(source) if document.text.strip()]
        asked = self._exchanges([self._valid(claim) for claim in claims], documents)
        return [max(of_claim, key=lambda found: self._mean(found).value, default=[]) for of_claim in asked]

    def _valid(self, claim: str) -> dict[str, str]:
        """The questions that the claim answers with the span for which they were asked, each with this span."""
        spans = self.spans(claim)
        top = _TOP if self.variant == "top-k" else 1
        asked = [questions[:top] for questions in self.questions.questions(claim, spans)] if spans else []
        if self.variant != "base":
            asked = [[question for question in questions if not self.personal(question)] for questions in asked]
        found = iter(self.answerer.answer([(q, claim) for questions in asked for q in questions]))
        valid: dict[str, str] = {}
        for span, questions in zip(spans, asked, strict=True):
            answers = [next(found) for _ in questions]
            returned = [
                question
                for question, answer in zip(questions, answers, strict=True)
                if answer is not None and normalised(span.text) and normalised(answer.text) == normalised(span.text)
            ]
            for question in returned[: 1 if self.one_each else None]:
                valid.setdefault(question, span.text)
        return valid

    def _exchanges(self, asked: Sequence[Mapping[str, str]], documents: Sequence[Document]) -> list[list[list[Exchange]]]:
        """For each claim and document an exchange for each question: one call of the answerer, one of the judge."""
        pairs = [(question, document.text) for of_claim in asked for document in documents for question in of_claim]
        answers = iter(self.answerer.answer(pairs) if pairs else [])
        drafts = [
            [[_compared(*asked, next(answers), document) for asked in of_claim.items()] for document in documents]
            for of_claim in asked
        ]
        flat = [exchange for of_claim in drafts for of_document in of_claim for exchange in of_document]
        judged = self._judged(flat)
        return [[[next(judged) for _ in of_document] for of_document in of_claim] for of_claim in drafts]

    def _judged(self, exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
        """Add the NLI label to exchanges in which the answers of source and claim differ, if `nli` is set."""
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
        """The score of the response, with each cited sentence once, by its best score, the best first."""
        value = response_score(exchanges, self.nli, self.discard)
        return Score(value, best_first(exchange.citation for exchange in exchanges if exchange.citation is not None))


def _differs(exchange: Exchange) -> bool:
    return exchange.source_answer is not None and exchange.f1 < 1


def _compared(question: str, claim_answer: str, answer: AnswerSpan | None, document: Document) -> Exchange:
    if answer is None:
        return Exchange(question, claim_answer, None, 0.0, None, 0.0, None)
    f1 = token_f1(claim_answer, answer.text)
    return Exchange(question, claim_answer, answer.text, f1, None, f1, _sentence_of(answer, document, f1))


def _sentence_of(answer: AnswerSpan, document: Document, score: float) -> Citation:
    """The sentences of the document that the answer touches, usually one."""
    from groundrail.text.sentences import split

    touched = [s for s in split(document.text) if s.start < answer.end and answer.start < s.end]
    start, end = Span.trimmed(document.text, touched[0].start, touched[-1].end)
    return document.cite(start, end, score)
