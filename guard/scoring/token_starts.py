"""Where the tokens of a long text begin, eight bytes each: the text goes through the tokenizer once, in parts.

What is cut or counted by them belongs to windows (`groundrail.scoring.scale.chunks`) and sentences
(`groundrail.scoring.index`).
"""

from array import array
from collections.abc import Callable, Sequence
from typing import TypeAlias

from groundrail.runtime.progress import step

Offsets: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Character span of every token of a text, in order."""

PART = 100_000
"""Characters tokenized at a time: a tokenizer takes hundreds of bytes a token until it is done."""


def token_starts(text: str, offsets: Offsets, part: int = PART) -> "array[int]":
    """The character at which each token of `text` begins.

    It is tokenized in parts of at most `part` characters, cut before white space, which bounds the memory that a long
    text takes. A character is a step of progress.
    """
    starts = array("q")
    begin = 0
    while begin < len(text):
        end = _part_end(text, begin, part)
        starts.extend(begin + start for start, _ in offsets(text[begin:end]))
        step(end - begin)
        begin = end
    return starts


def _part_end(text: str, begin: int, part: int) -> int:
    """Before the last white space of the part from `begin`, or where the part is full; the text's end in the last one."""
    end = begin + part
    if end >= len(text):
        return len(text)
    return next((place for place in range(end, begin, -1) if text[place].isspace()), end)
