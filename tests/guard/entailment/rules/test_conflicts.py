"""Explicit details that belong to something else, or say the opposite; a text is never in conflict with itself."""

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st

from groundrail.entailment.rules.conflicts import asserted, conflicts, misbounded, miscounted, misplaced, opposed

BOILERS = "The coffee boiler holds 0.3 litres and the steam boiler holds 0.8 litres."
LIGHTS = "The left light shows the state of the oven, and the right light shows the state of the grill."
OFFERS = "Keller and Son needs three weeks for 40 chairs, and Amberg needs five."
TWO = "The rent is 900 euros a month. The deposit is 1,800 euros."


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        (BOILERS, "The steam boiler takes 300 ml."),
        (LIGHTS, "The light on the left is the grill's."),
        (OFFERS, "Keller and Son delivers in five weeks."),
        (OFFERS, "Amberg needs three weeks and Keller and Son needs five."),
        (TWO, "A deposit of 900 euros is due."),
        ("The Landlord pays for water. The Tenants pay for internet.", "The tenants pay for water."),
    ],
)
def test_a_detail_beside_its_rivals_words_is_misplaced(premise: str, claim: str) -> None:
    assert misplaced(premise, claim)


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        (BOILERS, "The steam boiler takes 800 ml."),
        (BOILERS, "Both boilers together hold 1.1 litres."),
        (LIGHTS, "The light on the right is the grill's."),
        (OFFERS, "Five weeks is what Amberg asks for."),
        (OFFERS, "Amberg needs five weeks and Keller and Son needs three."),
        (
            "No fee is due if the Tenants find somebody whom the Landlord accepts.",
            "The landlord accepts the tenants' friend.",
        ),
        ("The lease begins on 1 March 2025 and ends on 28 February 2026.", "The lease runs until 28 February 2026."),
        ("A ticket costs 5 euros in May and 6 euros in June.", "Tickets are 6 euros."),
        (TWO, "The tenants pay 900 euros every month."),
        ("Fourteen of the 32 frames came in the wrong size.", "Of the 32 frames, 14 came in the wrong size."),
        ("1. Rent\n1.1 The rent is 900 euros. 2. Deposit", "The deposit of 900 euros is the rent."),
    ],
)
def test_a_detail_beside_its_own_words_is_not(premise: str, claim: str) -> None:
    assert not misplaced(premise, claim)


@pytest.mark.parametrize(
    ("premise", "claim", "against"),
    [
        ("The Landlord pays for water.", "The tenants pay for water.", True),
        ("The Landlord pays for water.", "The landlord pays for water.", False),
        ("The Landlord bills the Tenants.", "The tenants are billed.", False),
        ("Prices rose in May.", "Prices fell in May.", True),
        ("Rinse before you brew.", "Brew after you rinse.", False),
        ("Anna sold the flat to Ben.", "Ben bought the flat from Anna.", False),
        ("The shop is open from nine to six.", "The shop closes at six.", False),
        ("Smoking is prohibited.", "Smoking is allowed.", True),
        ("Smoking is prohibited.", "Smoking is not allowed.", False),
        ("Smoking is not allowed.", "Smoking isn't permitted.", False),
        ("The lease begins in March and ends in May.", "It starts in March.", False),
    ],
)
def test_opposites_count_unless_one_text_negates(premise: str, claim: str, against: bool) -> None:
    assert opposed(premise, claim) is against


@pytest.mark.parametrize(
    ("premise", "claim", "against"),
    [
        ("Vinegar damages the seals and must not be used.", "Vinegar may be used.", True),
        ("It must not be used without gloves.", "It may be used with gloves.", False),
        ("It must not be immersed.", "Never immerse it.", False),
        ("It must not be immersed, and is used at home.", "It is used at home.", False),
        ("Oil is used here and not used there.", "Oil is used.", False),
    ],
)
def test_what_is_denied_is_not_asserted(premise: str, claim: str, against: bool) -> None:
    assert asserted(premise, claim) is against


@pytest.mark.parametrize(
    ("premise", "claim", "against"),
    [
        ("There are two bedrooms and one bathroom.", "There are two bathrooms.", True),
        ("There are two bedrooms and one bathroom.", "There is a single bathroom.", False),
        ("There are two bedrooms and one bathroom.", "There are two rooms to sleep in.", False),
        ("They have 1,200 chairs in stock.", "They have 200 chairs in stock.", True),
    ],
)
def test_things_are_counted_alike(premise: str, claim: str, against: bool) -> None:
    assert miscounted(premise, claim) is against


@pytest.mark.parametrize(
    ("premise", "claim", "against"),
    [
        ("Insure for at least 5,000 euros.", "Insure for 5,000 euros at most.", True),
        ("Insure for at least 5,000 euros.", "Insure for €5000 or less.", True),
        ("Insure for at least 5,000 euros.", "Insure for 5,000 euros or more.", False),
        ("Insure for at least 5,000 euros.", "Insure for 5,000 euros.", False),
        ("At most 40 guests may stay.", "No more than 40 guests may stay.", False),
        ("The car takes over 200 kg.", "The car takes up to 200 kg.", True),
    ],
)
def test_bounds_point_the_same_way(premise: str, claim: str, against: bool) -> None:
    assert misbounded(premise, claim) is against


_WORDS = st.sampled_from(
    "the rent is 900 euros two one keys at least most or less not never left right starts ends , . ; and but of three".split()
)


@for_any(st.lists(_WORDS, max_size=24).map(" ".join))
def test_a_text_is_never_in_conflict_with_itself(text: str) -> None:
    assert conflicts(text, text) == 0
