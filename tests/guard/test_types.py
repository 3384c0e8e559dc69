"""Spans: what is left of a slice without white space around it."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail import Document, Span


@given(st.text(alphabet=string.ascii_letters + " \n\t\u00a0.", max_size=40), st.data())
def test_a_trimmed_span_is_the_slice_stripped(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    first, last = Span.trimmed(text, start, end)
    assert start <= first <= last <= end
    assert text[first:last] == text[start:end].strip()


@pytest.mark.parametrize("text", ["", "a", "  a b\n", " \n "])
def test_without_places_the_whole_text_is_trimmed(text: str) -> None:
    first, last = Span.trimmed(text)
    assert text[first:last] == text.strip()


def test_a_trimmed_span_may_reach_past_the_end_as_slices_do() -> None:
    document = Document(text="It rained. ")
    assert Span.trimmed(document.text, 3, 99) == (3, 10)
