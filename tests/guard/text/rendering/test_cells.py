"""What a Markdown table cuts short is refused; ordinary tables, and what stands around them, are not."""

from tests.tables import tabled

from groundrail import Guard
from groundrail.testing import FakeEntailment


@tabled("answer")
def test_a_cell_that_a_table_drops_is_not_read_as_said(answer: str) -> None:
    believing = Guard(scorer="scale", judge=FakeEntailment(lambda premise, claim: 1.0))
    kept = believing.check(answer, "The rent is 950 euros.").text
    assert "by no one" not in kept or not {":-", "|---"} & set(kept.split())


@tabled("answer")
def test_ordinary_tables_and_bars_pass(answer: str) -> None:
    believing = Guard(scorer="scale", judge=FakeEntailment(lambda premise, claim: 1.0))
    assert believing.check(answer, answer).text == answer
