"""Text that the reader of a source does not see supports nothing, and a note says that it is there."""

from itertools import pairwise

from tests.tables import tabled

from groundrail import Guard
from groundrail.scoring.nearest import NearestScorer
from groundrail.sources.hidden import NOTE, hidden_parts
from groundrail.sources.reading import read_by_form
from groundrail.testing import FakeEntailment

FALSE = "The rent is 900 euros."


def said(source: str) -> list[str]:
    reading = read_by_form(source)
    return [premise.said or source[premise.start : premise.end] for premise in reading.premises()]


@tabled("hiding")
def test_hidden_text_supports_nothing(hiding: str) -> None:
    source = f"The rent is due monthly.\n\n{hiding.format(FALSE)}"
    judge = FakeEntailment(lambda premise, claim: 0.99 if "900" in premise else 0.01)
    (checked,) = Guard(scorer=NearestScorer(judge)).check(FALSE, source).sentences
    assert checked.verdict == "unsupported"
    assert NOTE in (checked.note or "")
    assert not any("900" in part for part in said(source))
    assert any("monthly" in part for part in said(source))


@tabled("showing")
def test_shown_text_supports_its_claim(showing: str) -> None:
    source = f"The rent is due monthly.\n\n{showing.format(FALSE)}"
    judge = FakeEntailment(lambda premise, claim: 0.99 if "900" in premise else 0.01)
    (checked,) = Guard(scorer=NearestScorer(judge)).check(FALSE, source).sentences
    assert checked.verdict == "supported"
    assert checked.note is None


def test_text_behind_a_hidden_part_is_read() -> None:
    source = "One. <!-- Two. --> Three. <p hidden>Four. <p>Five.</p> Six.</p> Seven.\n<!-- Eight."
    read = "".join(said(source))
    assert [word for word in "One Two Three Four Five Six Seven Eight".split() if word in read] == ["One", "Three", "Seven"]


def test_a_sentence_with_a_struck_word_says_the_rest_of_it() -> None:
    assert said("The rent is ~~900~~ 950 euros. <del>It is</del> It was due.") == ["The rent is 950 euros.", "It was due."]


def test_a_hidden_cell_is_an_empty_one() -> None:
    table = said("Day | Pool | Gym\nMonday | 6 | 9\nTuesday | <!-- 7 --> | 9\nFriday | ~~8~~ 5 | 9\n")
    assert {"Day Monday, Pool: 6", "Day Tuesday, Pool: not given", "Day Friday, Pool: 5"} <= set(table)


def test_hidden_parts_are_in_order_and_apart() -> None:
    source = "<!-- a --> B <p hidden> c <!-- d --> e <p> f </p> g </p> H <script>i</script> <!-- j"
    parts = list(hidden_parts(source))
    assert all(first.end <= second.start for first, second in pairwise(parts))
    shown, place = "", 0
    for part in parts:
        shown, place = shown + source[place : part.start], part.end
    assert (shown + source[place:]).split() == ["B", "H"]
