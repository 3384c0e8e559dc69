"""Talk goes out unjudged beside any judge, and the silence of a source is judged without the question."""

import asyncio

import pytest

from groundrail import Guard, Verdict
from groundrail.testing import FakeEntailment
from groundrail.text.context import MARK, claimed

SOURCE = "Lease of flat 4. The rent is 950 euros. Pets are not allowed."
TALK = "Thanks for your question! Would you like the details on the rent as well?"


def refusing() -> FakeEntailment:
    return FakeEntailment(lambda premise, claim: 0.0, reads_context=True)


@pytest.mark.parametrize("is_async", [False, True])
def test_talk_goes_out_unjudged(is_async: bool) -> None:
    judge = refusing()
    guard = Guard(judge=judge)
    answer = TALK + " Pets are welcome."
    question = "May I bring my cat?"
    result = asyncio.run(guard.acheck(answer, SOURCE, question)) if is_async else guard.check(answer, SOURCE, question)
    assert result.text.strip() == TALK
    assert [sentence.verdict for sentence in result.sentences][:2] == [Verdict.NO_CLAIM] * 2
    assert {claimed(claim) for call in judge.calls for _, claim in call} == {"Pets are welcome."}


@pytest.mark.parametrize(
    "claim",
    ["Der Hund darf mit!", "Sie dürfen das gern!", "Аренда дешевле гаража!", "¡La renta es más barata!", "狗可以进来！"],
)
def test_nothing_in_another_language_is_talk(claim: str) -> None:
    (checked,) = Guard(judge=refusing()).check(claim, SOURCE, "Darf der Hund mit?").sentences
    assert checked.verdict is Verdict.UNSUPPORTED


def test_silence_is_judged_without_the_question() -> None:
    judge = refusing()
    Guard(judge=judge).check("The lease does not mention parking. Pets are welcome.", SOURCE, "May I park here?")
    asked = {claim for call in judge.calls for _, claim in call}
    assert {claim for claim in asked if MARK not in claim} == {"The lease does not mention parking."}
    assert {claimed(claim) for claim in asked if MARK in claim} == {"Pets are welcome."}


def test_silence_is_refused_where_one_sentence_has_its_topic() -> None:
    guard = Guard(judge=FakeEntailment(lambda premise, claim: 1.0))
    pets, parking = guard.check("The lease does not mention pets. The lease does not mention parking.", SOURCE).sentences
    assert pets.conflict is not None
    assert (pets.released, pets.conflict.text) == (False, "Pets are not allowed.")
    assert (parking.released, parking.citations) == (True, ())
