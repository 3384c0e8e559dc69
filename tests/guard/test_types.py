"""Spans: what is left of a slice without white space around it."""

import string

from hypothesis import given
from hypothesis import strategies as st

from groundrail import Span


@given(st.text(alphabet=string.ascii_letters + " \n\t\u00a0.", max_size=40), st.data())
def test_a_trimmed_span_is_the_slice_stripped_which_may_reach_past_the_end(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text) + 60) | st.none())
    first, last = Span.trimmed(text, start, end)
    assert start <= first <= last <= len(text)
    assert text[first:last] == text[start:end].strip()
    assert Span.trimmed(text) == Span.trimmed(text, 0, len(text))
