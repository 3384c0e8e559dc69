"""Wrong marks, quotations and speakers are struck out in every view, with what stands in their place."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from groundrail import Guard, Policy
from groundrail.report import telling
from groundrail.report.terminal import print_sentence
from groundrail.scoring.nearest import NearestScorer
from groundrail.testing import FakeEntailment
from groundrail.types import CheckedSentence, GuardResult

SOURCE = ["The rent is 950 euros a month.", "Pets are allowed in the flat. Ms Keller says that cash is fine."]


def check(answer: str, **policy: Any) -> GuardResult:
    def judge(premise: str, claim: str) -> float:
        said = claim.rpartition(", ")[2]
        return float(set(re.findall(r"\w+", said.lower())) <= set(re.findall(r"\w+", premise.lower())))

    guard = Guard(scorer=NearestScorer(FakeEntailment(judge), rivals=0, invented=0), policy=Policy(**policy))
    return guard.check(answer, SOURCE)


@pytest.mark.parametrize(
    ("answer", "was", "now"),
    [
        ("Pets are allowed in the flat [1].", "[1]", "[2]"),
        ("The lease says “pets are banned in the flat”.", "pets are banned in the flat", "pets are allowed in the flat"),
        ("According to Mr Olsen, the rent is 950 euros a month.", "Mr Olsen", ""),
        ("The lease says “elephants may never fly over Paris”.", "elephants may never fly over Paris", ""),
    ],
)
def test_what_is_wrong_is_struck_out(answer: str, was: str, now: str) -> None:
    result = check(answer)
    (sentence,) = result.sentences
    assert [(each.text, each.now.lower()) for each in telling.pieces(sentence) if each.is_wrong] == [(was, now)]
    page = result.to_html(SOURCE)
    exchange = f'<ins class="swap">{now}</ins>' if now else ""
    assert f'<del class="slip">{was}</del>{exchange}'.lower() in page.lower()
    assert (f"{was} → {now}" if now else was).lower() in printed(sentence).lower()


@pytest.mark.parametrize("answer", ["Pets are allowed in the flat [2].", "The king owns it [2].", "Pets are banned."])
def test_other_sentences_stay_whole(answer: str) -> None:
    (sentence,) = check(answer).sentences
    assert telling.pieces(sentence) == [telling.Piece(answer)]


def test_the_pieces_are_the_sentence() -> None:
    result = check("Pets are allowed in the flat [1], and the rent is 950 euros a month [2].  ")
    (sentence,) = result.sentences
    found = telling.pieces(sentence)
    assert "".join(each.text for each in found) == sentence.text.rstrip()
    assert [each.now for each in found if each.is_wrong] == ["[2]", "[1]"]


@pytest.mark.parametrize("columns", [20, 80])
def test_a_terminal_shows_them_in_its_width(columns: int) -> None:
    (sentence,) = check("Pets are allowed in the flat [1], and the rent is 950 euros a month [2].").sentences
    assert all(len(line) <= columns for line in printed(sentence, columns).splitlines())


def test_a_corrected_mark_is_shown_as_exchanged() -> None:
    (sentence,) = check("Pets are allowed in the flat [1].", marks="correct").sentences
    assert sentence.released_text == "Pets are allowed in the flat [2]."
    assert [(each.text, each.now) for each in telling.pieces(sentence) if each.is_wrong] == [("[1]", "[2]")]


def printed(sentence: CheckedSentence, columns: int = 200) -> str:
    console = Console(file=io.StringIO(), width=columns)
    print_sentence(sentence, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
