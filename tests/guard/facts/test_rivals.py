"""What a premise says in the place of a claim's figure."""

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import tabled

from groundrail.facts.rivals import exchanged


@tabled("claim, premise, found")
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
