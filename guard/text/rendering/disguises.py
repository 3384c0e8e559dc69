"""Parts of a text that some readers read otherwise: other markups, stray marks, letters and digits in disguise.

`groundrail.text.form` accepts a part that the source writes in the same way. Markdown and HTML have one reading and belong
to `groundrail.text.rendering.visible`.
"""

import re
import unicodedata
from collections.abc import Iterator

_MARKUP = re.compile(
    r"\\[A-Za-z]+"  # LaTeX, and escapes of programs
    r"|%%[^%\n]{1,500}%%|/\*.{0,500}?\*/|\{[#%*{][^{}\n]{0,500}[#%*}]\}"  # comments and templates
    r"|\{(?:--|\+\+|>>|==).{0,500}?(?:--|\+\+|<<|==)\}"  # CriticMarkup
    r"|\{(?P<change>[+-])[^{}\n]{1,500}(?P=change)\}|\[(?P<diff>[+-])[^\[\]\n]{1,500}(?P=diff)\]"  # changes in GitLab
    r"|(?<![\w:]):[a-z0-9_+-]{1,40}:(?![\w:])"  # pictures by name, as :x:
    r"|\|\|[^|\n]{1,500}\|\||>![^!\n]{1,500}!<"  # spoilers
    r"|\[\[[^\[\]\n]{1,500}\]\]|\[/?[a-z]{1,10}(?:=[^\[\]\n]{0,100})?\](?=[^\[\n]{0,500}\[/)|\[/[a-z]{1,10}\]"
    r"|\]\{[^{}\n]{0,200}\}|\{[:.=#][^{}\n]{1,200}\}|\[\.[\w.-]{1,50}\]\#"  # attributes
    r"|(?<![\w+-])(?P<side>[+-])(?=[A-Za-z])[\w ',.]{1,80}(?<=[A-Za-z])(?P=side)(?![\w+-])",  # struck in Textile and Org
    re.DOTALL,
)
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
