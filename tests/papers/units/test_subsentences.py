"""Sub-sentences: what is cut, what must not be, and that offsets and words are the claim's own."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import tiny
from tokenizers.pre_tokenizers import Whitespace
from transformers import T5ForConditionalGeneration

from groundrail.errors import ClaimTooLongError
from groundrail.evaluation.units import SubSentenceUnits, Unit
from groundrail.papers.units.clauses import ClauseSplitter
from groundrail.papers.units.subsentences import Seq2SeqSplitter

CUT, WHOLE, UNCERTAIN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).values()


def plain(text):
    return re.findall(r"\w+", text.lower())


@pytest.mark.parametrize(("claim", "expected"), CUT)
def test_is_cut(claim, expected):
    assert [unit.text for unit in ClauseSplitter().split(claim)] == expected


@pytest.mark.parametrize("claim", [*WHOLE, *UNCERTAIN])
def test_is_left_whole(claim):
    assert ClauseSplitter().split(claim) == [Unit(claim, 0, len(claim))]


@pytest.mark.parametrize("claim", [*dict(CUT), *WHOLE, "He moved to Rome, she was told the news, and they were married."])
def test_units_use_the_claims_words_and_cover_them(claim):
    units = ClauseSplitter().split(claim)
    assert all(set(plain(unit.text)) <= set(plain(claim)) for unit in units)
    slices = [set(plain(claim[unit.start : unit.end])) for unit in units]
    assert all(2 * len(said & set(plain(unit.text))) >= len(said) for said, unit in zip(slices, units, strict=True))
    covered = set().union(*slices)
    assert set(plain(claim)) - covered <= {"and", "but", "while"}


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
    assert set(plain(claim)) - kept <= {"and", "but"}


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
