"""The released text, rendered as it grows: a piece adds its own words, and hides, strikes and moves no others."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tests.growth import grows_with
from tests.tables import tabled

from groundrail import Guard, Policy, Verdict
from groundrail.errors import UncheckableError
from groundrail.evaluation.run import read_claims
from groundrail.scoring.base import ScorerMetadata
from groundrail.testing import FakeEntailment
from groundrail.text.claims import Refused, read_claim
from groundrail.text.form import SourceText
from groundrail.text.rendering.rendered import LONGEST_BLOCK, RenderedAnswer, render, words
from groundrail.text.rendering.visible import visible
from groundrail.text.sentences import split
from groundrail.types import as_documents

ROOT = Path(__file__).parents[4]
SOURCE = "Cash is accepted. Pets are allowed."
BELIEVING = Guard(scorer="scale", judge=FakeEntailment(lambda premise, claim: 1.0))
LINE = "a line of a program that the source holds\n"

CHANGED = [
    "~~~ by `nobody`\nCash is accepted.\n~~~\n",
    "[cash]: /u 'it is\nfalse that'\nCash is accepted.",
    "[cash]: /u '" + "it is false " * 60 + "'\nCash is accepted.",
    "- [x]: /u 'it is false that'\n  cash is accepted.",
    "[a\\]]: /u 'it is false that'\ncash is accepted.",
    "[//]: # (not)",
    "Cash is accepted^[not].",
    "Cash is %%" + "not " * 200 + "%% accepted.",
    "Cash is %%not\never%% accepted.",
    "Cash is /*" + "not " * 200 + "*/ accepted.",
    "Cash is {#not\never#} accepted.",
    "Cash is {% not ever.",
    "Cash is {--" + "not " * 200 + "--} accepted.",
    "Cash is ||not\never|| accepted.",
    "Cash is [s]" + "not " * 200 + "accepted[/s].",
    "Cash is ~not~ accepted.",
    "    ```\nCash is ~~not~~ accepted.\n    ```",
    "> Cash is\n> ~not~ accepted.",
    "| Cash | Pets |\n|---|---|\n| ` | Cash is ~not~ accepted. | ` |",
    "```\n&#110;ot\n```\nCash is accepted. \n\n    &#110;ot\n",
]
"""Rendered, each shows other words than it has; a judge that believes everything would let them out."""


@pytest.mark.parametrize("answer", CHANGED)
def test_an_answer_that_is_rendered_with_other_words_is_not_released(answer: str) -> None:
    for checked in BELIEVING.check(answer, SOURCE).sentences:
        if any(hidden in checked.text for hidden in ("not", "false", "nobody", "Cash is {%", "```")):
            assert checked.verdict is Verdict.UNSUPPORTED
            assert checked.reason
            assert not checked.released


@tabled("released, piece")
def test_a_piece_that_changes_the_words_before_it_or_is_changed_by_them_is_refused(released: str, piece: str) -> None:
    answer = RenderedAnswer()
    answer.add(released)
    with pytest.raises(UncheckableError):
        answer.refuse_difference(piece)


def test_only_released_text_counts() -> None:
    answer = "<!-- Cash is accepted.\n\nPets are allowed."
    assert BELIEVING.check(answer, SOURCE).text == "Pets are allowed."
    flagged = BELIEVING.with_policy(Policy(fallback="flag")).check(answer, SOURCE)
    assert [checked.verdict for checked in flagged.sentences] == [Verdict.UNSUPPORTED, Verdict.UNSUPPORTED]


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
@pytest.mark.parametrize("closed", [True, False])
def test_a_block_of_code_whose_end_is_not_seen_is_refused(fence: str, closed: bool) -> None:
    block = f"{fence}\n{LINE * 200}" + (f"{fence}\n" if closed else "")
    behind = f"Cash is ~not~ accepted.\n\n{fence}\nPets are allowed.\n{fence}\n" if closed else ""
    answer = f"Cash is accepted.\n\n{block}\n{behind}"
    sentences = BELIEVING.check(answer, answer).sentences
    parts = [checked for checked in sentences if "program" in checked.text]
    assert len(parts) > 3
    assert {checked.reason for checked in parts} == {
        "a code block is longer than a sentence may be, so that its end is not seen"
    }
    kept = f"{fence}\nPets are allowed.\n{fence}\n" if closed else ""
    assert "".join(checked.released_text for checked in sentences) == f"Cash is accepted.\n\n{kept}"
    refused = [isinstance(claim, Refused) for claim in read_claims(answer, SourceText(()), ScorerMetadata("none"))]
    assert sum(refused) >= len(parts)


def ordinary() -> Iterator[str]:
    """Answers, documents and claims of the repository, and its own pages."""
    for path in [*ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/*.txt"), ROOT / "README.md"]:
        yield path.read_text(encoding="utf-8")
    for path in [*ROOT.glob("benchmarks/*/*.jsonl")]:
        for row in path.read_text(encoding="utf-8").splitlines():
            yield from _strings(json.loads(row))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 10])
def test_ordinary_text_is_not_refused(every: int) -> None:
    read = 0
    for text in [*dict.fromkeys(ordinary())][::every]:
        source, answer, previous = SourceText(as_documents(text)), RenderedAnswer(), ""
        for sentence in split(text):
            claim = read_claim(sentence.text, previous, "", source, lead=sentence.lead)
            previous = sentence.text
            if not isinstance(claim, Refused):
                answer.refuse_difference(sentence.text)
                answer.add(sentence.text)
                read += 1
    assert read > 5000 / every


@tabled("answer")
def test_ordinary_markup_keeps_its_words_in_any_pieces(answer: str) -> None:
    growing = RenderedAnswer()
    for sentence in split(answer):
        growing.refuse_difference(sentence.text)
        growing.add(sentence.text)


_FRAGMENTS = [
    *"alpha beta gamma delta `code` ``x`y`` **bold** *em* __b__ ~s~ ~~s~~ [l](/u) [r] [r]: /u <b>b</b> <!-- c -->".split(),
    *"&amp; &#65; \\* | |- - 1. 2) > # ``` ~~~ ```py <div> </div> ![i](/u) \\ ` ~ * _ [ ] <".split(),
    *("alpha.\n", "beta\n", " ", " ", " ", ". ", ". ", "\n", "\n", "\n\n", "\n\n", "    ", "  ", "\t"),
    *("\n- ", "\n  - ", "\n> ", "\n|---|\n", "| a | b |\n", "\n|---|---|\n"),
]


def test_rendering_the_last_block_is_rendering_the_whole() -> None:
    """Decided by the last block alone, a piece is refused exactly if rendering everything from the beginning refuses it."""
    rng = random.Random(33)
    refused = taken = 0
    for _ in range(150):
        text = "".join(rng.choice(_FRAGMENTS) for _ in range(rng.randint(5, 60)))
        growing, whole = RenderedAnswer(), ""
        for sentence in split(text, 80):
            try:
                plain = words(visible(sentence.text))
            except UncheckableError:
                continue
            same = all(
                words(render(whole + sentence.text, {}, columns).text) == words(render(whole, {}, columns).text) + plain
                for columns in (True, False)
            )
            try:
                growing.refuse_difference(sentence.text)
            except UncheckableError:
                assert not same, (whole, sentence.text)
                refused += 1
            else:
                assert same, (whole, sentence.text)
                growing.add(sentence.text)
                whole += sentence.text
                taken += 1
    assert min(refused, taken) > 50


def test_text_without_markup_is_shown_as_it_is() -> None:
    """The renderer is not asked about it; it would say the same."""
    rng, markdown = random.Random(5), MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parts = [
        "alpha ", "1. ", "- ", "> ", "# ", "#", "\n", "\n\n", "    ", "\t", "beta. ", "=\n", "---\n", ":-\n", "!",
        "]", "(", '"', "{", "$",
    ]  # fmt: skip
    for _ in range(1000):
        text = "".join(rng.choice(parts) for _ in range(rng.randint(1, 30)))
        shown = "".join(
            (token.info if token.type == "list_item_open" else token.content)
            for token in markdown.parse(text)
            if token.type in ("inline", "code_block", "list_item_open")
        )
        assert words(render(text, {}).text) == words(shown), text


def test_a_block_without_end_is_refused() -> None:
    answer, piece = RenderedAnswer(), "> *alpha* beta gamma.\n" * 40
    for _ in range(LONGEST_BLOCK // len(piece)):
        answer.refuse_difference(piece)
        answer.add(piece)
    with pytest.raises(UncheckableError, match="longer than"):
        answer.refuse_difference(piece)
    answer.add("> " * LONGEST_BLOCK)
    with pytest.raises(UncheckableError, match="longer than"):
        answer.refuse_difference("*alpha*")


@pytest.mark.parametrize(
    "piece", ["The *rent* is due.\n\n", "- *a* b\n", "1. *a* b\n", "| *a* | b |\n", "Plain words.\n"]
)  # fmt: skip
def test_time_grows_with_the_text(piece: str) -> None:
    def add(times: int) -> None:
        answer = RenderedAnswer()
        answer.add("| a | b |\n|---|---|\n" if piece[0] == "|" else "")
        for _ in range(times):
            answer.add(piece)

    assert grows_with(100, add)
