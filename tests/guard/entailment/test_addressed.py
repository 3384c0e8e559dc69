"""A premise is read with "you" where it speaks of all readers of its kind, and else as it stands."""

import pytest

from groundrail.entailment.addressed import addressed
from groundrail.text.context import in_context


@pytest.mark.parametrize(
    ("premise", "read"),
    [
        ("The tenant may keep a bicycle.", "You may keep a bicycle."),
        ("All guests may use the pool.", "You may use the pool."),
        (
            "If the tenant is late, the landlord keeps the tenant's deposit.",
            "If you is late, the landlord keeps your deposit.",
        ),
        ("The guests' cars stay outside.", "Your cars stay outside."),
        ("Entry is free for members.", "Entry is free for you."),
    ],
)
def test_readers_are_addressed(premise: str, read: str) -> None:
    assert addressed(premise, "You may come.") == read
    assert addressed(premise, in_context("You may come.", "May I, as my landlord says?")) == read
    assert addressed(premise, "They may come.") == premise


@pytest.mark.parametrize(
    "premise",
    [
        "Guests with a Gold card may use the lounge.",
        "Guests over 60 pay less.",
        "Guests who stay two nights pay less.",
        "Gold members pay less.",
        "No guest may smoke.",
        "Only members may enter.",
        "Most of the tenants pay cash.",
        "Some customers pay cash.",
        "Guest rooms are upstairs.",
        "Customers registered before May pay less.",
        "Members pay 3 euros, guests pay 5 euros.",
        "Your guests must register. Guests pay 5 euros.",
        "The landlord pays.",
        "People with asthma must not take it.",
    ],
)
def test_a_premise_that_may_mean_others_stands_as_it_is(premise: str) -> None:
    assert addressed(premise, "You pay less.") == premise


@pytest.mark.parametrize("message", ["I'm the landlord. What do I pay?", "As a visitor, what do I pay?"])
def test_a_user_who_is_somebody_else_is_not_the_reader(message: str) -> None:
    premise = "The tenant pays for repairs."
    assert addressed(premise, in_context("You pay for repairs.", message)) == premise
