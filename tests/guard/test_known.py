"""Sentences that the app vouches for: the same words or the judge's word, never cited, with and without a source."""

import asyncio
import io
import re
from typing import Any

import pytest
from rich.console import Console

from groundrail import CheckedSentence, Document, Guard, GuardResult, Policy, Verdict
from groundrail.report.terminal import print_result
from groundrail.scoring.batched import batched
from groundrail.testing import FakeEntailment, ScriptedGenerator

SOURCE = "The rent is 950 euros a month. Pets are not allowed."
BUTTON, CHAT = "Click the button below", "You can reach us in the chat window within 5 minutes on any day."


def guard(known: Any = (BUTTON, CHAT), judge: Any = None, **policy: Any) -> Guard:
    return Guard(scorer="scale", judge=judge or FakeEntailment(), policy=Policy(known=known, **policy))


def only(result: GuardResult) -> CheckedSentence:
    (sentence,) = result.sentences
    return sentence


@pytest.mark.parametrize("source", [SOURCE, "", [], [Document(text=" ")]])
@pytest.mark.parametrize("sentence", [BUTTON, "click  the\tbutton BELOW!", "Click the button below..."])
def test_a_sentence_with_the_words_of_a_known_one_is_known_without_a_judge(sentence: str, source: Any) -> None:
    judge = FakeEntailment()
    told = only(guard(judge=judge).check(sentence, source))
    assert (told.verdict, told.released, told.citations, told.score) == (Verdict.KNOWN, True, (), None)
    assert BUTTON in str(told.reason)
    assert judge.calls == []


@pytest.mark.parametrize("source", [SOURCE, "", []])
def test_a_claim_that_follows_from_one_known_sentence_is_known_and_cites_nothing(source: Any) -> None:
    result = guard().check("You can reach us in the chat window within 5 minutes.", source)
    told = only(result)
    assert (told.verdict, told.text == result.text, told.citations, told.supporting) == (Verdict.KNOWN, True, (), ())
    assert CHAT in str(told.reason)
    assert result.supported
    assert result.citations == ()


def test_a_claim_that_follows_only_from_two_known_sentences_together_is_not_known() -> None:
    told = only(guard().check("You can reach us below.", SOURCE))
    assert told.verdict is Verdict.UNSUPPORTED
    assert not told.released
    assert "chat window" not in str(told.reason)  # the nearest place is one of the source


def test_the_source_is_cited_where_it_supports_a_claim_that_is_known_as_well() -> None:
    told = only(guard(["The rent is 950 euros a month at most."]).check("The rent is 950 euros a month.", SOURCE))
    assert told.verdict is Verdict.SUPPORTED
    assert [citation.document_id for citation in told.citations] == ["source"]


@pytest.mark.parametrize("change", ["You can reach us in the chat window within 3 minutes.", "Click the button above."])
def test_other_words_are_not_known(change: str) -> None:
    assert only(guard().check(change, SOURCE)).verdict is Verdict.UNSUPPORTED
    assert only(guard().check(change, "")).verdict is Verdict.NO_SOURCE
    assert guard(on_no_source="open").check(change, "").text == change


def test_known_sentences_leave_the_others_as_they_are() -> None:
    answer = "The rent is 950 euros. Click the button below. Pets are welcome. Hello!"
    beside, without = guard().check(answer, SOURCE), guard(()).check(answer, SOURCE)
    assert [s.verdict for s in beside.sentences] == ["supported", "known", "unsupported", "no_claim"]
    for place in (0, 2, 3):
        assert beside.sentences[place].model_copy(update={"seconds": 0.0, "start": 0, "end": 0, "attempts": ()}) == (
            without.sentences[place].model_copy(update={"seconds": 0.0, "start": 0, "end": 0, "attempts": ()})
        )


def test_streams_async_checks_pairs_and_batched_scorers_know_them_too() -> None:
    answer = "Click the button below. You can reach us in the chat window."
    subject = guard()
    written = subject.with_generator(ScriptedGenerator([answer]))
    pooled = Guard(scorer=batched("scale", FakeEntailment()), policy=Policy(known=(BUTTON, CHAT)))
    for result in (
        written.generate("?", SOURCE),
        asyncio.run(written.agenerate("?", SOURCE)),
        asyncio.run(subject.acheck(answer, "")),
        asyncio.run(pooled.acheck(answer, SOURCE)),
        *subject.check_pairs([(answer, SOURCE), (answer, "")]),
    ):
        assert [s.verdict for s in result.sentences] == ["known", "known"]
        assert result.text == answer


def test_a_second_judge_and_a_calibration_decide_on_known_sentences_as_on_the_source() -> None:
    doubtful = FakeEntailment(lambda premise, claim: 0.5)
    asked = Guard(scorer="nearest", judge=doubtful, second=FakeEntailment(), policy=Policy(known=(CHAT,), doubt=(0.3, 0.7)))
    assert only(asked.check("You can reach us in the chat window.", SOURCE)).verdict is Verdict.KNOWN
    assert only(asked.check("You can reach us at night.", SOURCE)).verdict is Verdict.UNSUPPORTED
    sure = guard(judge=doubtful, calibration=lambda score: 0.9, threshold=0.8)
    assert only(sure.check("You can reach us at night.", "")).verdict is Verdict.KNOWN


def test_a_mark_of_a_document_is_not_vouched_for() -> None:
    told = only(guard().check("You can reach us in the chat window [2].", [SOURCE, "The lift is new."]))
    assert not told.released
    assert [mark.verdict for mark in told.marks] == [Verdict.UNSUPPORTED]


def test_views_show_known_sentences_as_known() -> None:
    result = guard().check(f"{BUTTON}. You can reach us in the chat window.", SOURCE)
    console = Console(file=io.StringIO(), width=100)
    print_result(result, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown.count("= known") == 2
    assert "= released, the app itself says it" in shown
    page = result.to_html(SOURCE)
    assert len(re.findall(r'class="card known[ "]', page)) == 2
    assert "Known to the app" in page
    assert "the app itself says" in page
    assert "[^1]" not in result.to_markdown()
