"""A claim in its context: only the claim counts, the context says how it is meant, and no text can pass for context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail.errors import UncheckableError
from groundrail.text.context import MARK, around, claimed, context_of, in_context, message_of


@given(st.text(), st.text())
def test_the_claim_comes_back_without_its_context(claim: str, context: str) -> None:
    text = in_context(claim, context)
    assert claimed(text) == claim.replace(MARK, " ")
    assert text.count(MARK) == bool(context.split())


@given(st.text(alphabet=["a", " ", ".", MARK]))
def test_no_word_of_a_claim_becomes_its_context(claim: str) -> None:
    assert claimed(in_context(claim, "")).split() == claim.replace(MARK, " ").split()


@pytest.mark.parametrize(
    ("claim", "prompt", "heading", "previous", "context"),
    [
        ("Anna pays the rent.", "", "", "The lease ends in May.", ""),
        ("It is due.", "", "", "- The **rent** is 900 euros.", "The rent is 900 euros."),
        ("Until Friday.", "When?", "Payment", "", "When? Payment:"),
        ("Dogs may enter.", "", "## Pets", "## Pets\n", "Pets:"),
        ("It may enter.", "", "Pets", "**Pets**\n", "Pets:"),
        ("May I pay later? No.", "May I pay later?", "", "", ""),
    ],
)
def test_the_context_is_the_message_the_heading_and_what_a_claim_points_to(
    claim: str, prompt: str, heading: str, previous: str, context: str
) -> None:
    assert context_of(claim, question=prompt, heading=heading, previous=previous) == context


def test_a_claim_that_points_to_an_unreadable_sentence_cannot_be_checked() -> None:
    hidden = "The rent\x1b[8m is due."
    assert context_of("Anna pays.", previous=hidden) == ""
    with pytest.raises(UncheckableError, match="control character"):
        context_of("It is due.", previous=hidden)
    assert around("May I?", hidden) == "May I?"


def test_documents_in_a_long_prompt_are_no_context() -> None:
    prompt = f"Context: {'The rent is 900 euros. ' * 40}\nQuestion: When is it due?\nAnswer:"
    assert message_of(prompt) == "When is it due?"
    assert message_of("I have two dogs.\nMay they enter?") == "I have two dogs. May they enter?"
    assert around("May I?", "Dogs may enter. ") == "May I? Dogs may enter."


@given(*[st.text(alphabet=st.characters(categories=("L", "Nd", "Zs", "Po")), max_size=2000)] * 3)
def test_a_context_is_bounded(prompt: str, heading: str, previous: str) -> None:
    assert len(context_of("It is.", question=prompt, heading=heading, previous=previous)) <= 300 + 200 + 200 + 4
