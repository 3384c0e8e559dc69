"""Read Markdown: rows of tables with the names of their columns, items of lists with the heading or sentence above.

Paragraphs stay prose. A text with HTML other than comments and line breaks is not read by its Markdown, because
HTML can hide what stands between two tags.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.token import Token

from groundrail.sources.premise import Premise, Region, row
from groundrail.text.sentences import split
from groundrail.types import Span

_HARMLESS = re.compile(r"\s*+(?:<!--(?:(?!-->).)*+-->\s*+)++|<br\s*/?>", re.DOTALL | re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:[-+*]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_WORDS = frozenset({"text", "code_inline", "text_special"})
_MARKS = frozenset({"em_open", "em_close", "strong_open", "strong_close", "link_open", "link_close"})
_LONGEST_TOPIC = 120
_DEEPEST = 18


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def read_markdown(text: str) -> list[Region]:
    """The tables and lists of a text, in order."""
    if "\r" in text.replace("\r\n", "") or "\x00" in text:
        return []
    tokens = _parser().parse(text)
    if any(token.level >= _DEEPEST for token in tokens):  # markdown-it leaves out what is nested deeper than 20
        return []
    if any(_is_html(part) for token in tokens for part in (token, *(token.children or ()))):
        return []
    return list(_Reading(text, tokens).regions())


def _is_html(token: Token) -> bool:
    return token.type in ("html_block", "html_inline") and not _HARMLESS.fullmatch(token.content)


class _Reading:
    """One pass over the blocks in order, which remembers the heading and the sentence above the present block."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(min(self._lines[-1] + len(line) + 1, len(text)))

    def regions(self) -> Iterator[Region]:
        """The tables and lists that are not inside a quotation or another block."""
        heading = lead = ""
        for place, token in enumerate(self._tokens):
            if token.level == 0 and token.type == "heading_open":
                heading, lead = seen(self._tokens[place + 1]), ""
            elif token.level == 0 and token.type == "paragraph_open":
                words = seen(self._tokens[place + 1])
                lead = words if words.endswith(":") and len(words) <= _LONGEST_TOPIC else ""
            elif token.level == 0 and token.type == "table_open":
                yield from self._region(token, tuple(self._rows(place, heading)))
                lead = ""
            elif token.level == 0 and token.type in ("bullet_list_open", "ordered_list_open"):
                topic = lead or heading
                if topic and not topic.endswith((".", "!")):
                    yield from self._region(token, tuple(self._items(place, topic)))
                lead = ""

    def _region(self, token: Token, premises: tuple[Premise, ...]) -> Iterator[Region]:
        if premises:
            yield Region(*self._span(token), premises)

    def _span(self, token: Token) -> tuple[int, int]:
        first, last = token.map or (0, 0)
        return self._lines[first], self._lines[last]

    def _rows(self, place: int, heading: str) -> Iterator[Premise]:
        """A premise for each row of the table whose first token is at `place`."""
        rows: list[tuple[Token, list[str]]] = []
        for token in self._block(place):
            if token.type == "tr_open":
                rows.append((token, []))
            elif token.type == "inline":
                rows[-1][1].append(seen(token))
        (_, columns), *others = rows
        for opened, cells in others:
            start, end = Span.trimmed(self._text, *self._span(opened))
            yield from (Premise(start, end, said) for said in row(heading, columns, cells))

    def _items(self, place: int, topic: str) -> Iterator[Premise]:
        """The sentences of the items of a list and of nested lists, each behind the topic."""
        read = 0
        for token in self._block(place):
            start, end = self._span(token)
            if token.type in ("inline", "fence", "code_block") and start >= read:
                bullet = _BULLET.match(self._text, start, end)
                start, read = bullet.end() if bullet else start, end
                yield from self._behind(topic.rstrip(":"), token, start, end)

    def _block(self, place: int) -> Iterator[Token]:
        """The tokens of the block that opens at `place`."""
        opened = self._tokens[place]
        yield opened
        yield from takewhile(lambda token: token.level > opened.level, self._tokens[place + 1 :])

    def _behind(self, topic: str, token: Token, start: int, end: int) -> Iterator[Premise]:
        """The sentences of an item; if the item has markup, its visible words, and the whole item is cited."""
        if any(part.type not in ("text", "softbreak") for part in token.children or ()):
            yield from (Premise(start, end, f"{topic}: {part.text.strip()}") for part in split(seen(token)))
            return
        for part in split(self._text[start:end]):
            first, last = Span.trimmed(self._text, start + part.start, start + part.end)
            if first < last:
                yield Premise(first, last, f"{topic}: {self._text[first:last]}")


def seen(token: Token) -> str:
    """The words of a line that a reader sees, without markup and comments."""
    parts = [part.content if part.type in _WORDS else " " for part in token.children or () if part.type not in _MARKS]
    return " ".join("".join(parts).split())
