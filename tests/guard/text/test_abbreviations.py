"""Abbreviations end no sentence in answers and in sources, in any pieces, unless the next word opens a new sentence."""

import tomllib
from pathlib import Path

import pytest
from tests.tables import tabled

from groundrail import Guard
from groundrail.sources.reading import read_by_form
from groundrail.testing import FakeEntailment, ScriptedGenerator
from groundrail.text.sentences import Stream, split

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ABBREVIATIONS = TABLES["abbreviations"].split()
SENTENCE = "The tenant of the flat met {} Lind at noon. "


def test_the_list_is_long() -> None:
    assert len(set(ABBREVIATIONS)) >= 160


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_no_abbreviation_before_a_name_is_the_end_of_what_goes_out(piece: int) -> None:
    written = [SENTENCE.format(each) for each in ABBREVIATIONS]
    guard = Guard(ScriptedGenerator(written, piece=piece), judge=FakeEntailment(lambda premise, claim: 1.0))
    assert list(guard.stream("Who was met?", "A source.")) == written


def test_no_abbreviation_before_a_name_ends_a_sentence_of_a_source() -> None:
    written = [SENTENCE.format(each) for each in ABBREVIATIONS]
    text = "".join(written)
    assert [text[premise.start : premise.end] for premise in read_by_form(text).premises()] == written


@pytest.mark.parametrize("each", ABBREVIATIONS)
def test_an_abbreviation_waits_for_the_next_word_and_is_whole_at_the_end(each: str) -> None:
    stream = Stream()
    text = f"The tenant met {each}"
    assert stream.feed(text + " ") == []
    assert [sentence.text for sentence in stream.flush()] == [text + " "]


@tabled("sentences")
def test_boundaries_by_what_follows(sentences: list[str]) -> None:
    assert [sentence.text for sentence in split("".join(sentences))] == sentences
