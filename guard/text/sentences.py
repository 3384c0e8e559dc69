"""Sentence boundaries with exact character offsets, for a whole text and for one that is still being written.

`groundrail.text.ends` tells whether a full stop or a line break ends a sentence, one boundary at a time. So every boundary
depends on a bounded right context, and `split` is a `Stream` fed once: streaming in any pieces gives the same sentences.
`groundrail.text.claims` reads the claim of a sentence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from groundrail.errors import InputError
from groundrail.text.ends import (
    BLANK,
    CLOSING,
    EMOJI,
    NEWLINES,
    Line,
    break_ends,
    fence_end,
    is_full_stop,
    is_lead,
    line_kind,
    line_starts,
    opening_fence,
)

LONGEST = 2000
"""Characters after which a text without boundary is cut: more than models of 512 tokens read of a claim."""

_PIECE = 65_536
"""Characters of a whole text that are split at a time."""

_MARGIN = 64
"""Characters after a boundary that can move it."""

_WORD = 40
"""A following word is judged by this many characters at most, so that no word can hold a sentence back."""

_WIDE = "。！？｡"
_STOPS = ".!?…‼⁇⁈⁉।॥؟۔"
STOPS = _STOPS + _WIDE
"""Characters that can end a sentence."""

_AFTER = rf"(?P<closers>(?:[{re.escape(CLOSING)}{EMOJI}]|\[\d{{1,3}}\])*+)"

_CANDIDATE = re.compile(
    # a stop of a script written without spaces
    rf"(?<![{_STOPS}{_WIDE}])(?:(?P<wide>[{_STOPS}]{{0,3}}[{_WIDE}][{_STOPS}{_WIDE}]*+)"
    rf"|(?P<stop>[{_STOPS}]++))"
    rf"{_AFTER}"
    rf"(?P<gap>(?(wide)(?:\s++|(?!\[))|(?:{BLANK}+[{EMOJI}]{{1,16}}(?=\s))*\s+))"
    # or a line break
    rf"|(?<!{BLANK})(?P<line>{BLANK}*[{NEWLINES}]\s*)"
)
_SPACE = re.compile(r"\s*")
_BREAK = re.compile(r"\s")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSETTLED = re.compile(rf"[\s{re.escape(_STOPS + _WIDE + CLOSING)}{EMOJI}\[\d]")
_WORD_AHEAD = re.compile(rf"\S{{0,{_WORD}}}")


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is `whole[start:end]`, the white space after it included.

    `lead`: for an item of a list, the line with a colon that the list begins with. The first item is one sentence
    with the lead: "Who must not take it:\\n- people with asthma\\n".
    `of_block`: whether it is a part of a code block that is longer than a sentence may be.
    """

    text: str
    start: int
    end: int
    lead: str = ""
    of_block: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a sentence starts, and what is known of its line. Offsets count from the first feed.

    `fence`: the opening fence of the code block that was cut before this place.
    """

    start: int
    line: int
    kind: Line | None
    lead: str = ""
    fence: str = ""


def split(text: str, longest: int = LONGEST) -> list[Sentence]:
    """All sentences of `text`; their slices concatenate to it. Empty text has none."""
    return list(splits(text, longest))


def splits(text: str, longest: int = LONGEST) -> Iterator[Sentence]:
    """The same, one after the other: of a long text, no more is copied than a piece."""
    stream = Stream(longest)
    for start in range(0, len(text), _PIECE):
        yield from stream.feed(text[start : start + _PIECE])
        stream.settle()
    yield from stream.flush()


def is_finished(text: str) -> bool:
    """Whether `text` is blank or ends as a sentence does: with a stop, closing quotes and brackets aside."""
    bare = text.rstrip().rstrip(CLOSING).rstrip()
    return not bare or bare[-1] in STOPS


def is_unicode(text: str) -> bool:
    """Whether `text` can be encoded: half a surrogate pair, as from a broken stream, cannot."""
    return not _SURROGATE.search(text)


class Stream:
    """Sentences of a text that arrives in pieces, each released once no later text can move its end.

    That is when the word after its white space is complete, or the paragraph after it has begun. Text without a
    boundary within `longest` characters is cut there, at white space if there is any in its second half, so that memory
    is bounded and time grows with the text. The parts of a code block that is cut say that they are parts.
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._place = _Place(start=0, line=0, kind=None)
        self._places = {0: self._place}
        self._text = ""  # from self._offset on; a sentence begins at its first character between calls
        self._offset = 0
        self._restart()

    @property
    def pending(self) -> str:
        """Text that was fed and not yet released."""
        return self._text

    @property
    def end(self) -> int:
        """Characters fed so far, less those forgotten."""
        return self._offset + len(self._text)

    def feed(self, piece: str) -> list[Sentence]:
        """Take the next piece and release the sentences it completes."""
        released, place = [], 0
        while place < len(piece):
            room = self._longest + _MARGIN - len(self._text)
            self._text += piece[place : place + room]
            place += room
            released += self._release(final=False)
        return released

    def flush(self) -> list[Sentence]:
        """Release everything that is left: the text ends here."""
        return self._release(final=True)

    def settle(self) -> None:
        """Take no released sentence back any more, so that none need be remembered."""
        self._places = {self._place.start: self._place}

    def truncate(self, end: int) -> None:
        """Forget everything from character `end` on: a sentence was rejected and will be written anew.

        Raises: InputError if `end` lies inside a released sentence or beyond what was fed.
        """
        if self._offset <= end <= self.end:
            self._text = self._text[: end - self._offset]
        elif end in self._places:
            self._text = ""
            self._offset = end
            self._place = self._places[end]
            self._places = {start: place for start, place in self._places.items() if start <= end}
        else:
            raise InputError(f"cannot truncate at {end}: pass the start of a released sentence or a later position")
        self._restart()

    def _restart(self) -> None:
        self._begin = self._scan = self._place.start - self._offset
        self._line = self._place.line - self._offset
        self._kind = self._place.kind
        self._lead = self._place.lead
        self._fence = self._place.fence
        self._entered = False

    def _release(self, *, final: bool) -> list[Sentence]:
        released = []
        while True:
            end = self._next_end(final)
            if end is None and final and self._begin < len(self._text):
                end = len(self._text)
            size = len(self._text) if end is None else end
            if size - self._begin > self._longest and (
                end is not None or size - self._begin >= self._longest + _MARGIN
            ):
                end = self._forced_end()
            if end is None:
                break
            released.append(self._cut(end))
        self._text = self._text[self._begin :]
        self._offset += self._begin
        self._line -= self._begin
        self._scan -= self._begin
        self._begin = 0
        return released

    def _forced_end(self) -> int:
        """Where to cut a sentence that is too long. A code block goes on behind the cut; other text counts as plain text of
        a new line."""
        limit = self._begin + self._longest
        spaces = [space.end() for space in _BREAK.finditer(self._text, self._begin + self._longest // 2, limit)]
        end = spaces[-1] if spaces else limit
        if self._kind is Line.FENCE:
            self._fence = self._fence or opening_fence(self._text, self._scan)
            self._line = max([self._line, *line_starts(self._text, self._begin, end)])
        else:
            self._kind, self._line = Line.PLAIN, end
        return end

    def _cut(self, end: int) -> Sentence:
        start, of_block = self._offset + self._begin, bool(self._fence)
        sentence = Sentence(self._text[self._begin : end], start, self._offset + end, self._lead, of_block)
        if self._kind is not Line.FENCE:
            self._fence = ""
        self._place = _Place(sentence.end, self._offset + self._line, self._kind, self._lead, self._fence)
        self._places[sentence.end] = self._place
        self._begin = self._scan = end
        self._entered = False
        return sentence

    def _next_end(self, final: bool) -> int | None:
        """End of the sentence at `_begin`, or None while later text can move it or the text ends first."""
        if not self._entered and not self._enter(final):
            return None
        if self._kind is Line.FENCE:
            return self._fence_end(final)
        for match in _CANDIDATE.finditer(self._text, self._scan):
            if match.end() == len(self._text):
                return None
            ends = self._ends(match, final)
            if ends is None:
                return None
            self._scan = match.end()
            if ends:
                return match.end()
        self._scan = self._settled()
        return None

    def _settled(self) -> int:
        """Up to where no later text can make a candidate, so that a long sentence is searched once."""
        end = len(self._text)
        while end > self._scan and _UNSETTLED.match(self._text, end - 1):
            end -= 1
        return end

    def _enter(self, final: bool) -> bool:
        """Go to the sentence's first word and learn what line it is in; False if that is not known yet."""
        if self._fence:
            self._scan, self._entered = self._begin, True
            return True
        first = _SPACE.match(self._text, self._begin)
        start = first.end() if first else self._begin
        if start == len(self._text):
            return False
        lines = line_starts(self._text, self._begin, start)
        line = lines[-1] if lines else self._line
        kind = self._kind
        if lines or kind is None:
            kind = line_kind(self._text, max(line, self._begin), final)
            if kind is None:
                return False
        if kind is not Line.ITEM:
            self._lead = ""
        self._line, self._kind, self._scan, self._entered = line, kind, start, True
        return True

    def _fence_end(self, final: bool) -> int | None:
        """End of the white space after the closing fence; a block that is never closed goes on to the end.

        None, too, for a block that is too long and will be cut.
        """
        fence = self._fence or opening_fence(self._text, self._scan)
        inside = bool(self._fence) and self._line == self._begin
        end = fence_end(self._text, self._scan, fence, inside=inside)
        if end is None or end == len(self._text) or end - self._begin > self._longest:
            return None
        self._line, self._kind = end, None
        return end

    def _ends(self, match: re.Match[str], final: bool) -> bool | None:
        """Whether the sentence ends at this candidate; None if that is not known yet."""
        before, after = match.span("line" if match["line"] is not None else "gap")
        lines = line_starts(self._text, before, after)
        line, kind, ends = self._line, self._kind, False
        if lines:
            line = lines[-1]
            ends = len(lines) > 1
            leads = is_lead(self._text[max(self._line, self._begin) : before])
            kind = line_kind(self._text, line, final) if leads or not ends else None
            if kind is None and (leads or not ends):
                return None
            if leads and kind is Line.ITEM:
                self._lead = self._text[self._begin : before].strip()
                self._line, self._kind = line, kind
                return False
            if ends:
                kind = None
            elif kind is not None:
                word = _word(self._text, after, final)
                if word is None and kind is Line.PLAIN:
                    return None
                ends = self._line_ends(before, kind, self._text[line:after], word or "")
                if kind is Line.PLAIN and self._kind is Line.ITEM and not ends:
                    kind = Line.ITEM
        if not ends and match["line"] is None and self._kind is not Line.ALONE:
            if match["wide"]:
                ends = True
            elif (word := _word(self._text, after, final)) is None:
                return None
            else:
                ends = is_full_stop(self._text, self._begin, match.end("stop"), match["closers"], word)
        self._line, self._kind = line, kind
        return ends

    def _line_ends(self, before: int, following: Line, indent: str, word: str) -> bool:
        """Whether one line break, with text up to `before` and from `word` on, ends a sentence by itself."""
        line = self._text[self._line : before] if self._line >= self._begin else None
        return break_ends(self._kind, line, following, indent, word)


def _word(text: str, start: int, final: bool) -> str | None:
    """The word at `start`, None while it can still grow."""
    match = _WORD_AHEAD.match(text, start)
    word = match[0] if match else ""
    complete = final or len(word) == _WORD or start + len(word) < len(text)
    return word if complete else None
