"""Offsets of the tokens of a long text, eight bytes each: the text is tokenized once, in parts.

Windows (`groundrail.scoring.scale.chunks`) and sentences (`groundrail.scoring.index`) are measured by these offsets.
"""

from array import array
from collections.abc import Callable, Sequence
from typing import TypeAlias

from groundrail.runtime.progress import step

Offsets: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Character span of every token of a text, in order."""

PART = 100_000
"""Maximum number of characters tokenized at a time: a tokenizer holds hundreds of bytes for each token."""


def token_starts(text: str, offsets: Offsets, part: int = PART) -> "array[int]":
    """The character at which each token of `text` begins.

    The text is tokenized in parts of at most `part` characters, cut before white space, which bounds the memory for a
    long text. Progress is counted in characters.
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
    """End of the part that begins at `begin`: before the last white space in it, else after `part` characters."""
    end = begin + part
    if end >= len(text):
        return len(text)
    return next((place for place in range(end, begin, -1) if text[place].isspace()), end)
