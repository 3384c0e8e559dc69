"""A source goes through the tokenizer once an answer, whichever the scorer."""

import pytest
from tokenizing import SCORERS, each, once, read, written


@pytest.mark.parametrize("name", SCORERS)
def test_what_is_read_of_a_source_does_not_grow_with_the_answer(name: str) -> None:
    sentences = written(20_000)
    source, answer = " ".join(sentences), sentences[::20]
    short, long = (read(name, once, answer[:count], source) for count in (2, 10))
    assert short.lengths > 0.9
    assert long.lengths - short.lengths < 0.25 * 8
    assert read(name, each, answer[:10], source).lengths > 9
