"""What a Markdown table cuts short is refused; ordinary tables, and what stands around them, are not."""

import pytest

from groundrail import Guard
from groundrail.testing import FakeEntailment

HIDING = [
    "The rent is 950 euros.\n|---|\n| Cash is accepted | by no one. |\n",
    "| The rent is 950 euros. |\n|---|\n| Cash is accepted | by no one. |\n",
    "| The rent is 950 euros. |\r\n|---|\r\n| Cash is accepted | by no one. |\n",
    "| The rent is 950 euros. |\n|---|\n| Pets stay. |\n| Cash is accepted | by no one.\n",
    "| The rent is 950 euros. |\n|---|\nCash is accepted | by no one.\n",
    "| The rent is 950 euros. |\n|---|\nPets stay.\n| Cash is accepted | by no one. |\n",
    "| The rent is 950 euros. |\n|---|\n\u200b\n| Cash is accepted | by no one. |\n",
    "| The rent is 950 euros. |\n|---|\n• Pets stay.\n| Cash is accepted | by no one. |\n",
    "| The rent is 950 euros. |\n|---|\n---- so\n| Cash is accepted | by no one. |\n",
    "| The rent is 950 euros. |\n|---|\n    - Pets stay.\n| Cash is accepted | by no one. |\n",
    "> | The rent is 950 euros. |\n> |---|\n> | Cash is accepted | by no one. |\n",
    "> | The rent is due. | \n> |---|\n> | Cash is accepted | by no one. |\n",
    "The rent | is\n:-|-:\nCash is accepted | today | by no one.\n",
    "The rent is 950 euros.\n:-\nCash is accepted | by no one.\n",
]


@pytest.mark.parametrize("answer", HIDING)
def test_a_cell_that_a_table_drops_is_not_read_as_said(answer: str) -> None:
    believing = Guard(scorer="scale", judge=FakeEntailment(lambda premise, claim: 1.0))
    kept = believing.check(answer, "The rent is 950 euros.").text
    assert "by no one" not in kept or not {":-", "|---"} & set(kept.split())


@pytest.mark.parametrize(
    "answer",
    [
        "| Item | Sum |\n|---|:-:|\n| Rent | 950 |\n| Fee | 45 |\n\nThe rent is due.\n",
        "The sums:\n| Item | Sum |\n| --- | ---: |\n| Rent \\| fee | 950 |\n- It is due.\n",
        "| Rent | 950 |\n|-|-|\n| `x` | 45 |\n## The fees are due\n| The fee | is due | now |\n",
        "| The rent is due |\n|---|\n| The rent is 950 |\n1. It is due.\n2. It is paid.\n",
        "| Rent | 950 |\n\n| Rent | 950 | due |\n",
        "```\ncat a | b\ncat a | b | c\n```\n",
        "| The rent is due |\n|---|\n```\na is | b\n:-|-\n```\n",
        "The chance P(A|B) is 0.5.\nThe other is P(A|B|C).\n",
    ],
)
def test_ordinary_tables_and_bars_pass(answer: str) -> None:
    believing = Guard(scorer="scale", judge=FakeEntailment(lambda premise, claim: 1.0))
    assert believing.check(answer, answer).text == answer
