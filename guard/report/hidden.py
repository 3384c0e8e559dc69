"""Characters that nobody sees: a view shows that they are there instead of letting them act.

Which of them change what a sentence says is the judge's business; here they only must not turn the writing
direction, move a cursor or hide in a page.
"""

import re

from markupsafe import Markup, escape

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls but tab and newline, direction marks, invisible spaces, tag characters, halves of surrogate pairs."""


def plain(text: str) -> str:
    """Text for a terminal, every hidden character as U+FFFD; lines end in newlines."""
    return HIDDEN.sub("\N{REPLACEMENT CHARACTER}", _lines(text))


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
