"""A head over a judge's states, on a tiny model: its answers against trying every slice of every text, one at a time."""

import json
import math
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from groundrail.entailment import CrossEncoderEntailment
from groundrail.errors import ClaimTooLongError, InputError, ModelError
from groundrail.papers.q2.answering import Answerer, AnswerSpan
from groundrail.papers.q2.q2 import Q2Scorer
from groundrail.papers.q2.span_head import FILE, Shape, SpanHead, SpanHeadAnswerer
from groundrail.text.sentences import split

LONGEST = 4
TEXTS = (
    "The tenant pays the rent.",
    "The tenant pays the rent. Anna signed the contract and Bob lost the keys.",
    "The deposit was returned to Anna. The rent is due on the first of every month. Cats are not allowed.",
    "The flat has two rooms.  The contract ends in June.\n\nBob signed it.",
)
QUESTIONS = ("Who pays the rent?", "Who signed the contract?")
PAIRS = [(question, text) for question in QUESTIONS for text in TEXTS]


@pytest.fixture(scope="module")
def judge(tiny_nli, tiny_tokenizer):
    return CrossEncoderEntailment(tiny_nli, tiny_tokenizer)


@pytest.fixture(scope="module")
def head():
    generator = torch.Generator().manual_seed(3)
    made = SpanHead(Shape((0, 2), encoder=32, width=16, longest=LONGEST))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
    return made.eval()


@torch.no_grad()
def slowly(judge: CrossEncoderEntailment, head: SpanHead, question: str, text: str) -> tuple[float, str]:
    """The best slice's margin and its text: each sentence's tokens found by reading, every slice tried in turn."""
    sentences = [part.text.strip() for part in split(text)]
    encoded = judge.tokenizer(" ".join(sentences), question, return_tensors="pt")
    numbers: list[int] = []
    for number, sentence in enumerate(sentences, start=1):
        numbers += [number] * len(judge.offsets(sentence))
    length = encoded["input_ids"].shape[1]
    numbers += [0] * (length - len(numbers))
    states = judge.model.base_model(**encoded, output_hidden_states=True).hidden_states
    slices, none = head([states[0], states[2]], torch.tensor([numbers]), torch.ones(1, length, dtype=torch.bool))
    best = (-math.inf, "")
    for first in range(length):
        for last in range(first, min(length, first + LONGEST)):
            if numbers[first] == numbers[last] != 0:
                sentence = sentences[numbers[first] - 1]
                begin = numbers.index(numbers[first])
                offsets = judge.offsets(sentence)[first - begin : last - begin + 1]
                best = max(best, (float(slices[0, first, last] - none[0]), sentence[offsets[0][0] : offsets[-1][1]]))
    return best


def answered(answerer: SpanHeadAnswerer, pairs: list[tuple[str, str]]) -> list[AnswerSpan]:
    found = [answer for answer in answerer.answer(pairs) if answer is not None]
    assert len(found) == len(pairs)
    return found


@pytest.mark.parametrize("batch_tokens", [1, 60, 4096])
def test_answers_are_the_best_slices(judge, head, batch_tokens):
    answerer = SpanHeadAnswerer(judge, head, threshold=-math.inf, batch_tokens=batch_tokens)
    assert isinstance(answerer, Answerer)
    for (question, text), answer in zip(PAIRS, answered(answerer, PAIRS), strict=True):
        assert answer.text == text[answer.start : answer.end] == slowly(judge, head, question, text)[1]


def test_from_the_threshold_a_slice_is_an_answer(judge, head):
    margins = [slowly(judge, head, *pair)[0] for pair in PAIRS]
    threshold = sorted(margins)[len(margins) // 2] - 1e-4
    found = SpanHeadAnswerer(judge, head, threshold=threshold).answer(PAIRS)
    assert {answer is None for answer in found} == {True, False}
    for margin, answer in zip(margins, found, strict=True):
        assert (answer is None) == (margin < threshold)
        if answer is not None:
            assert answer.score == pytest.approx(1 / (1 + math.exp(threshold - margin)), abs=1e-4)


def test_no_slice_leaves_its_sentence_or_is_too_long(head):
    generator = torch.Generator().manual_seed(1)
    states = [torch.randn(1, 9, 32, generator=generator) for _ in range(2)]
    sentence = torch.tensor([[0, 1, 1, 1, 1, 1, 2, 2, 0]])
    slices, _ = head(states, sentence, torch.ones(1, 9, dtype=torch.bool))
    allowed = {(int(first), int(last)) for first, last in slices[0].isfinite().nonzero()}
    assert allowed == {(a, b) for a in range(1, 6) for b in range(a, min(6, a + LONGEST))} | {(6, 6), (6, 7), (7, 7)}


def test_padding_changes_nothing(head):
    generator = torch.Generator().manual_seed(2)
    states = [torch.randn(1, 6, 32, generator=generator) for _ in range(2)]
    sentence, real = torch.tensor([[1, 1, 1, 2, 2, 0]]), torch.ones(1, 6, dtype=torch.bool)
    slices, none = head(states, sentence, real)
    wider = [torch.cat([state, torch.randn(1, 3, 32, generator=generator)], dim=1) for state in states]
    padded = [torch.nn.functional.pad(tensor, (0, 3)) for tensor in (sentence, real)]
    more, same = head(wider, *padded)
    torch.testing.assert_close(more[:, :6, :6], slices)
    torch.testing.assert_close(same, none)
    assert not more[:, 6:].isfinite().any()


def test_only_the_nearest_sentences_are_read(judge, head):
    text = " ".join(["Cats are not allowed."] * 4 + ["The tenant pays the rent."] + ["Bob lost the keys."] * 3)
    answerer = SpanHeadAnswerer(judge, head, threshold=-math.inf, nearest=1)
    (answer,) = answered(answerer, [("Who pays the rent?", text)])
    assert text.index("The tenant") <= answer.start < answer.end <= text.index("Bob lost")


def test_a_blank_text_has_no_answer(judge, head):
    answerer = SpanHeadAnswerer(judge, head, threshold=-math.inf)
    found = answerer.answer([(QUESTIONS[0], " \n"), (QUESTIONS[0], TEXTS[0]), (QUESTIONS[0], "")])
    assert [answer is None for answer in found] == [True, False, True]
    assert answerer.answer([]) == []


def test_a_question_that_leaves_no_room_and_reading_nothing_are_errors(judge, head):
    with pytest.raises(ClaimTooLongError, match="leaves no room"):
        SpanHeadAnswerer(judge, head).answer([("who pays the rent " * 60, TEXTS[0])])
    with pytest.raises(InputError, match="at least one sentence"):
        SpanHeadAnswerer(judge, head, nearest=0)


def test_a_head_comes_back_from_its_file(judge, head, tmp_path):
    head.save(tmp_path / FILE, "a judge", 0.25)
    loaded, trained_on, threshold = SpanHead.load(tmp_path / FILE)
    assert (loaded.shape, trained_on, threshold) == (head.shape, "a judge", 0.25)
    for name, tensor in head.state_dict().items():
        torch.testing.assert_close(loaded.state_dict()[name], tensor, atol=2e-3, rtol=2e-3)


def test_a_file_that_is_no_head_is_an_error(tmp_path):
    (tmp_path / FILE).write_bytes(b"none")
    with pytest.raises(ModelError, match="is no span head"):
        SpanHead.load(tmp_path / FILE)


def test_the_shipped_head_was_trained_on_the_shipped_judge():
    path = Path(str(files("groundrail.papers.q2"))) / FILE
    config = json.loads((files("groundrail.entailment.builtin") / "config.json").read_text(encoding="utf-8"))
    with safe_open(path, "pt") as file:
        assert file.metadata()["judge"] == config["entailment_identity"]
    assert isinstance(Q2Scorer(answerer="span-head").answerer, SpanHeadAnswerer)
