"""The parts of a Markdown or HTML source that its reader does not see: comments and hidden elements.

They support nothing. Code shows its text, comments included. A hidden element that does not end hides nothing.
"""

import re
from collections.abc import Iterator

from groundrail.sources.premise import Region
from groundrail.sources.styles import hides

NOTE = "a source has comments or hidden elements; they support nothing, because its reader does not see them"

_PART = re.compile(
    r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n]*\n(?s:.*?)(?:^[ ]{0,3}(?P=fence)|\Z)"  # a block of code
    r"|(?P<ticks>`+)[^`\n]+(?P=ticks)"  # code in a line
    r"|(?P<comment><!--(?s:.*?)(?:-->|\Z))"
    r"|<(?P<end>/?)(?P<tag>[A-Za-z][A-Za-z0-9-]*)(?P<attributes>(?:\s[^<>]*)?)>",
    re.MULTILINE,
)
_NEVER_SHOWN = frozenset({"head", "script", "style", "template", "noscript"})
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_HIDDEN = re.compile(r"\shidden(?=[\s=/]|$)", re.IGNORECASE)
_STYLE = re.compile(r"\sstyle\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|(\S+))", re.IGNORECASE)


def hidden_parts(text: str) -> Iterator[Region]:
    """The parts of a text that a reader does not see, in order, each a region without a premise.

    >>> [(part.start, part.end) for part in hidden_parts("The rent is due. <!-- It is 900 euros. -->")]
    [(17, 42)]
    """
    opened: re.Match[str] | None = None
    depth = 0
    waiting: list[Region] = []  # comments in an open element, which may not end
    for part in _PART.finditer(text):
        if part["comment"]:
            waiting.append(Region(part.start(), part.end(), ()))
        elif opened is not None and part["tag"] and part["tag"].lower() == opened["tag"].lower():
            depth += -1 if part["end"] else 1
            if depth == 0:
                yield from (comment for comment in waiting if comment.end <= opened.start())
                yield Region(opened.start(), part.end(), ())
                opened, waiting = None, []
        elif opened is None and part["tag"] and not part["end"] and _is_hidden(part["tag"], part["attributes"]):
            opened, depth = part, 1
    yield from waiting


def _is_hidden(tag: str, attributes: str) -> bool:
    style = _STYLE.search(attributes)
    return (
        tag.lower() in _NEVER_SHOWN
        or _HIDDEN.search(_QUOTED.sub("", attributes)) is not None
        or (style is not None and hides("".join(filter(None, style.groups()))))
    )
