"""What a premise says in the place of a claim's figure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail.text.facts.rivals import exchanged


@pytest.mark.parametrize(
    ("claim", "premise", "found"),
    [
        (
            "The rent is 1,650 euros a month.",
            "The rent is 1,450 euros a month, plus 120 euros for heating.",
            ["The rent is 1,450 euros a month.", "The rent is 120 euros a month."],
        ),
        ("It ends on 3 May 2026.", "It runs from 1 May 2024 to 2 May 2026.", ["It ends on 1 May 2024.", "It ends on 2 May 2026."]),
        ("It opens at 9 am.", "It opens at 10:30 am and closes at 6 pm.", ["It opens at 10:30 am.", "It opens at 6 pm."]),
        ("Two people have keys.", "Three people and five dogs have keys.", ["Three people have keys.", "five people have keys."]),
        ("The rent is 1,450 euros.", "The rent is €1450.", []),
        ("It takes 2 hours.", "It takes 120 minutes and weighs 3 kg.", []),
        ("It takes 2 hours.", "It takes 90 minutes and weighs 3 kg.", ["It takes 90 minutes."]),
        ("It is 5 euros or 6 euros.", "It is 5 euros, for him 6 euros.", []),
        ("It is €5, yes, 5 euros.", "It is €6.", ["It is €6, yes, €6."]),
        ("Pets are allowed.", "No more than 2 pets are allowed.", []),
        ("Clause 2 holds.", "3. Clause 4 holds.", ["Clause 4 holds."]),
    ],
)  # fmt: skip
def test_a_figure_is_exchanged_for_others_of_its_kind(claim: str, premise: str, found: list[str]) -> None:
    assert [each.claim for each in exchanged(claim, premise)] == found


@given(st.text(alphabet="abc 0123456789.,€%", max_size=60))
def test_a_text_has_no_rival_in_itself(text: str) -> None:
    assert exchanged(text, text) == []


@given(
    st.lists(st.integers(2, 10_000), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(2, 10_000), min_size=1, max_size=4, unique=True),
)
def test_every_figure_of_the_claim_against_every_new_one_of_the_premise(mine: list[int], theirs: list[int]) -> None:
    def listed(amounts: list[int]) -> str:
        return "They paid " + ", then ".join(f"{amount} euros" for amount in amounts) + "."

    new = [amount for amount in theirs if amount not in mine]
    assert [each.claim for each in exchanged(listed(mine), listed(theirs))] == [
        listed([*mine[:place], amount, *mine[place + 1 :]]) for place in range(len(mine)) for amount in new
    ]
