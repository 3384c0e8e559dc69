"""A differential fuzz: the words that a judge read of an answer are the words that every reader shows of what is released."""

import html
import random
import re
from collections.abc import Callable, Sequence

import pytest
from attacks import Believing
from markdown_it import MarkdownIt
from markdown_it.token import Token

from groundrail import Guard
from groundrail.entailment.builtin import kinds
from groundrail.testing import FakeEntailment
from groundrail.text.claims import claim_of

TEXTS = 20_000
_WORDS = "alpha bravo delta gamma hotel india kilo lima".split()
_KNOWN = re.compile("|".join(_WORDS))
_PARTS = [
    *(f"{word} " for word in _WORDS),
    *(f"{word.capitalize()} is {other}. " for word, other in zip(_WORDS, reversed(_WORDS), strict=True)),
    *"` `` ``` ~ ~~ ~~~ * ** _ [ ] ](/u) <!-- --> <b> </b> <del> </div> <div> \\ & &amp; | > # ! ^[".split(),
    *(
        "\n",
        "\n",
        "\n\n",
        "\n\n",
        "    ",
        "  ",
        "\t",
        "\n- ",
        "\n1. ",
        "\n> ",
        "\n|---|\n",
        "\n| ",
        " |\n",
        "\n```\n",
        "\n~~~ ",
    ),
    *(
        "&#97;lpha ",
        "[x]: /u 'kilo'\n",
        "[x]: /u 'kilo\nlima'\n",
        "~~~ `kilo`\n",
        "\n<div>",
        "\n</p>\n",
        "<b>\n",
        "\n<span>\n",
    ),
    *("\n<!-- -->", "[kilo]: /u\n", "\n\n[lima]: /u (kilo\n lima)\n"),
]


def shown(tokens: Sequence[Token], *, blocks: bool = True) -> str:
    """The text of tokens, less what is struck through and what HTML takes away.

    blocks: whether a block of HTML shows its text; chat windows that skip HTML leave it out.
    """
    text, struck = "", 0
    for token in tokens:
        if token.type in ("s_open", "s_close"):
            struck += token.nesting
        elif token.children:
            text += shown(token.children)
        elif token.type == "html_block" and not blocks:
            continue
        elif token.type in ("html_block", "html_inline"):
            text += html.unescape(re.sub(r"<!--.*?(?:-->|\Z)|<[^>]*>", " ", token.content, flags=re.DOTALL))
        elif token.type in ("softbreak", "hardbreak") or token.content:
            text += "" if struck else token.content or " "
    return text


_RICH = MarkdownIt("commonmark").enable(["table", "strikethrough"])
READERS: dict[str, Callable[[str], str]] = {
    "tables and strikes": lambda text: shown(_RICH.parse(text)),
    "without blocks of HTML": lambda text: shown(_RICH.parse(text), blocks=False),
    "HTML as text": lambda text: shown(MarkdownIt("js-default").parse(text)),
    "plain CommonMark": lambda text: shown(MarkdownIt("commonmark").parse(text)),
}


@pytest.mark.parametrize("texts", [5_000, pytest.param(TEXTS, marks=pytest.mark.slow)])
def test_the_judge_reads_the_words_that_every_reader_shows(texts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        kinds, "head", lambda: FakeEntailment(lambda premise, claim: 1.0)
    )  # to it all are claims; the head itself takes 20 ms a text
    rng = random.Random(texts)
    read: dict[str, str] = {}

    def noted(sentence: str, previous: str, prompt: str) -> str | None:
        claim = claim_of(sentence, previous, prompt)
        read[sentence] = claim or ""
        return claim

    guard, released = Guard(scorer=Believing(), claim_of=noted), 0
    for _ in range(texts):
        text = "".join(rng.choice(_PARTS) for _ in range(rng.randint(3, 14)))
        result = guard.check(text, "Alpha.")
        # a row is read behind its head, which says the same words in another order
        judged = [read.get(sentence.text, sentence.text) for sentence in result.sentences if sentence.released]
        words = _KNOWN.findall(" ".join(judged).lower())
        for name, reader in READERS.items():
            assert _KNOWN.findall(reader(result.text).lower()) == words, (name, text, result.text)
        released += bool(words)
    assert released > texts / 5
