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
    UndecidedError,
    belongs_to,
    break_ends,
    fence_end,
    goes_on_as_table,
    heading_of,
    is_full_stop,
    is_lead,
    line_kind,
    line_starts,
    opening_fence,
    word_at,
)
from groundrail.text.english.unfinished import is_unfinished

LONGEST = 2000
"""Characters after which a text without boundary is cut: more than models of 512 tokens read of a claim."""

_PIECE = 65_536
"""Characters of a whole text that are split at a time."""

_MARGIN = 64
"""Characters after a boundary that can move it."""

_WIDE = "。！？｡"
_STOPS = ".!?…‼⁇⁈⁉।॥؟۔"
STOPS = _STOPS + _WIDE
"""Characters that can end a sentence."""

_CANDIDATE = re.compile(
    # a stop of a script written without spaces, or another stop; closing marks; white space, pictures and citation marks
    rf"(?<![{STOPS}])(?:(?P<wide>[{_STOPS}]{{0,3}}[{_WIDE}][{STOPS}]*+)|(?P<stop>[{_STOPS}]++))"
    rf"(?P<closers>(?:[{re.escape(CLOSING)}{EMOJI}]|\[\d{{1,3}}\])*+)"
    rf"(?P<gap>(?(wide)(?:\s++|(?!\[))|(?:"
    rf"(?:{BLANK}+(?:\[\d{{1,3}}\])+)+\Z|(?:{BLANK}+(?:[{EMOJI}]{{1,16}}|(?:\[\d{{1,3}}\])+)(?=\s))*\s+)))"
    # or a line break
    rf"|(?<!{BLANK})(?P<line>{BLANK}*[{NEWLINES}]\s*)"
)
_BREAK = re.compile(r"\s")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSETTLED = re.compile(rf"[\s{re.escape(STOPS + CLOSING)}{EMOJI}\[\d]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is `whole[start:end]`, the white space after it included.

    `lead`: for an item of a list, the line with a colon that the list begins with. The first item is one sentence
    with the lead: "Who must not take it:\\n- people with asthma\\n".
    For a row of a table, the head of the table with the line under it; the first row is one sentence with them.
    `of_block`: whether it is a part of a code block that is longer than a sentence may be.
    `heading`: the words of the heading above: a Markdown heading, or a line in bold or without a stop.
    """

    text: str
    start: int
    end: int
    lead: str = ""
    of_block: bool = False
    heading: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a sentence starts, in characters from the first feed, and what is known of its line.

    `new_line`: whether a line starts there. `fence`: the opening fence of the code block that was cut there.
    `heading`: as `Sentence.heading`.
    """

    start: int = 0
    new_line: bool = True
    kind: Line | None = None
    lead: str = ""
    fence: str = ""
    heading: str = ""


def split(text: str, longest: int = LONGEST) -> list[Sentence]:
    """All sentences of `text`; their slices concatenate to it. Empty text has none."""
    if len(text) <= longest and not _CANDIDATE.search(text):  # most cells of tables
        return [Sentence(text, 0, len(text))] if text else []
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
        self._places = {0: _Place()}
        self._text = ""
        self._restart(_Place())

    @property
    def pending(self) -> str:
        """Text that was fed and not yet released."""
        return self._text

    @property
    def end(self) -> int:
        """Characters fed so far, less those forgotten."""
        return self._start + len(self._text)

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
        self._places = {self._start: self._places[self._start]}

    def truncate(self, end: int) -> None:
        """Forget everything from character `end` on: a sentence was rejected and will be written anew.

        Raises: InputError if `end` lies inside a released sentence or beyond what was fed.
        """
        if self._start <= end <= self.end:
            self._text = self._text[: end - self._start]
            self._restart(self._places[self._start])
        elif end in self._places:
            self._text = ""
            self._places = {start: place for start, place in self._places.items() if start <= end}
            self._restart(self._places[end])
        else:
            raise InputError(f"cannot truncate at {end}: pass the start of a released sentence or a later position")

    def _restart(self, place: _Place) -> None:
        """Begin to read the sentence at a place: `_line` is where its line starts in the text, -1 before it."""
        self._start, self._kind, self._lead, self._fence = place.start, place.kind, place.lead, place.fence
        self._heading = place.heading
        self._line = 0 if place.new_line else -1
        self._scan, self._entered = 0, False

    def _release(self, *, final: bool) -> list[Sentence]:
        released: list[Sentence] = []
        while True:
            end = self._next_end(final)
            if end is None and (final or len(self._text) >= self._longest + _MARGIN):
                end = len(self._text)
            if not end:
                return released
            released.append(self._cut(end if end <= self._longest else self._forced_end()))

    def _forced_end(self) -> int:
        """Where to cut a sentence that is too long. A code block goes on behind the cut; other text counts as plain text of
        a new line."""
        spaces = [space.end() for space in _BREAK.finditer(self._text, self._longest // 2, self._longest)]
        end = spaces[-1] if spaces else self._longest
        if self._kind is Line.FENCE:
            self._fence = self._fence or opening_fence(self._text, self._scan)
            self._line = max([self._line, *line_starts(self._text, 0, end)])
        else:
            self._kind, self._line = Line.PLAIN, end
        return end

    def _cut(self, end: int) -> Sentence:
        text, fence = self._text[:end], bool(self._fence)
        sentence = Sentence(text, self._start, self._start + end, self._lead, fence, self._heading)
        opens_line = self._places[self._start].new_line
        self._heading = (heading_of(text) if opens_line and not fence else "") or self._heading
        fence_here = self._fence if self._kind is Line.FENCE else ""
        place = _Place(sentence.end, self._line == end, self._kind, self._lead, fence_here, self._heading)
        self._places[place.start] = place
        self._text = self._text[end:]
        self._restart(place)
        return sentence

    def _next_end(self, final: bool) -> int | None:
        """End of the present sentence, or None while later text can move it or the text ends first."""
        end = len(self._text)  # up to where no later text can make a candidate, so that a long sentence is searched once
        try:
            if not self._entered:
                self._enter(final)
            if self._kind is Line.FENCE:
                return self._fence_end()
            for match in _CANDIDATE.finditer(self._text, self._scan):
                if match.end() == end:
                    return None
                ends = self._ends(match, final)
                self._scan = match.end()
                if ends:
                    return self._scan
        except UndecidedError:
            return None
        while self._scan < end and _UNSETTLED.match(self._text, end - 1):
            end -= 1
        self._scan = end
        return None

    def _enter(self, final: bool) -> None:
        """Go to the sentence's first word and learn the kind of its line."""
        if not self._fence:
            start = len(self._text) - len(self._text.lstrip())
            if start == len(self._text):
                raise UndecidedError
            lines = line_starts(self._text, 0, start)
            line = lines[-1] if lines else self._line
            if lines or self._kind is None:
                self._kind = line_kind(self._text, max(line, 0), final)
            if not belongs_to(self._lead, self._kind, self._text[start:]):
                self._lead = ""
            self._line, self._scan = line, start
        self._entered = True

    def _fence_end(self) -> int | None:
        """End of the white space after the closing fence; a block that is never closed goes on to the end.

        None, too, for a block that is too long and will be cut.
        """
        fence = self._fence or opening_fence(self._text, self._scan)
        end = fence_end(self._text, self._scan, fence, inside=bool(self._fence) and self._line == 0)
        if end is None or end == len(self._text) or end > self._longest:
            return None
        self._line, self._kind = end, None
        return end

    def _ends(self, match: re.Match[str], final: bool) -> bool:
        """Whether the sentence ends at this candidate."""
        before, after = match.span("line" if match["line"] is not None else "gap")
        lines = line_starts(self._text, before, after)
        line, kind, ends = self._line, self._kind, False
        if lines:
            line = lines[-1]
            kind, ends = self._behind_break(lines, before, after, final)
        if not ends and match["line"] is None and self._kind is not Line.ALONE:
            ends = bool(match["wide"]) or is_full_stop(
                self._text[: match.end("stop")], match["closers"], word_at(self._text, after, final)
            )
        self._line, self._kind = line, kind
        return ends

    def _behind_break(self, lines: list[int], before: int, after: int, final: bool) -> tuple[Line | None, bool]:
        """The kind of the line at the end of `lines`, None if it is read later, and whether the breaks end the sentence."""
        if self._kind is Line.ALONE and len(lines) == 1 and goes_on_as_table(self._text[:before], self._text[after:], final):
            head = self._text[:before].strip()
            self._lead = head if line_starts(head, 0, len(head)) else self._lead
            return Line.ALONE, False
        if self._goes_on(self._text[:before], lines[-1], final):
            return Line.PLAIN, False
        leads = is_lead(self._text[max(self._line, 0) : before])
        if leads or len(lines) == 1:
            kind = line_kind(self._text, lines[-1], final)
            if leads and kind is Line.ITEM:
                self._lead = self._text[:before].strip()
                return kind, False
        if len(lines) == 1:
            line = self._text[self._line : before] if self._line >= 0 else None
            word = word_at(self._text, after, final) if kind is Line.PLAIN else ""
            if not break_ends(self._kind, line, kind, self._text[lines[-1] : after], word):
                return self._kind, False
        return None, True

    def _goes_on(self, text: str, line: int, final: bool) -> bool:
        """Whether a clause without its object goes on behind its line: "The baths are managed by\n\nMr Brandt."."""
        asks = self._kind is Line.PLAIN and not is_finished(text) and is_unfinished(text)
        return asks and line_kind(self._text, line, final) is Line.PLAIN
