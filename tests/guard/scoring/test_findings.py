"""Details named in the reason of a refused sentence."""

import pytest

from groundrail.scoring.findings import findings
from groundrail.types import Citation

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
    (found,) = findings(sentence, PLACE)
    assert (found.kind, sentence[found.start : found.end]) == (kind, said)
    if given is None:
        assert found.given is None
    else:
        assert found.given is not None
        assert found.given.text == given
        assert TEXT[found.given.start : found.given.end] == given


@pytest.mark.parametrize("sentence", ["The rent is due on May 3rd.", "€1,450 are due.", "The rent is due soon."])
def test_what_the_place_gives_in_another_spelling_is_no_finding(sentence: str) -> None:
    assert findings(sentence, PLACE) == ()


def test_the_number_of_a_clause_is_no_detail() -> None:
    place = Citation(document_id="d", start=0, end=24, text="3.2 Rent is due monthly.", score=0.5)
    (found,) = findings("16.1 Rent of 250 is due.", place)
    assert (found.start, found.given) == (13, None)


def test_two_candidates_are_none() -> None:
    place = Citation(document_id="d", start=0, end=30, text="From 3 May to 9 May it is shut.", score=0.5)
    (found,) = findings("It is shut on 5 May.", place)
    assert found.given is None


def test_without_a_place_nothing_is_compared() -> None:
    assert findings("It is shut on 5 May.", None) == ()


def test_a_figure_that_follows_from_the_place_is_no_finding() -> None:
    text = "The rent is 1,450 euros a month, and the notice period is 3 months."
    place = Citation(document_id="lease", start=0, end=len(text), text=text, score=0.9)
    assert findings("The rent of the notice period is 4,350 euros.", place) == ()
    (found,) = findings("The rent of the notice period is 4,530 euros.", place)
    assert found.kind == "quantity"
