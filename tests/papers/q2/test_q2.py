"""Q²: each step against what the paper says, the whole against a slow transcription, no model downloaded."""

import math
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hashed import HashedNLI

from groundrail.errors import InputError
from groundrail.evaluation.examples import Example
from groundrail.evaluation.run import evaluate
from groundrail.papers.decomposed import SentencePairScorer
from groundrail.papers.q2.answering import AnswerSpan, LexicalAnswerer
from groundrail.papers.q2.asking import TemplateQuestions
from groundrail.papers.q2.candidates import Candidate, Kind, candidates
from groundrail.papers.q2.exchanges import normalised, tally, token_f1
from groundrail.papers.q2.pronouns import resolved
from groundrail.papers.q2.q2 import Q2Scorer
from groundrail.types import Document

SOURCE = "The lease begins on 1 March 2025 and ends on 28 February 2026. The deposit is 2,900 euros. Anna owns the flat."


def asked_for(claim, text):
    spans = [span for span in candidates(claim) if span.text == text]
    return TemplateQuestions().questions(claim, spans)[0][0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada was born on 10 December 1815.", {("Ada", Kind.NAME), ("10 December 1815", Kind.DATE)}),
        ("It opened in May 1999, then closed in 2004.", {("May 1999", Kind.DATE), ("2004", Kind.YEAR)}),
        ("The rent is 1,450 euros.", {("The rent", Kind.PHRASE), ("1,450 euros", Kind.AMOUNT)}),
        ("A fine of $3.5 million was paid.", {("A fine", Kind.PHRASE), ("$3.5 million", Kind.AMOUNT)}),
        ("The tower has 300 steps.", {("The tower", Kind.PHRASE), ("300 steps", Kind.PHRASE), ("300", Kind.NUMBER)}),
        ("He joined the University of Oslo.", {("University of Oslo", Kind.NAME)}),
        ("The tenants pay the first bill.", {("The tenants", Kind.PHRASE), ("the first bill", Kind.PHRASE)}),
        ("You told me that it was theirs.", set()),
    ],
)
def test_candidates(text, expected):
    found = {(span.text, span.kind) for span in candidates(text)}
    assert expected <= found
    assert bool(found) == bool(expected)


@given(st.text(max_size=80))
def test_candidates_are_slices_in_order(text):
    found = candidates(text)
    assert all(text[span.start : span.end] == span.text and span.text for span in found)
    assert len({(span.start, span.end) for span in found}) == len(found)
    assert [span.start for span in found] == sorted(span.start for span in found)


@pytest.mark.parametrize(
    ("claim", "span", "question"),
    [
        ("Ada Lovelace wrote the first program in 1843.", "Ada Lovelace", "Who wrote the first program in 1843?"),
        ("Ada Lovelace wrote the program in 1843.", "1843", "Ada Lovelace wrote the program in what year?"),
        ("The rent is 1,450 euros per month.", "1,450 euros", "How much is the rent per month?"),
        ("Marie was born in 1867 in Warsaw.", "1867", "In what year was Marie born in Warsaw?"),
        ("The tower has 300 steps.", "300", "The tower has how many steps?"),
        ("It rained. Anna left Paris.", "Paris", "Anna left what?"),
    ],
)
def test_templates_ask_for_the_span(claim, span, question):
    assert asked_for(claim, span) == question


@given(st.text(alphabet="Anna was born in 1990, the tower of Ben. has (two) \n", max_size=60))
def test_every_candidate_gets_one_question_without_it(claim):
    spans = candidates(claim)
    asked = TemplateQuestions().questions(claim, spans)
    assert [len(questions) for questions in asked] == [1] * len(spans)
    assert all(questions[0].endswith("?") for questions in asked)


def test_normalisation_is_the_papers():
    assert normalised("The Cat, in OUR a house!") == ["cat", "house"]
    assert token_f1("the cat", "Cat.") == 1.0
    assert token_f1("2,500 euros", "2,900 euros") == 0.5
    assert token_f1("cat", "dog") == 0.0
    assert token_f1("the", "the") == 0.0


@given(st.lists(st.sampled_from("abcd"), max_size=6), st.lists(st.sampled_from("bcde"), max_size=6))
def test_f1_is_the_harmonic_mean_of_precision_and_recall(ours, theirs):
    ours, theirs = [f"w{word}" for word in ours], [f"w{word}" for word in theirs]
    shared, expected = sum(min(ours.count(word), theirs.count(word)) for word in set(ours)), 0.0
    if shared:
        precision, recall = shared / len(ours), shared / len(theirs)
        expected = 2 * precision * recall / (precision + recall)
    assert token_f1(" ".join(ours), " ".join(theirs)) == pytest.approx(expected)


def test_the_lexical_answerer_reads_the_sentence_and_the_kind():
    expected = {
        ("The lease ends on what date?", SOURCE): "28 February 2026",
        ("How much is the deposit?", SOURCE): "2,900 euros",
        ("Who owns the flat?", SOURCE): "Anna",
        ("What colour is the submarine?", SOURCE): None,
        ("What year did Anna pay the deposit?", "Anna paid the deposit."): None,
        ("?", SOURCE): None,
        ("How much is the deposit?", " "): None,
    }
    answers = LexicalAnswerer().answer(list(expected))
    assert [answer and answer.text for answer in answers] == list(expected.values())
    assert all(SOURCE[a.start : a.end] == a.text and 0 < a.score <= 1 for a in answers if a)


@pytest.mark.parametrize("value", [0, -1, 1.1, math.nan])
def test_overlap_out_of_range_is_refused(value):
    with pytest.raises(InputError, match="min_overlap"):
        LexicalAnswerer(value)


class Scripted:
    """Asks and answers by a table: {span: [(question, the claim's answer, the source's answer)]}."""

    def __init__(self, table):
        self.table = table
        self.calls = []

    def questions(self, claim, answers):
        return [[question for question, _, _ in self.table.get(span.text, [])] for span in answers]

    def answer(self, pairs):
        self.calls.append(len(pairs))
        rows = {question: row for rows in self.table.values() for question, *row in rows}
        return [self._found(text, rows[question]) for question, text in pairs]

    def _found(self, text, row):
        for answer in row:
            if answer and answer in text:
                return AnswerSpan(answer, text.index(answer), text.index(answer) + len(answer), 1.0)
        return None


CLAIM = "Anna pays 2,500 euros in March."
TABLE = {
    "Anna": [("Who pays?", "Anna", "Anna")],
    "2,500 euros": [("How much does Anna pay?", "2,500 euros", "2,900 euros")],
    "March": [("When?", "March", None)],
}
LONG = "Anna lives here. She pays 2,900 euros."


def scripted(table, model=None, **settings):
    """A Q² scorer that asks and answers by a table."""
    script = Scripted(table)
    return Q2Scorer(HashedNLI(1) if model is None else model, questions=script, answerer=script, **settings)


def judge(label):
    class Always(HashedNLI):
        def classify(self, pairs):
            rows = super().classify(pairs)
            rows[:] = 0.1
            rows[:, label] = 0.8
            return rows

    return Always(1)


@pytest.mark.parametrize(
    ("label", "name", "value"), [(0, "entailment", 1.0), (1, "neutral", 0.5), (2, "contradiction", 0.0)]
)
def test_differing_answers_are_judged_and_equal_or_missing_ones_are_not(label, name, value):
    model = judge(label)
    scorer = scripted(TABLE, model)
    exchanges = scorer.explain(CLAIM, LONG)
    assert [(e.question, e.claim_answer, e.source_answer, e.f1, e.label, e.score) for e in exchanges] == [
        ("Who pays?", "Anna", "Anna", 1.0, None, 1.0),
        ("How much does Anna pay?", "2,500 euros", "2,900 euros", 0.5, name, value),
        ("When?", "March", None, 0.0, None, 0.0),
    ]
    assert [batch for batch in model.asked if batch] == [
        [("How much does Anna pay? 2,900 euros.", "How much does Anna pay? 2,500 euros.")]
    ]
    assert [e.citation and e.citation.text for e in exchanges] == ["Anna lives here.", "She pays 2,900 euros.", None]
    (score,) = scorer.score([CLAIM], LONG)
    assert score.value == pytest.approx((1 + value + 0) / 3)
    assert [c.text for c in score.citations] == ["Anna lives here.", "She pays 2,900 euros."]
    assert all(LONG[c.start : c.end] == c.text for c in score.citations)


def asked(scorer):
    return [exchange.question for exchange in scorer.explain(CLAIM, LONG)]


def test_a_question_whose_answer_does_not_come_back_is_left_out():
    table = {"Anna": [("Who?", "March", "Anna"), ("Who pays?", "Anna", "Anna"), ("And who?", "Anna", "Anna")]}
    assert asked(scripted(table)) == asked(scripted(table, variant="filter")) == []  # the first alone, as by greedy decoding
    assert asked(scripted(table, variant="top-k")) == ["Who pays?"]
    assert asked(scripted(table, variant="top-k", one_each=False)) == ["Who pays?", "And who?"]


def spans_of(table):
    """The spans that a table asks about, wherever a claim has them."""

    def spans(claim):
        return [Candidate(t, claim.index(t), claim.index(t) + len(t), Kind.NAME) for t in table if t in claim]

    return spans


def test_what_is_asked_for_may_be_found_by_others():
    table = {"pays": [("What does she do?", "pays", "pays")], "Anna": [("Who?", "Anna", "Anna")]}
    assert asked(scripted(table, spans=spans_of(["pays"]))) == ["What does she do?"]


def test_a_question_written_for_two_spans_counts_once():
    one = ("Who pays?", "Anna", "Anna")
    table = {"Anna": [one], "the Anna": [one], "March": [("When?", "March", None)]}

    def twice(claim):
        return [Candidate(text, 0, 4, Kind.NAME) for text in table]

    assert scripted(table, spans=twice).score([CLAIM], LONG)[0].value == 0.5


PERSONAL = ["Whom do I pay?", "What animal do i love?", "I live in what city?", "What is MY rent?", "Who has your keys?"]
PERSONAL += ["What can't you do?", "Where are you?", "I'm from where?", "Yesterday I saw what?"]
OTHERS = ["What does World War I mean?", "Who married Elizabeth I?", "Who wrote you?", "Is it you?", "Who owns mylar?"]


@pytest.mark.parametrize("question", PERSONAL + OTHERS)
def test_the_main_setting_keeps_every_question_and_the_filter_leaves_out_what_is_personal(question):
    table = {"Anna": [(question, "Anna", "Anna")]}
    assert asked(scripted(table)) == [question]
    assert bool(asked(scripted(table, variant="filter"))) == (question in OTHERS)


def test_scores_by_f1_alone_and_without_unanswered_questions():
    model = judge(0)

    def value(**settings):
        return scripted(TABLE, model, **settings).score([CLAIM], LONG)[0].value

    assert value() == pytest.approx((1 + 1 + 0) / 3)
    assert value(nli=False) == pytest.approx((1 + 0.5 + 0) / 3)
    assert value(discard=True) == pytest.approx((1 + 1) / 2)
    assert value(nli=False, discard=True) == pytest.approx((1 + 0.5) / 2)
    model.asked.clear()
    value(nli=False)
    assert not model.asked


def test_unanswered_questions_count_where_none_is_answered():
    assert scripted({"March": TABLE["March"]}, discard=True).score([CLAIM], LONG)[0].value == 0


def test_a_tally_has_the_papers_columns():
    scorer = scripted(TABLE, judge(0))
    found = tally(scorer.exchanges([CLAIM, "It is so.", "Anna left."], LONG))
    assert (found.responses, found.covered, found.questions, found.unanswered) == (3, 2, 4, 1)
    assert (found.coverage, found.silence) == (2 / 3, 1 / 4)
    assert found.f1 == pytest.approx((0.5 + 1) / 2)
    assert found.nli == pytest.approx((2 / 3 + 1) / 2)
    assert found.star == pytest.approx(1)
    empty = tally([[]])
    assert math.isnan(empty.silence)
    assert (empty.coverage, math.isnan(empty.nli)) == (0, True)


def test_an_unknown_variant_is_refused(hashed_nli):
    unknown: Any = "coreference"
    with pytest.raises(InputError, match="base, filter, top-k"):
        Q2Scorer(hashed_nli(1), variant=unknown)


def test_pronouns_are_spelt_out_from_the_history_turn_by_turn():
    seen = []

    def resolver(text):
        seen.append(text)
        return [[match.span() for match in re.finditer(r"\b(?:the Beatles|[Tt]hey)\b", text)]]

    history = ["Do you like the Beatles?", "Yes, they are my favourite band."]
    assert resolved("They were formed in 1960.", history, resolver) == "the Beatles were formed in 1960."
    assert seen == [
        "Do you like the Beatles?",
        "Do you like the Beatles?\nYes, they are my favourite band.",
        "Do you like the Beatles?\nYes, the Beatles are my favourite band.\nThey were formed in 1960.",
    ]


@pytest.mark.parametrize("history", [[], ["It rains."], ["Anna is here.", "She sings, and she is loud."]])
def test_what_no_resolver_joins_stays_as_it_is(history):
    assert resolved("She left at 10.", history, lambda text: []) == "She left at 10."


def test_mentions_within_mentions_are_replaced_once():
    def resolver(text):
        return [[(0, 4), (10, 13)], [(0, 9), (10, 17)]] if "\n" in text else []  # her / her umbrella

    assert resolved("her hat is wet.", ["Anna owns"], resolver) == "Anna owns is wet."
    with pytest.raises(InputError, match="the resolver named"):
        resolved("Anna owns it.", [], lambda text: [[(0, 4), (15, 18)]])


def test_without_a_valid_question_the_whole_claim_is_judged(hashed_nli):
    model = hashed_nli(3)
    scorer = scripted(TABLE, model)
    claims = ["You did it.", CLAIM, "It was him."]
    scores = scorer.score(claims, LONG)
    expected = SentencePairScorer(model).score([claims[0], claims[2]], LONG)
    assert [scores[0], scores[2]] == expected
    assert scores[1] == scorer.score([CLAIM], LONG)[0]


def test_documents_are_scored_apart_and_the_best_one_counts():
    scorer = scripted(TABLE, judge(2))
    documents = [Document(text="Anna left.", id="a"), Document(text="It rained.", id="b"), Document(text=" ", id="c")]
    (score,) = scorer.score([CLAIM], documents)
    apart = [scorer.score([CLAIM], document)[0].value for document in documents[:2]]
    assert score.value == max(apart) == pytest.approx(1 / 3)
    assert {citation.document_id for citation in score.citations} == {"a"}
    assert [e.source_answer for e in scorer.explain(CLAIM, documents)] == ["Anna", None, None]


def test_all_claims_and_documents_take_two_calls_to_the_answerer_a_claim_and_one_to_the_judge(hashed_nli):
    model, script = hashed_nli(2), Scripted(TABLE)
    Q2Scorer(model, questions=script, answerer=script).score([CLAIM, CLAIM + " It is so."], [LONG, "She pays 2,900 euros."])
    assert script.calls == [3, 3, 12]
    assert len([batch for batch in model.asked if batch]) == 1


@pytest.mark.parametrize(("claim", "source"), [("", LONG), (" \n", LONG), (CLAIM, ""), (CLAIM, []), ("You did.", " ")])
def test_blank_claims_and_sources_have_no_score(hashed_nli, claim, source):
    (score,) = Q2Scorer(hashed_nli(1)).score([claim], source)
    assert math.isnan(score.value)
    assert score.citations == ()
    assert Q2Scorer(hashed_nli(1)).explain(claim, source) == []


def test_a_judge_that_gives_no_number_gives_no_score():
    class Broken(HashedNLI):
        def classify(self, pairs):
            return super().classify(pairs) * math.nan

    assert math.isnan(scripted(TABLE, Broken(1)).score([CLAIM], LONG)[0].value)


def transcribed(model, claim, document):
    """The paper's steps, one question at a time, with the local parts: the score, or None for no question."""

    def cleaned(text):
        text = "".join(c for c in text.lower() if c.isalnum() or c.isspace())
        return [word for word in text.split() if word not in ("a", "an", "the", "in", "our")]

    scores, seen = [], set()
    for span in candidates(claim):
        ((question,),) = TemplateQuestions().questions(claim, [span])
        if question in seen:
            continue
        (own,) = LexicalAnswerer().answer([(question, claim)])
        if own is None or cleaned(own.text) != cleaned(span.text):
            continue
        seen.add(question)
        (found,) = LexicalAnswerer().answer([(question, document)])
        if found is None:
            scores.append(0.0)
            continue
        f1 = token_f1(span.text, found.text)
        if f1 < 1:
            row = model.classify([(f"{question} {found.text}.", f"{question} {span.text}.")])[0]
            f1 = [1.0, f1, 0.0][max(range(3), key=lambda i: row[i])]
        scores.append(f1)
    return sum(scores) / len(scores) if scores else None


WHO, DID = ("Anna", "The tenant", "Ben Okri", "My landlord"), ("paid", "received", "owes", "refused")
WHAT, WHEN = ("2,900 euros", "the keys", "three letters", "a notice"), ("in 2024", "on 3 May 2025", "in Oslo", "today")


@pytest.mark.parametrize("seed", range(40))
def test_equals_the_slow_transcription(hashed_nli, seed):
    draw = random.Random(seed)

    def sentence():
        return " ".join(draw.choice(words) for words in (WHO, DID, WHAT, WHEN)) + "."

    claims = [sentence(), f"{sentence()} {sentence()}", "You may go."]
    document = " ".join(sentence() for _ in range(draw.randint(1, 5)))
    model = hashed_nli(seed)
    for claim, score in zip(claims, Q2Scorer(model).score(claims, document), strict=True):
        expected = transcribed(model, claim, document)
        if expected is None:
            expected = SentencePairScorer(model).score([claim], document)[0].value
        assert score.value == pytest.approx(expected)


def test_a_wrong_figure_shows_in_the_exchange():
    exchanges = Q2Scorer(judge(2)).explain("The deposit is 2,500 euros.", SOURCE)
    wrong = next(e for e in exchanges if e.claim_answer == "2,500 euros")
    assert (wrong.source_answer, wrong.score, wrong.label) == ("2,900 euros", 0.0, "contradiction")
    assert wrong.citation is not None
    assert wrong.citation.text == "The deposit is 2,900 euros."


TWO_SENTENCES = "Anna lives here. She pays 2,900 euros in March."
TWO_ASKED = {
    "Anna": [("Who?", "Anna", "Anna")],
    "2,900 euros": [("How much?", "2,900 euros", "2,900 euros")],
    "March": [("When?", "March", None)],
}


@pytest.mark.parametrize(
    ("table", "source", "response", "whole", "by_sentence"),
    [
        (TWO_ASKED, "Anna lives here. She pays 2,900 euros.", TWO_SENTENCES, 2 / 3, (1 + 1 / 2) / 2),
        ({"Anna": TWO_ASKED["Anna"]}, None, "Oh yes, quite so! Anna lives here.", 1.0, None),
    ],
)
def test_an_evaluation_scores_whole_responses_as_the_paper_does(table, source, response, whole, by_sentence):
    """The mean is over all questions, not over means of sentences; a sentence without a question counts beside none."""
    scorer = scripted(table, spans=spans_of(table))
    examples = [Example("0", "wow", (Document(text=source or response),), response, 1.0)]
    (found,), (cut,) = evaluate(scorer, examples), evaluate(scorer, examples, units="sentences")
    assert found.value == pytest.approx(whole)
    assert cut.value is not None
    assert cut.value == pytest.approx(by_sentence) if by_sentence else cut.value < whole


def test_other_filters_of_personal_questions_can_be_given():
    everything = asked(scripted(TABLE))
    assert asked(scripted(TABLE, variant="filter", personal=lambda question: question == "When?")) == everything[:2]
    assert asked(scripted(TABLE, variant="base", personal=lambda question: True)) == everything
