"""Characters that nobody sees: a view shows that they are there instead of letting them act.

A view must not let them turn the writing direction, move a cursor or hide in a page. The judge decides whether they
change a sentence.
"""

import json
import re

from markupsafe import Markup, escape

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
"""Controls but tab and newline, direction marks, invisible spaces, tag characters, halves of surrogate pairs, controls
of hieroglyphs, shorthand and notes."""

JOINERS = re.compile("[\u200c\u200d]")
"""They join or part the letters of Persian, of Indic scripts and of emoji: honest on a page, of no use in a terminal."""


def plain(text: str) -> str:
    """Text for a terminal, every hidden character as U+FFFD, joiners left out; lines end in newlines."""
    return HIDDEN.sub("\N{REPLACEMENT CHARACTER}", JOINERS.sub("", _lines(text)))


def in_json(written: str) -> str:
    """JSON that means the same, with an escape in place of everything that is not printed as itself."""
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in written)


def marked_up(text: str) -> Markup:
    """Text for a page: escaped, hidden characters by their code point."""
    pieces: list[Markup | str] = []
    position = 0
    text = _lines(text)
    for match in HIDDEN.finditer(text):
        code = f"U+{ord(match[0]):04X}"
        pieces += [
            escape(text[position : match.start()]),
            Markup('<span class="hidden" title="a hidden character">{}</span>').format(code),
        ]
        position = match.end()
    return Markup("").join([*pieces, escape(text[position:])])


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
