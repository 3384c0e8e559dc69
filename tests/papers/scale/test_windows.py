"""Windows over a document: nothing left out, nothing too long, no word cut where it can be helped."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail.errors import ClaimTooLongError
from groundrail.papers.scale.windows import Windows


def words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def syllables(text: str) -> list[tuple[int, int]]:
    """Up to three letters, or one mark."""
    return [match.span() for match in re.finditer(r"\w{1,3}|[^\w\s]", text)]


def with_space(text: str) -> list[tuple[int, int]]:
    """Spans that hold the blank before a word, as SentencePiece's may."""
    return [match.span() for match in re.finditer(r"\s?\S{1,4}|\s", text)]


def doubled(text: str) -> list[tuple[int, int]]:
    """Several tokens a character, as bytes are."""
    return [(index, index + 1) for index, character in enumerate(text) for _ in range(2) if character != " "]


def heavier_at_the_start(text: str) -> list[tuple[int, int]]:
    """A text's first word takes more tokens than the same word further on."""
    return [match.span() for match in re.finditer(r"\A\s*\w|\w{1,4}|[^\w\s]", text)]


TOKENIZERS = [words, syllables, with_space, doubled, heavier_at_the_start]
texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(["a", "rent", "landlord's", "incomprehensibilities", ",", "\r\n", "3.5", "世界"])).map(
        " ".join
    ),
)


@given(texts, st.integers(2, 40), st.floats(0, 0.95), st.sampled_from(TOKENIZERS))
def test_every_character_is_in_a_window_and_no_window_is_too_long(text, size, overlap, offsets) -> None:
    spans = Windows(text, offsets).cut(size, overlap)
    covered = set().union(*(range(start, end) for start, end in spans))
    assert {index for index, character in enumerate(text) if not character.isspace()} <= covered
    for start, end in spans:
        window = text[start:end]
        assert 0 < len(offsets(window)) <= size
        assert window == window.strip() != ""
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert start <= next_start
        assert end < next_end


@given(texts, st.integers(1, 40), st.floats(0, 0.95))
def test_words_that_are_tokens_give_the_windows_of_the_paper(text, size, overlap) -> None:
    spans = words(text)
    stride = max(1, int(size * (1 - overlap)))
    expected = []
    for begin in range(0, len(spans), stride):
        window = spans[begin : begin + size]
        expected.append((window[0][0], window[-1][1]))
        if begin + size >= len(spans):
            break
    assert Windows(text, words).cut(size, overlap) == expected


@given(st.lists(st.text("abc", min_size=1, max_size=9), max_size=80), st.integers(12, 40), st.floats(0, 0.7))
def test_short_words_are_never_cut(parts, size, overlap) -> None:
    text = " ".join(parts)
    for start, end in Windows(text, syllables).cut(size, overlap):
        assert start == 0 or text[start - 1] == " "
        assert end == len(text) or text[end] == " "


@given(texts, st.integers(2, 40), st.integers(1, 60))
def test_tokenizing_in_parts_gives_the_same_windows(text, size, part) -> None:
    """Windows of words, which no part divides unless it is shorter than a word."""
    longest = max(map(len, text.split()), default=0)
    assert Windows(text, words, part + longest).cut(size, 0.25) == Windows(text, words).cut(size, 0.25)


def test_a_word_longer_than_a_window_is_cut() -> None:
    text = "so " + "x" * 100 + " it is"
    spans = Windows(text, syllables).cut(8, 0.25)
    assert spans[0] == (0, 3 + 7 * 3)
    assert spans[-1][1] == len(text)


def test_a_size_that_holds_no_character_is_an_error() -> None:
    with pytest.raises(ClaimTooLongError, match="does not hold"):
        Windows("世界", lambda text: [(index, index + 1) for index in range(len(text)) for _ in range(3)]).cut(2, 0.0)


def test_a_blank_text_has_no_windows() -> None:
    assert Windows("", words).cut(5, 0.25) == []
    assert Windows(" \n ", with_space).cut(5, 0.25) == []
