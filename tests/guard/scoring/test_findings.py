"""Details that the source does not state, and figures that follow from the source."""

import random
import re
from collections.abc import Sequence
from fractions import Fraction

import pytest
from tests.tables import tabled

from groundrail import Document, Guard, Policy
from groundrail.scoring.findings import derived, findings
from groundrail.scoring.nearest import NearestScorer
from groundrail.serve.details import of_sentence
from groundrail.testing import FakeEntailment
from groundrail.types import Citation, Detail, Finding

TEXT = "Before. The rent of 1,450 euros is due on 3 May."
PLACE = Citation(document_id="lease", start=8, end=len(TEXT), text=TEXT[8:], score=0.9)


@pytest.mark.parametrize(
    ("sentence", "kind", "said", "given"),
    [
        ("The rent is due on 5 May.", "date", "5 May", "3 May"),
        ("The rent is 1,540 euros.", "quantity", "1,540 euros", "1,450 euros"),
        ("The rent goes to Ms Okafor.", "name", "Okafor", None),
        ("It is due at 10:00.", "time", "10:00", None),
    ],
)
def test_a_detail_and_what_stands_in_its_place(sentence: str, kind: str, said: str, given: str | None) -> None:
    (found,) = findings(sentence, [PLACE])
    assert (found.kind, sentence[found.start : found.end]) == (kind, said)
    if given is None:
        assert found.given is None
    else:
        assert found.given is not None
        assert found.given.text == given
        assert TEXT[found.given.start : found.given.end] == given


@pytest.mark.parametrize("sentence", ["The rent is due on May 3rd.", "€1,450 are due.", "The rent is due soon."])
def test_what_the_place_gives_in_another_spelling_is_no_finding(sentence: str) -> None:
    assert findings(sentence, [PLACE]) == ()


@pytest.mark.parametrize(
    ("text", "sentence", "said"),
    [
        ("3.2 Rent is due monthly.", "16.1 Rent of 250 is due.", "250"),  # the number of a clause is no detail
        ("From 3 May to 9 May it is shut.", "It is shut on 5 May.", "5 May"),  # two candidates are none
    ],
)
def test_a_detail_without_a_single_counterpart_is_given_none(text: str, sentence: str, said: str) -> None:
    (found,) = findings(sentence, [Citation(document_id="d", start=0, end=len(text), text=text, score=0.5)])
    assert (sentence[found.start : found.end], found.given) == (said, None)


def test_without_a_place_nothing_is_compared() -> None:
    assert findings("It is shut on 5 May.", []) == ()


def test_a_figure_that_follows_roughly_from_the_place_is_no_finding() -> None:
    text = "The rent is 1,450 euros a month, and the notice period is 3 months."
    place = Citation(document_id="lease", start=0, end=len(text), text=text, score=0.9)
    assert findings("The rent of the notice period is some 4,352 euros.", [place]) == ()
    (found,) = findings("The rent of the notice period is 4,530 euros.", [place])
    assert found.kind == "quantity"
    assert found.derived is None


def read(*texts: str) -> tuple[list[Document], list[Detail]]:
    """Documents with some text before the sentence that was read, and these sentences."""
    documents = [Document(text=f"{'§ ' * number}{text}", id=str(number)) for number, text in enumerate(texts)]
    return documents, [
        Detail(document_id=str(number), start=2 * number, end=2 * number + len(text), text=text)
        for number, text in enumerate(texts)
    ]


def assert_shown_as_it_stands(found: Sequence[Finding], documents: Sequence[Document]) -> None:
    texts = {document.id: document.text for document in documents}
    for shown in (each.derived for each in found):
        assert shown is not None
        assert shown.operands
        for operand in shown.operands:
            assert texts[operand.document_id][operand.start : operand.end] == operand.text
            assert operand.text in shown.computation


def evaluated(words: str) -> Fraction:
    """The value of a computation of euros, months, tenants and per cent, read from its words alone."""
    bare = re.sub(r"(?<=\d),(?=\d{3})| euros| months", "", words)
    if share := re.fullmatch(r"(\S+) % of (\S+)", bare):
        return Fraction(share[1]) * Fraction(share[2]) / 100
    if share := re.fullmatch(r"(\S+) ([+-]) (\S+) %", bare):
        return Fraction(share[1]) * (100 + (1 if share[2] == "+" else -1) * Fraction(share[3])) / 100
    if change := re.fullmatch(r"\((\S+) - (\S+)\) / (\S+)", bare):
        return 100 * (Fraction(change[1]) - Fraction(change[2])) / Fraction(change[3])
    first, *rest = bare.split(" ")
    value = Fraction(first)
    for sign, other in zip(rest[::2], map(Fraction, rest[1::2]), strict=True):
        value = {"+": value + other, "-": value - other, "x": value * other, "/": value / other}[sign]
    return value


def test_a_reckoning_evaluates_to_its_figure_and_its_operands_stand_in_the_source() -> None:
    draw, signs = random.Random(34), set()
    for _ in range(300):
        rent, more, months, tenants, share = (draw.randint(*of) for of in [(200, 4000), (20, 900), (2, 9), (2, 5), (3, 60)])
        documents, pieces = read(
            f"The rent is {rent:,} euros a month.",
            f"It was {more} euros for {tenants} tenants.",
            f"Notice is {months} months.",
            f"The fee is {share} % of the rent.",
        )
        chosen = draw.sample(pieces, draw.randint(1, 4))
        sums = [rent + more, abs(rent - more), rent * months, rent + 7]
        amount = draw.choice([*map(Fraction, sums), Fraction(more, tenants), Fraction(rent * share, 100)])
        if amount * 100 % 1:
            continue
        claim = f"That makes {float(amount):,} euros."
        found = derived(claim, chosen)
        assert_shown_as_it_stands(found, documents)
        for each in found:
            assert each.derived is not None
            assert (
                evaluated(each.derived.computation) == amount == Fraction(claim[each.start : each.end - 6].replace(",", ""))
            )
            signs.update(re.findall(r" (\+|-|x|/|% of) ", each.derived.computation))
    assert signs == {"+", "-", "x", "/", "% of"}


@tabled("claim, texts")
def test_a_figure_that_follows_in_no_way_or_in_several_has_no_reckoning(claim: str, texts: list[str]) -> None:
    assert derived(claim, read(*texts)[1]) == ()


def test_a_piece_that_was_read_twice_counts_once() -> None:
    documents, pieces = read("A is 20 euros, B 30 euros, C 95 euros.")
    (found,) = derived("All cost 145 euros.", pieces + pieces)
    assert_shown_as_it_stands([found], documents)
    assert found.derived is not None
    assert found.derived.computation == "20 euros + 30 euros + 95 euros"


def test_a_reckoning_takes_the_place_of_another_figure() -> None:
    documents, (rent, notice) = read("The rent is 1,450 euros a month.", "The notice period is 3 months.")
    (alone,) = findings("You owe 4,350 euros.", [rent])
    assert alone.given is not None
    assert alone.given.text == "1,450 euros"
    (found,) = findings("You owe 4,350 euros.", [rent, notice])
    assert_shown_as_it_stands([found], documents)
    assert found.given is None


_WORDS = (
    "0 1 2 3 12 31 1,450 2.5 -5 −7 1e400 10² √9 ½ 3½ 1,000,000 ٣ 99999 0.000001 2024 9:30 25:61 noon midnight euros euro % "
    "x / - + a per each month tenants and , . ; : \n •1. (2) {0} {} \x00 \u202e 🏠 rooms M G k of from to second"
).split(" ") + (
    "1e9 %|0 %|100 %|31 February 2023|29 Feb 2024|1 March 0000|31 December 9999|03/04/2025|half a month|two hundred|six dozen|"
    f"€5|$1.5m|20 °C|3 months|1 month|8 hours|5 kg|{'9' * 400}"
).split("|")


def test_no_text_makes_findings_fail() -> None:
    draw = random.Random(2026)
    for _ in range(100):
        claim, *texts = (" ".join(draw.choices(_WORDS, k=draw.randint(0, 25))) for _ in range(draw.randint(1, 5)))
        documents, pieces = read(*texts)
        assert_shown_as_it_stands(derived(claim, pieces), documents)
        found = findings(claim, pieces)
        assert_shown_as_it_stands([each for each in found if each.derived], documents)


def test_a_sentence_shows_reckonings_from_all_that_was_read_whatever_its_verdict() -> None:
    source = Document(text="The rent is 1,450 euros a month. Pets are not allowed. The notice period is 3 months.")
    answer = "The rent of the notice period is 4,350 euros."
    for threshold, verdict in [(0.0, "supported"), (1.0, "unsupported")]:
        guard = Guard(scorer=NearestScorer(FakeEntailment()), policy=Policy(threshold=threshold))
        (sentence,) = guard.check(answer, source).sentences
        assert sentence.verdict == verdict
        assert_shown_as_it_stands(sentence.findings, [source])
        assert [each.derived and each.derived.computation for each in sentence.findings] == ["3 months x 1,450 euros"]
        assert ("4,350" in str(of_sentence(sentence, "on"))) == (verdict == "supported")


def test_a_reason_gives_the_figure_of_the_source_once() -> None:
    guard = Guard(scorer=NearestScorer(FakeEntailment(lambda premise, claim: 0.1)))
    answer = "The tenant pays a rent of 1,650 euros, the rent of 1,650 euros is due monthly."
    (sentence,) = guard.check(answer, "The rent is 1,450 euros.").sentences
    assert [each.given and each.given.text for each in sentence.findings] == ["1,450 euros"] * 2
    assert str(sentence.reason).count("there it is") == 1
