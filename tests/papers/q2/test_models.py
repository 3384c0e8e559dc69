"""The model-backed parts of Q² on tiny models: answers against reading every window span by span."""

import math
from typing import Any

import pytest
import torch
from tests import tiny
from transformers import BertForQuestionAnswering, T5ForConditionalGeneration

from groundrail.errors import ClaimTooLongError, InputError
from groundrail.papers.q2.answering import Answerer
from groundrail.papers.q2.asking import QuestionGenerator, Seq2SeqQuestions
from groundrail.papers.q2.candidates import candidates
from groundrail.papers.q2.extractive import ExtractiveAnswerer

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "</s>", *(f"w{number}" for number in range(40)), *"Anna left Who ?".split()]
IDS = {word: number for number, word in enumerate(WORDS)}


def tokenizer(paired, limit):
    single, pair = ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1") if paired else ("$A </s>", "$A $B </s>")
    special: dict[str, Any] = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return tiny.tokenizer(WORDS, single=single, pair=pair, paired=paired, limit=limit, eos_token="</s>", **special)


@pytest.fixture(scope="module")
def reader():
    torch.manual_seed(3)
    model = tiny.model(BertForQuestionAnswering, 3, vocab_size=len(WORDS), max_position_embeddings=24)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape) * 0.4)
    return model.eval(), tokenizer(True, 24)


def texts():
    generator = torch.Generator().manual_seed(5)
    for length in (1, 7, 17, 18, 40, 90):
        yield " ".join(f"w{number}" for number in torch.randint(0, 40, (length,), generator=generator).tolist())


@torch.no_grad()
def slowly(model, question, text, overlap, longest, no_answer):
    """Every window on its own, every span of it in turn; words are tokens and the limit is 24."""
    asked, words, room = question.split(), text.split(), 24 - len(question.split()) - 3
    spans, nothing, start = [], [], 0
    while True:
        window = words[start : start + room]
        ids = [IDS["[CLS]"], *(IDS[w] for w in asked), IDS["[SEP]"], *(IDS[w] for w in window), IDS["[SEP]"]]
        types = [0] * (len(asked) + 2) + [1] * (len(window) + 1)
        out = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types]))
        starts, ends = out.start_logits[0].tolist(), out.end_logits[0].tolist()
        nothing.append(starts[0] + ends[0])
        first = len(asked) + 2
        spans += [
            (starts[first + i] + ends[first + j], " ".join(window[i : j + 1]))
            for i in range(len(window))
            for j in range(i, min(len(window), i + longest))
        ]
        if start + room >= len(words):
            break
        start += room - overlap
    value, best = max(spans)
    if no_answer:
        margin = value - min(nothing)
        return (best, 1 / (1 + math.exp(-margin))) if margin > 0 else None
    return best, math.exp(value) / sum(math.exp(other) for other, _ in spans)


@pytest.mark.parametrize("no_answer", [True, False])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_answers_equal_reading_every_window(reader, no_answer, batch_size):
    model = reader[0]
    answerer = ExtractiveAnswerer(*reader, no_answer=no_answer, overlap=5, max_answer_tokens=4, batch_size=batch_size)
    assert isinstance(answerer, Answerer)
    pairs = [(question, text) for question in ("Who left ?", "w1", "w7 w8 w9") for text in texts()]
    found = answerer.answer(pairs)
    for (question, text), answer in zip(pairs, found, strict=True):
        expected = slowly(model, question, text, 5, 4, no_answer)
        assert (answer is None) == (expected is None)
        if answer is not None:
            assert answer.text == expected[0]
            assert text[answer.start : answer.end] == answer.text
            assert answer.score == pytest.approx(expected[1], rel=1e-3, abs=1e-6)
    assert len({answer.text for answer in found if answer}) > 2


def test_a_blank_text_has_no_answer(reader):
    assert ExtractiveAnswerer(*reader, overlap=5, max_answer_tokens=4, no_answer=False).answer([("w1", " ")]) == [None]
    assert ExtractiveAnswerer(*reader, overlap=5, max_answer_tokens=4).answer([]) == []


def test_a_question_that_leaves_no_room_is_an_error(reader):
    answerer = ExtractiveAnswerer(*reader, overlap=5, max_answer_tokens=4)
    with pytest.raises(ClaimTooLongError, match=r"question of 23 tokens leaves 1 of 24"):
        answerer.answer([("w1 " * 20, "w2 w3")])


def test_an_answer_longer_than_the_overlap_is_refused(reader):
    with pytest.raises(InputError, match="at most the overlap"):
        ExtractiveAnswerer(*reader, overlap=3, max_answer_tokens=4)


@pytest.fixture(scope="module")
def asker():
    """A T5 that has learned one question."""
    return taught("w5 Who left ?")


def taught(question):
    reading = tokenizer(False, 40)
    model = tiny.model(T5ForConditionalGeneration, vocab_size=len(WORDS), eos_token_id=IDS["</s>"])
    return tiny.taught(model, reading, "answer: Anna context: Anna left", question), reading


def test_a_model_asks_and_its_prefix_is_cut(asker):
    spans = candidates("Anna left")
    greedy = Seq2SeqQuestions(*asker, prefix="w5", beams=1, max_new_tokens=8)
    assert greedy.questions("Anna left", spans) == [["Who left ?"]]
    generator = Seq2SeqQuestions(*asker, prefix="w5", beams=3, max_new_tokens=8)
    assert isinstance(generator, QuestionGenerator)
    (questions,) = generator.questions("Anna left", spans)
    assert 1 <= len(questions) == len(set(questions)) <= 3
    assert generator.questions("Anna left", spans * 3) == [questions] * 3
    assert generator.questions("Anna left", []) == []


def test_questions_that_do_not_end_are_not_offered(asker):
    generator = Seq2SeqQuestions(*asker, prefix="w5", beams=1, max_new_tokens=2)
    assert generator.questions("Anna left", candidates("Anna left")) == [[]]


def test_a_claim_beyond_the_generator_and_a_wrong_template_are_errors(asker):
    long = "Anna left " * 30
    with pytest.raises(ClaimTooLongError, match="reads 40"):
        Seq2SeqQuestions(*asker).questions(long, candidates(long)[:1])
    with pytest.raises(InputError, match="once each"):
        Seq2SeqQuestions(*asker, template="{answer}")


def test_beams_repeat_no_three_words_as_in_the_authors_program():
    model, reading = taught("w1 w2 w3 w1 w2 w3")
    spans = candidates("Anna left")[:1]
    (greedy,) = Seq2SeqQuestions(model, reading, beams=1, max_new_tokens=10).questions("Anna left", spans)
    assert greedy == ["w1 w2 w3 w1 w2 w3"]
    (found,) = Seq2SeqQuestions(model, reading, beams=5, max_new_tokens=10).questions("Anna left", spans)
    for question in found:
        words = question.split()
        threes = list(zip(words, words[1:], words[2:], strict=False))
        assert len(threes) == len(set(threes))
    assert greedy[0] not in found
