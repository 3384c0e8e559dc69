"""What a score costs, counted and not timed: model calls, pairs, tokens, and characters given to the tokenizer.

A change that makes any of them grow fails here; where it is worth it, the bound is raised on purpose.
"""

import random

import pytest

from groundrail import Guard
from groundrail.entailment import Seq2SeqEntailment
from groundrail.entailment.base import Pair
from groundrail.scoring.scale.scale import ScaleScorer
from groundrail.testing import FakeEntailment

SENTENCES = [f"Room {number} of the house at gate {number % 7} is let to tenant T{number}." for number in range(600)]
SOURCE = " ".join(SENTENCES)
CLAIMS = [SENTENCES[number] for number in (3, 250, 420, 599)]
FALSE = "Nobody ever paid the gardener."


class Counted(FakeEntailment):
    """Certain of what is said word by word; counts what it is given."""

    def __init__(self) -> None:
        super().__init__(lambda premise, claim: 0.9 if claim in premise else 0.1, max_tokens=512)
        self.characters = 0

    @property
    def pairs(self) -> int:
        return sum(map(len, self.calls))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        self.characters += len(text)
        return super().offsets(text)


@pytest.fixture
def model() -> Counted:
    return Counted()


def chunks_of(model: Counted) -> int:
    """How many pairs a full score of one claim reads before the tree."""
    ScaleScorer(model, chunk_tokens=200).best_chunks([FALSE], SOURCE)
    found = model.pairs
    model.calls.clear()
    model.characters = 0
    return found


def test_supported_claims_of_an_answer_take_two_calls_and_four_pairs_each(model) -> None:
    assert chunks_of(model) > 30
    result = Guard(scorer=ScaleScorer(model, chunk_tokens=200)).check(" ".join(CLAIMS), SOURCE)
    assert result.supported
    assert len(model.calls) <= 2
    assert model.pairs <= 4 * len(CLAIMS)


def test_a_claim_that_nothing_supports_reads_every_chunk_once_in_few_calls(model) -> None:
    chunks = chunks_of(model)
    ScaleScorer(model, chunk_tokens=200, slack=None).read(SOURCE).score([FALSE], 0.5)
    rounds = chunks.bit_length()
    assert [len(call) for call in model.calls[: rounds - 1]] == [2**number for number in range(rounds - 1)]
    assert sum(len(call) for call in model.calls[:rounds]) == chunks
    assert len(model.calls) <= rounds + 6


def test_the_source_goes_through_the_tokenizer_three_times_however_many_claims(model) -> None:
    chunks_of(model)
    scorer = ScaleScorer(model, chunk_tokens=200)
    scorer.score(CLAIMS[:1], SOURCE)
    one, model.characters = model.characters, 0
    scorer.score(CLAIMS, SOURCE)
    four = model.characters
    assert one <= 3 * len(SOURCE)
    assert four <= one + len(CLAIMS) * 8_000


def test_the_third_attempt_at_a_sentence_costs_nothing_that_was_asked_before(model) -> None:
    reader = ScaleScorer(model, chunk_tokens=200).read(SOURCE)
    reader.score([FALSE], 0.5)
    asked = model.pairs
    reader.score([FALSE], 0.5)
    assert model.pairs == asked


def test_t5_reads_each_prompt_once_and_no_padding(tiny_t5, tiny_tokenizer) -> None:
    draw = random.Random(4)
    pairs: list[Pair] = [("rent is due " * draw.randrange(1, 20), "keys were lost") for _ in range(25)]
    judge, read = Seq2SeqEntailment(tiny_t5, tiny_tokenizer, batch_tokens=200), []
    hook = tiny_t5.encoder.embed_tokens.register_forward_hook(lambda module, given, out: read.append(given[0].numel()))
    judge.entailment(pairs)
    hook.remove()
    prompts = [f'{premise} Question: Does this imply that "{claim}"? Yes or No?' for premise, claim in pairs]
    assert sum(read) == sum(len(tiny_tokenizer(prompt).input_ids) for prompt in prompts)
    assert max(read) <= 200
