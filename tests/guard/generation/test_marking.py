"""A mark says which document supports a sentence: it is judged against that document alone, and exchanged on request."""

import asyncio
from typing import Any

import pytest

from groundrail import Document, Guard, InputError, Policy, Verdict
from groundrail.scoring.nearest import NearestScorer
from groundrail.testing import FakeEntailment, ScriptedGenerator
from groundrail.types import GuardResult

RENT, PETS, CASH = "The rent is 950 euros a month.", "Pets are allowed.", "Cash is accepted."
SOURCE = [RENT, PETS, CASH]
REASON = "document 2 does not say this; document 1 does: “The rent is 950 euros a month.”"


def guard(judge: FakeEntailment | None = None, **policy: Any) -> Guard:
    return Guard(scorer=NearestScorer(judge or FakeEntailment(), rivals=0, invented=0), policy=Policy(**policy))


def check(answer: str, **policy: Any) -> GuardResult:
    return guard(**policy).check(answer, SOURCE)


def test_the_named_document_has_to_support_the_sentence() -> None:
    right, wrong = check("The rent is 950 euros a month [1]. The rent is 950 euros a month [2].").sentences
    assert (right.verdict, wrong.verdict) == (Verdict.SUPPORTED, Verdict.UNSUPPORTED)
    assert wrong.reason == REASON
    (mark,) = wrong.marks
    assert (wrong.text[mark.start : mark.end], mark.documents, mark.verdict) == ("[2]", ("source-2",), Verdict.UNSUPPORTED)
    assert mark.elsewhere is not None
    assert mark.elsewhere.document_id == "source-1"
    assert [(each.documents, each.verdict) for each in right.marks] == [(("source-1",), Verdict.SUPPORTED)]
    assert [citation.document_id for citation in right.citations] == ["source-1"]


def test_a_sentence_that_no_document_supports_has_the_usual_reason() -> None:
    (checked,) = check("The king owns it [2].").sentences
    assert checked.verdict is Verdict.UNSUPPORTED
    assert checked.marks[0].elsewhere is None
    assert "does;" not in (checked.reason or "")
    assert "source does not say this" in (checked.reason or "")


def test_documents_named_together_support_a_sentence_that_one_of_them_supports() -> None:
    assert check("Pets are allowed [1][2]. Pets are allowed [1, 2]. Pets are allowed (sources 2 and 3).").supported
    assert not check("Pets are allowed [1][3].").supported


def test_each_clause_has_to_be_supported_by_its_own_marks() -> None:
    assert check("Pets are allowed [2], and cash is accepted [3].").supported
    (wrong,) = check("Pets are allowed [2], and cash is accepted [1].").sentences
    assert [mark.verdict for mark in wrong.marks] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]
    assert (wrong.reason or "").startswith("document 1 does not say this; document 3 does")


def test_a_sentence_with_a_mark_asks_the_judge_for_less() -> None:
    def asked(answer: str) -> int:
        judge = FakeEntailment()
        assert guard(judge).check(answer, SOURCE).supported
        return sum(len(premise) for call in judge.calls for premise, _ in call)

    assert asked("Pets are allowed [2].") < asked("Pets are allowed.")


@pytest.mark.parametrize("policy", [{"marks": "correct"}, {"fallback": "correct"}])
@pytest.mark.parametrize(
    ("answer", "released"),
    [
        ("Pets are allowed [1]. ", "Pets are allowed [2]. "),
        ("Pets are allowed [1][3]. ", "Pets are allowed [2]. "),
        ("Pets are allowed [1, 3]. ", "Pets are allowed [2]. "),
        ("Pets are allowed (source 3). ", "Pets are allowed (source 2). "),
        ("Pets are allowed [source-3]. ", "Pets are allowed [source-2]. "),
        ("Pets are allowed 【1†source】. ", "Pets are allowed 【2†source】. "),
        ("Pets are allowed.³ ", "Pets are allowed.² "),
        ("As document 1 says, pets are allowed. ", "As document 2 says, pets are allowed. "),
        ("Pets are allowed [2], and cash is accepted [1].", "Pets are allowed [2], and cash is accepted [3]."),
        ("Pets are allowed [1], and cash is accepted [1].", ""),  # two marks are wrong
    ],
)
def test_a_wrong_mark_is_exchanged(policy, answer, released) -> None:
    (checked,) = check(answer, **policy).sentences
    assert checked.released_text == released
    if released:
        assert checked.corrected is not None
        start, was = checked.corrected.start, checked.corrected.was
        assert released == answer[:start] + checked.corrected.now + answer[start + len(was) :]
        assert any(mark.corrected for mark in checked.marks)
        assert checked.supporting


def test_marks_are_not_exchanged_without_being_asked_to() -> None:
    assert check("Pets are allowed [1]. Pets are allowed [2].").text == "Pets are allowed [2]."


@pytest.mark.parametrize(
    ("marks", "released"),
    [
        ("check", ""),
        ("ignore", "Pets are allowed [1]."),
        ("strip", "Pets are allowed."),
        ("correct", "Pets are allowed [2]."),
    ],
)
def test_the_policy_says_what_becomes_of_marks(marks, released) -> None:
    assert check("Pets are allowed [1].", marks=marks).text == released
    assert check("Pets are allowed [7].", marks=marks).text == ""


def test_marks_of_one_document_are_as_before() -> None:
    (checked,) = guard().check("Pets are allowed [1].", PETS).sentences
    assert (checked.verdict, checked.marks) == (Verdict.SUPPORTED, ())
    assert guard().check("Pets are allowed [2].", PETS).text == ""
    assert guard(marks="strip").check("Pets are allowed [1].", PETS).text == "Pets are allowed."


def test_ids_that_are_numbers_count() -> None:
    source = [Document(text=PETS, id="2"), Document(text=CASH, id="1")]
    assert guard().check("Pets are allowed [2].", source).supported
    (wrong,) = guard().check("Pets are allowed [1].", source).sentences
    assert (wrong.reason or "").startswith("document 1 does not say this; document 2 does")


def test_a_document_without_text_supports_nothing() -> None:
    (checked,) = guard(on_error="open").check("Pets are allowed [1].", [" ", PETS]).sentences
    assert (checked.released_text, checked.reason) == ("", "it names a document without text")


def test_a_refused_mark_is_written_again() -> None:
    scripted = ScriptedGenerator([["Pets are allowed [1]. ", "Pets are allowed [2]. "], "Cash is accepted [3]."])
    result = guard().with_generator(scripted).generate("", SOURCE)
    assert result.text == "Pets are allowed [2]. Cash is accepted [3]."
    assert [attempt.verdict for attempt in result.sentences[0].attempts] == [Verdict.UNSUPPORTED, Verdict.SUPPORTED]


def test_the_async_and_the_joint_check_say_the_same() -> None:
    answer = "Pets are allowed [1]. Pets are allowed [2]. Cash is accepted. Cash is accepted [1, 2]."
    own = guard()

    def told(result: GuardResult) -> list[object]:
        return [(s.verdict, s.reason, s.marks) for s in result.sentences]

    expected = told(own.check(answer, SOURCE))
    assert told(asyncio.run(own.acheck(answer, SOURCE))) == expected
    assert [told(each) for each in own.check_all([answer, answer], SOURCE)] == [expected, expected]


def test_refused_marks_are_not_kept_where_refused_text_is_not() -> None:
    (checked,) = check("Pets are allowed [1].", keep_refused=False).sentences
    assert checked.marks == ()
    assert "document" not in (checked.reason or "")


LEASE = ["The lease runs for two years. Pets are allowed, it says.", "Cash is accepted."]


def test_a_quotation_is_cited_where_it_stands() -> None:
    (checked,) = (
        guard().check("It says “the lease runs for two years”.", [LEASE[0].replace(". Pets", ", it says. Pets")]).sentences
    )
    assert checked.verdict is Verdict.SUPPORTED
    assert checked.citations[0].text == "The lease runs for two years"


def test_a_misquotation_is_refused_and_corrected_on_request() -> None:
    source = ["The lease says it runs for two years."]
    (checked,) = guard().check("The lease says “it runs for three years”.", source).sentences
    assert (checked.verdict, checked.reason) == (Verdict.UNSUPPORTED, "the source's words are “it runs for two years”")
    (checked,) = guard(fallback="correct").check("The lease says “it runs for three years”. ", source).sentences
    assert checked.released_text == "The lease says “it runs for two years”. "
    assert checked.corrected is not None
    assert (checked.corrected.was, checked.corrected.now) == ("it runs for three years", "it runs for two years")


def test_a_corrected_misquotation_is_judged() -> None:
    source = ["The lease says it runs for two years."]
    (checked,) = guard(fallback="correct").check("The king says “it runs for three years”.", source).sentences
    assert (checked.released_text, checked.corrected) == ("", None)


def test_the_callers_numbering_names_the_documents() -> None:
    documents = [
        Document(text=text, id=name, metadata={"rank": n}) for text, name, n in zip(SOURCE, "abc", (5, 3, 7), strict=True)
    ]
    scorer = NearestScorer(FakeEntailment(), rivals=0, invented=0)
    numbered = Guard(scorer=scorer, policy=Policy(marks="correct"), numbering=lambda document: document.metadata["rank"])
    right, wrong, absent = numbered.check(
        "Pets are allowed [3]. Pets are allowed [5]. Pets are allowed [1].", documents
    ).sentences
    assert (right.released_text, wrong.released_text) == ("Pets are allowed [3]. ", "Pets are allowed [3]. ")
    assert absent.reason == "the source does not hold the footnote mark [1]"
    assert wrong.reason is not None
    assert wrong.reason.startswith("document 5 does not say this; document 3 does")


@pytest.mark.parametrize("numbers", [(1, 1, 2), ("1", "2", "3"), (-1, 2, 3)])
def test_a_numbering_of_no_use_is_an_error(numbers: tuple[Any, ...]) -> None:
    given = dict(zip(("source-1", "source-2", "source-3"), numbers, strict=True))
    numbered = Guard(scorer=NearestScorer(FakeEntailment()), numbering=lambda document: given[document.id])
    with pytest.raises(InputError, match="another whole number"):
        numbered.check("Pets are allowed [1].", SOURCE)


def test_lines_that_are_announced_as_quoted_have_to_stand_in_the_source() -> None:
    right = check("The lease says:\n\n> Pets are allowed.\n", fallback="correct")
    assert right.text == "The lease says:\n\n> Pets are allowed.\n"
    assert [sentence.verdict for sentence in right.sentences] == [Verdict.NO_CLAIM, Verdict.SUPPORTED]
    wrong = check("The lease says:\n\n> Pets are always allowed.\n", fallback="correct")
    assert wrong.sentences[-1].reason == "the source's words are “Pets are allowed”"
    assert wrong.text == "The lease says:\n\n> Pets are allowed.\n"
    assert check("Mr Olsen says:\n\n> Pets are allowed.\n").sentences[0].verdict is Verdict.UNSUPPORTED
