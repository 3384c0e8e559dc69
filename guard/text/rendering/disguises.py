"""Parts of a text that some readers read otherwise: other markups, stray marks, letters and digits in disguise.

`groundrail.text.form` accepts a part that the source writes in the same way. Markdown and HTML have one reading and belong
to `groundrail.text.rendering.visible`.
"""

import re
import unicodedata
from collections.abc import Iterator

_MARKUP = re.compile(
    r"\\[A-Za-z]+"  # LaTeX, and escapes of programs
    r"|%%.*?(?:%%|\Z)|/\*(?:(?!/\*).)*?\*/|(?<![^\s(])/\*.*|\{[#%*{].*?(?:[#%*}]\}|\Z)"  # comments and templates
    r"|\{(?:--|\+\+|>>|==).*?(?:--\}|\+\+\}|<<\}|==\}|\Z)"  # CriticMarkup
    r"|\{(?P<change>[+-])[^{}]+(?P=change)\}|\[(?P<diff>[+-])[^\[\]]+(?P=diff)\]"  # changes in GitLab
    r"|(?<![\w:]):[a-z0-9_+-]{1,40}:(?![\w:])"  # pictures by name, as :x:
    r"|\^\[[^\]]*"  # footnotes within a line
    r"|\|\|[^|]+\|\||(?<!\S)>!.*|>![^!]+!<"  # spoilers
    r"|\[\[[^\[\]]+\]\]|\[/?[a-z]{1,10}(?:=[^\[\]]*)?\](?=[^\[]*\[/)|\[/[a-z]{1,10}\]"
    r"|\]\{[^{}]*\}|\{[:.=#][^{}]+\}|\[\.[\w.-]{1,50}\]\#"  # attributes
    r"|(?<![\w+-])(?P<side>[+-])(?=[A-Za-z])[\w ',.]+(?<=[A-Za-z])(?P=side)(?![\w+-])",  # struck in Textile and Org
    re.DOTALL,
)
"""Markup that ends in another sentence, or never, reaches to the end: it hides what follows."""

_NUMBERS = re.compile(
    r"(?<![\w.,])(?:[A-Za-z]+\d+[A-Za-z]\w*|\d[\d.,]*[OoI](?![A-Za-z])|[lIO][.,]?\d[\d.,]*)"  # n0t, 1,45O, l,450
    r"|(?<![\w)\]⁺⁻])[⁺⁻²³¹⁰⁴-⁹₀-₉]+|\d[₀-₉]+"  # raised and lowered digits in a number's place
    r"|\d[^\w\s!-~’·×÷±−≈≤≥‐-—⁄…→°€£′″](?=\d)"  # separators that no one writes
)


def disguises(text: str) -> Iterator[str]:
    """The parts, each as it is written."""
    yield from (match[0] for match in _MARKUP.finditer(text))
    yield from (match[0] for match in _NUMBERS.finditer(text))
    yield from _marked(text)


def _marked(text: str) -> Iterator[str]:
    """Latin letters and plain characters with marks that no single character has: judges drop such marks."""
    before = " "
    for letter in text:
        if unicodedata.category(letter) not in ("Mn", "Me"):
            before = letter
        elif before <= "\u024f" or "\u1e00" <= before <= "\u1eff":
            yield before + letter
