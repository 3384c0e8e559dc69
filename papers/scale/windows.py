"""Overlapping token windows over a document, with exact character offsets (SCALE, section 3.1).

This module only cuts; the scorers judge a claim by a window.
"""

from array import array
from bisect import bisect_left, bisect_right

from groundrail.errors import ClaimTooLongError
from groundrail.runtime.progress import step
from groundrail.scoring.index import PART, Offsets, token_starts
from groundrail.types import Span


class Windows:
    """A document that is tokenized once and can be cut into windows of any size.

    offsets: the tokenizer's function for the character span of each token. Each window is tokenized again by itself to
        measure it as the model will read it.
    part: maximum number of characters tokenized at a time.
    """

    def __init__(self, text: str, offsets: Offsets, part: int = PART) -> None:
        self.text = text
        self._offsets = offsets
        self._starts = token_starts(text, offsets, part)
        self._starts[:1] = array("q", [0])  # the first window begins with the text
        self._cut: dict[tuple[int, float], list[tuple[int, int]]] = {}

    def cut(self, size: int, overlap: float) -> list[tuple[int, int]]:
        """Spans of at most `size` tokens; each begins `size * (1 - overlap)` tokens after the previous span.

        Every character except white space is in a window, and the last window ends with the document. A boundary moves
        back to the beginning of a word if there is one within a quarter of a window.

        Raises: ClaimTooLongError if `size` tokens do not hold one character.
        """
        if (size, overlap) not in self._cut:
            self._cut[size, overlap] = self._cut_anew(size, overlap)
        return self._cut[size, overlap]

    def _cut_anew(self, size: int, overlap: float) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        stride = max(1, int(size * (1 - overlap)))
        begin = 0
        while True:
            end = self._fitting_end(begin, size)
            span = Span.trimmed(self.text, self._place(begin), self._place(end))
            if span[0] < span[1] and (not spans or spans[-1][1] < span[1]):
                spans.append(span)
            if end >= len(self._starts):
                return spans
            after = self._word_start(min(begin + stride, end), begin, size)
            step(self._place(after) - self._place(begin))
            begin = after

    def _fitting_end(self, begin: int, size: int) -> int:
        """The token before which a window that begins with token `begin` ends."""
        end = min(begin + size, len(self._starts))
        while True:
            end = self._word_start(end, begin, size)
            window = self.text[self._place(begin) : self._place(end)].strip()
            excess = len(self._offsets(window)) - size
            if excess <= 0:
                return end
            shorter = self._word_start(end - excess, begin, size)
            if shorter >= end:
                raise ClaimTooLongError(f"room for {size} tokens of source does not hold {window[:20]!r}")
            end = shorter

    def _word_start(self, token: int, begin: int, size: int) -> int:
        """The nearest token at or before `token` that begins a word, or else a character.

        The token lies after the first character of the window from `begin`, and at most a quarter of a window back.
        """
        first = bisect_right(self._starts, self._place(begin))
        if token >= len(self._starts):
            return len(self._starts)
        for candidate in range(token, max(first, token - size // 4) - 1, -1):
            place = self._place(candidate)
            if any(map(str.isspace, self.text[place - 1 : place + 1])):
                return bisect_left(self._starts, place)
        return max(first, bisect_left(self._starts, self._place(token)))

    def _place(self, token: int) -> int:
        """The character at which a token begins; for a number past the last token, the end of the text."""
        return self._starts[token] if token < len(self._starts) else len(self.text)
