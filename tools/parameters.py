"""For the documentation: what a docstring says of each parameter, `name: what it is`, as a list.

A griffe extension; mkdocs.yml names it.
"""

import re
from typing import Any

import griffe

_PARAMETER = re.compile(r"^(\w+(?:, \w+)*): (?=\S)", re.MULTILINE)
_FIRST = re.compile(r"(?<!\n)\n(?=- \*\*)")


class Parameters(griffe.Extension):
    """Rewrites docstrings before they are rendered; prose that ends in a colon is left alone."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is None:
            return
        first, gap, rest = obj.docstring.value.partition("\n\n")
        listed = _PARAMETER.sub(r"- **\1**: ", rest)
        obj.docstring.value = first + gap + _FIRST.sub("\n\n", listed).replace("Raises:", "\n\nRaises:")
