"""Invisible characters: a view shows that they are there and disables their effect.

In a view they must not change the writing direction, move a cursor or stay unseen.
"""

import json
import re

from markupsafe import Markup, escape

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
"""Hidden characters: controls except tab and newline, direction marks, invisible spaces, tag characters, halves of
surrogate pairs, and controls of hieroglyphs, shorthand and musical notes."""

JOINERS = re.compile("[\u200c\u200d]")
"""Joiners, which Persian, Indic scripts and emoji need: a page keeps them, a terminal leaves them out."""


def plain(text: str) -> str:
    """Prepare text for a terminal: hidden characters become U+FFFD, joiners are left out, lines end in newlines."""
    return HIDDEN.sub("\N{REPLACEMENT CHARACTER}", JOINERS.sub("", _lines(text)))


def in_json(written: str) -> str:
    """Replace each character of a JSON text that is not printable by its escape; the value stays the same."""
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in written)


def marked_up(text: str) -> Markup:
    """Prepare text for a page: escape it and show hidden characters by their code points."""
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
