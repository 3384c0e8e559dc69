"""The parts of a Markdown or HTML source that its reader does not see, or sees struck: comments, hidden elements, deletions.

They support nothing. Code shows its text, comments included. A hidden element that does not end hides nothing.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from groundrail.sources.styles import hides

NOTE = "a source has comments, hidden elements or struck text; they support nothing, because its reader does not read them"

_PART = re.compile(
    r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n]*\n(?s:.*?)(?:^[ ]{0,3}(?P=fence)|\Z)"  # a block of code
    r"|(?P<ticks>`+)[^`\n]+(?P=ticks)"  # code in a line
    r"|(?P<whole><!--(?s:.*?)(?:-->|\Z)|(?<!~)~~(?=[^\s~])(?:(?!~~|\n\s*\n)(?s:.))*(?<=[^\s~])~~(?!~))"  # a comment, a strike
    r"|<(?P<end>/?)(?P<tag>[A-Za-z][A-Za-z0-9-]*)(?P<attributes>(?:\s[^<>]*)?)>",
    re.MULTILINE,
)
_NEVER_READ = frozenset({"head", "script", "style", "template", "noscript", "del", "s", "strike"})
_LETTER = re.compile(r"[^\n\r]")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_HIDDEN = re.compile(r"\shidden(?=[\s=/]|$)", re.IGNORECASE)
_STYLE = re.compile(r"\sstyle\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|(\S+))", re.IGNORECASE)


class Part(NamedTuple):
    """`text[start:end]`."""

    start: int
    end: int


def without_hidden(text: str) -> str:
    """A text with blanks in the place of each part that its reader does not read, so that other parts keep their places.

    >>> without_hidden("The rent is ~~900~~ 950 euros.")
    'The rent is         950 euros.'
    """
    shown, place = list[str](), 0
    for part in hidden_parts(text) if "<" in text or "~~" in text else ():
        shown += [text[place : part.start], _LETTER.sub(" ", text[part.start : part.end])]
        place = part.end
    return "".join([*shown, text[place:]]) if shown else text


def hidden_parts(text: str) -> Iterator[Part]:
    """The parts of a text that a reader does not read, in order.

    >>> list(hidden_parts("The rent is due. <!-- It is 900 euros. -->"))
    [Part(start=17, end=42)]
    """
    opened: re.Match[str] | None = None
    depth = 0
    waiting: list[Part] = []  # comments and strikes in an open element, which may not end
    for part in _PART.finditer(text):
        if part["whole"]:
            waiting.append(Part(part.start(), part.end()))
        elif opened is not None and part["tag"] and part["tag"].lower() == opened["tag"].lower():
            depth += -1 if part["end"] else 1
            if depth == 0:
                yield from (comment for comment in waiting if comment.end <= opened.start())
                yield Part(opened.start(), part.end())
                opened, waiting = None, []
        elif opened is None and part["tag"] and not part["end"] and _is_hidden(part["tag"], part["attributes"]):
            opened, depth = part, 1
    yield from waiting


def _is_hidden(tag: str, attributes: str) -> bool:
    style = _STYLE.search(attributes)
    return (
        tag.lower() in _NEVER_READ
        or _HIDDEN.search(_QUOTED.sub("", attributes)) is not None
        or (style is not None and hides("".join(filter(None, style.groups()))))
    )
