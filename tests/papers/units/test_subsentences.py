"""Sub-sentences: what is cut, what must not be, and that offsets and words are the claim's own."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import tiny
from tokenizers.pre_tokenizers import Whitespace
from transformers import T5ForConditionalGeneration

from groundrail.errors import ClaimTooLongError
from groundrail.papers.units.base import Unit
from groundrail.papers.units.clauses import ClauseSplitter
from groundrail.papers.units.subsentences import Seq2SeqSplitter, SubSentenceSplitter, SubSentenceUnits

CUT: dict[str, list[str]] = {}
for _line in """
The lease began in March, and the tenants paid a deposit of 2,900 euros.
  The lease began in March.
  The tenants paid a deposit of 2,900 euros.
The tenant pays the rent and the landlord repairs the roof.
  The tenant pays the rent.
  The landlord repairs the roof.
She was born in Warsaw; she moved to Paris.
  She was born in Warsaw.
  She moved to Paris.
He graduated from Yale (now larger) in 1955, and earned an MBA in 1957.
  He graduated from Yale (now larger) in 1955.
  He earned an MBA in 1957.
In 1990, Anna joined the board and became its chair.
  In 1990, Anna joined the board.
  Anna became its chair.
The game was developed by Sega and published by Nintendo.
  The game was developed by Sega.
  The game was published by Nintendo.
The company was founded in Oslo and established a factory in Bergen.
  The company was founded in Oslo.
  The company established a factory in Bergen.
Marie Curie, who won two Nobel Prizes, was born in Warsaw.
  Marie Curie was born in Warsaw.
  Marie Curie won two Nobel Prizes.
The band released an album, which sold two million copies, and toured Europe.
  The band released an album.
  The band toured Europe.
  An album sold two million copies.
Ada Lovelace, a mathematician, wrote the first program.
  Ada Lovelace wrote the first program.
  Ada Lovelace was a mathematician.
The north wing is open, while the south wing is closed.
  The north wing is open.
  The south wing is closed.
She was born in Warsaw, which is in Poland.
  She was born in Warsaw.
  Warsaw is in Poland.
""".strip().splitlines():
    if _line.startswith("  "):
        CUT[list(CUT)[-1]].append(_line.strip())
    else:
        CUT[_line] = []

WHOLE = [
    "The cat sat on the mat.",
    "He denied that the rent was raised and the deposit was kept.",
    "The report claims the bridge was closed and the road was blocked.",
    "If it rains, the match is cancelled and the fans go home.",
    "He may leave and she may stay.",
    "The board did not approve the plan and paid nothing.",
    "Was it cold and did it rain?",
    'The sign reads "the shop is closed and the owner is away" today.',
    "The rule (it was written in May and it was changed in June) stands.",
    "The road between Paris and the town was built in 1900.",
    "Anna, Ben and Carla were elected.",
    "She and Daz would be a couple.",
    "He owns and operates a shop.",
    "The new frame brought better handling and reduced weight.",
    "The novel and its characters are liked.",
    "She lives in Cambridge, Massachusetts, which is cold.",
    "Bob bought the car because he was told it was new and ran well.",
    "The tenant who broke the window and left paid.",
    "Only Bob paid the rent and kept the keys.",
]

UNCERTAIN = [
    "Lufthansa has launched a fresh challenge against a strike by its pilots, which could lead to delays.",
    "She won the race, which surprised everyone.",
    "The brother of Anna, who lives in Paris, was born in Rome.",
    "He played for a member of the band, which was founded in 1990.",
    "Anna married Tom and Ben, who lives in Paris, left.",
    "The Mayor of Paris, a city on the Seine, resigned.",
    "Anna and Ben, a doctor, moved.",
    "No tenant paid the rent and left the flat.",
    "Few tenants paid the rent and left the flat.",
    "Anna rarely eats meat and drinks the wine.",
    "Anna almost broke the vase and left the room.",
    "Anna alone paid the rent and kept the keys.",
    "There is no evidence that Anna left and Ben was late.",
    "Nobody was told that Anna left, and Ben was late.",
    "As long as the rent is paid, the tenant stays and the landlord is happy.",
    "No player, who was injured, was paid.",
    "Few players, who were injured, were paid.",
    "Anna met Tom, who is a doctor, and Carla, who is a nurse.",
    "The tenant, the landlord says, was late.",
    "He lent Tom his car, which was red.",
]
"""Sentences whose parts, cut apart, would state what they do not."""


def plain(text):
    return re.findall(r"\w+", text.lower())


@pytest.mark.parametrize(("claim", "expected"), CUT.items())
def test_is_cut(claim, expected):
    assert [unit.text for unit in ClauseSplitter().split(claim)] == expected


@pytest.mark.parametrize("claim", [*WHOLE, *UNCERTAIN])
def test_is_left_whole(claim):
    assert ClauseSplitter().split(claim) == [Unit(claim, 0, len(claim))]


@pytest.mark.parametrize("claim", [*CUT, *WHOLE, "He moved to Rome, she was told the news, and they were married."])
def test_units_use_the_claims_words_and_cover_them(claim):
    units = ClauseSplitter().split(claim)
    assert all(set(plain(unit.text)) <= {*plain(claim), "is", "was"} for unit in units)
    slices = [set(plain(claim[unit.start : unit.end])) for unit in units]
    assert all(2 * len(said & set(plain(unit.text))) >= len(said) for said, unit in zip(slices, units, strict=True))
    covered = set().union(*slices)
    assert set(plain(claim)) - covered <= {"and", "but", "while", "who", "which"}


VOCABULARY = """the a tenant Anna Paris rent was is paid and but who which moved to in 1990 he not if founded
, , , ; . ( ) " """
WORDS = st.sampled_from(VOCABULARY.split())


@given(st.lists(WORDS, max_size=25).map(" ".join))
@example("the , the , and")
def test_any_words_give_valid_slices_and_lose_none(claim):
    units = ClauseSplitter().split(claim)
    assert bool(units) == bool(claim.strip())
    assert all(0 <= unit.start < unit.end <= len(claim) for unit in units)
    kept = {word for unit in units for word in plain(unit.text)}
    assert set(plain(claim)) - kept <= {"and", "but", "who", "which"}


@given(st.text(max_size=60))
def test_any_text_is_taken(claim):
    for unit in ClauseSplitter().split(claim):
        assert 0 <= unit.start < unit.end <= len(claim)
        assert unit.text.strip()


def test_units_of_several_sentences_keep_offsets_into_the_claim():
    claim = "  Anna left. The lease began in March, and the tenants paid a deposit. Ben stayed."
    units = SubSentenceUnits().split(claim)
    assert [(unit.text, claim[unit.start : unit.end]) for unit in units] == [
        ("Anna left.", "Anna left."),
        ("The lease began in March.", "The lease began in March"),
        ("The tenants paid a deposit.", "the tenants paid a deposit."),
        ("Ben stayed.", "Ben stayed."),
    ]


@pytest.fixture(scope="module")
def writer():
    """A T5 and a tokenizer of whole words; what it writes is set by the output bias."""
    vocabulary = ["<pad>", "</s>", "<unk>", "split:", "Anna", "left", "Ben", "stayed", "and", ".", "|", "here"]
    special: dict[str, Any] = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = tiny.tokenizer(vocabulary, splits=Whitespace(), limit=30, **special)
    return tiny.model(T5ForConditionalGeneration, vocab_size=len(vocabulary)), tokenizer


def taught(writer, source, target):
    model, tokenizer = writer
    return tiny.taught(model, tokenizer, source, target), tokenizer


def test_a_model_writes_units_that_are_aligned_with_the_claim(writer):
    claim = "Anna left and Ben stayed here ."
    model, tokenizer = taught(writer, claim, "Anna left . | Ben stayed .")
    splitter = Seq2SeqSplitter(model, tokenizer, separator="|")
    assert isinstance(splitter, SubSentenceSplitter)
    units = splitter.split(claim)
    assert [plain(unit.text) for unit in units] == [["anna", "left"], ["ben", "stayed"]]
    assert [claim[unit.start : unit.end] for unit in units] == ["Anna left", "Ben stayed"]
    assert splitter.split("  ") == []


def test_a_model_that_writes_nothing_or_does_not_end_leaves_the_claim_whole(writer):
    claim = "Anna left and Ben stayed here ."
    for target, longest in ((".", None), ("Anna left . | Ben stayed .", 3)):
        splitter = Seq2SeqSplitter(*taught(writer, claim, target), max_new_tokens=longest)
        assert splitter.split(claim) == [Unit(claim, 0, len(claim))]


def test_a_claim_beyond_the_model_is_an_error(writer):
    with pytest.raises(ClaimTooLongError, match=r"40 tokens .* reads 30"):
        Seq2SeqSplitter(*writer).split("Anna " * 40)
