"""A sentence that has somebody say something is released only where that person says it in the source."""

import pytest

from groundrail import Document, Guard, Verdict
from groundrail.scoring.nearest import NearestScorer
from groundrail.testing import FakeEntailment
from groundrail.types import CheckedSentence

SOURCE = "The rent is 900 euros. The caretaker, Mr Olsen, says that the heating is broken."


def check(answer: str, *source: Document) -> CheckedSentence:
    judge = FakeEntailment(lambda premise, claim: 1.0)
    guard = Guard(scorer=NearestScorer(judge, rivals=0, invented=0))
    return guard.check(answer, source or SOURCE).sentences[0]


@pytest.mark.parametrize(
    "answer",
    [
        "According to the caretaker, the heating is broken.",
        "Mr Olsen says that the heating is broken.",
        "According to the document, the rent is 900 euros.",
        "The lease says that the rent is 900 euros.",
    ],
)
def test_somebody_says_what_the_source_has_them_say(answer: str) -> None:
    assert check(answer).verdict is Verdict.SUPPORTED


@pytest.mark.parametrize("speaker", ["the caretaker", "Mr Olsen", "Ms Keller", "the landlady"])
def test_nobody_says_what_the_source_says_by_itself(speaker: str) -> None:
    checked = check(f"According to {speaker}, the rent is 900 euros.", Document(text="The rent is 900 euros."))
    assert (checked.verdict, checked.score) == (Verdict.UNSUPPORTED, None)
    assert checked.reason == f"the source does not say that {speaker} says this: “The rent is 900 euros.”"
    (finding,) = [finding for finding in checked.findings if finding.kind == "speaker"]
    assert checked.text[finding.start : finding.end] == speaker


def test_a_role_that_another_document_has_does_not_speak_here() -> None:
    librarian = Document(text="The librarian, Ms Rehak, likes cash.", id="a")
    founder = Document(text="He wrote that no child shall pay.", id="b")
    assert check("The founder wrote that no child shall pay.", librarian, founder).verdict is Verdict.SUPPORTED
    assert check("The librarian wrote that no child shall pay.", founder, librarian).verdict is Verdict.UNSUPPORTED


def test_a_title_or_a_heading_names_the_speaker() -> None:
    text = "# Ms Keller\nThe rent is 900 euros."
    assert check("Ms Keller says that the rent is 900 euros.", Document(text=text)).verdict is Verdict.SUPPORTED
    titled = Document(text="The rent is 900 euros.", metadata={"title": "Letter of Ms Keller"})
    assert check("Ms Keller says that the rent is 900 euros.", titled).verdict is Verdict.SUPPORTED
