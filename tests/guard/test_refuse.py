"""`Policy(refuse="contradicted")`: what the source does not state goes out with its verdict, what it contradicts does not."""

import asyncio
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from groundrail import ChatGuard, Guard, GuardResult, InputError, Policy, UnsupportedError
from groundrail.entailment.base import EntailmentModel, FloatArray, Pair
from groundrail.report.terminal import print_result
from groundrail.scoring.batched import batched
from groundrail.testing import FakeEntailment, ScriptedGenerator

SOURCE = "The rent is due in March. The lift is new. Pets are not allowed."
TRUE, NOT_STATED, CONTRADICTED = "The lift is new. ", "The roof is flat. ", "Pets are allowed. "


class ThreeClasses(EntailmentModel):
    """Entails words of the premise, contradicts a premise that lacks only "not", else neutral."""

    max_tokens = 512

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return FakeEntailment().offsets(text)

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        return np.array([self.of(premise.lower(), claim.lower().strip(" .")) for premise, claim in pairs])

    def of(self, premise: str, claim: str) -> list[float]:
        if claim in premise:
            return [0.9, 0.05, 0.05]
        return [0.02, 0.03, 0.95] if claim.replace(" are ", " are not ") in premise else [0.05, 0.9, 0.05]


def guard(script: Sequence[str | Sequence[str]] = (), **policy: Any) -> Guard:
    chosen = Policy(**{"refuse": "contradicted", **policy})
    return Guard(ScriptedGenerator(script), scorer="scale", judge=ThreeClasses(), policy=chosen)


def told(result: GuardResult) -> list[tuple[str, bool, bool]]:
    return [(str(s.verdict), s.released, s.flagged) for s in result.sentences]


def test_what_is_not_stated_goes_out_marked_and_what_is_contradicted_does_not() -> None:
    answer = TRUE + NOT_STATED + CONTRADICTED
    for result in (
        guard().check(answer, SOURCE),
        asyncio.run(guard().acheck(answer, SOURCE)),
        guard([answer]).generate("?", SOURCE),
        Guard(scorer=batched("nearest", ThreeClasses()), policy=Policy(refuse="contradicted")).check(answer, SOURCE),
    ):
        assert told(result) == [("supported", True, False), ("unsupported", True, True), ("unsupported", False, False)]
        assert result.text == TRUE + NOT_STATED
        assert not result.supported
        assert [s.text for s in result.flagged] == [NOT_STATED]
        assert result.sentences[2].conflict is not None
    assert guard(refuse="unsupported").check(answer, SOURCE).text == TRUE


def test_only_what_is_refused_is_written_again_or_falls_back() -> None:
    written = guard([[NOT_STATED, TRUE], [CONTRADICTED, "Pets are not allowed."]]).generate("?", SOURCE)
    assert written.text == NOT_STATED + "Pets are not allowed."
    assert [len(s.attempts) for s in written.sentences] == [1, 2]
    ended = guard(fallback="abstain", abstention="Ask.").check(NOT_STATED + CONTRADICTED + TRUE, SOURCE)
    assert ended.text == NOT_STATED + "Ask."
    with pytest.raises(UnsupportedError, match="Pets are allowed"):
        guard(fallback="raise").check(NOT_STATED + CONTRADICTED, SOURCE)
    chat = ChatGuard(guard([[NOT_STATED, TRUE]]), source=SOURCE)
    assert chat.ask("And the roof?").reply.strip() == NOT_STATED.strip()


@pytest.mark.parametrize(
    "sentence",
    [
        "The roof is flat, see [this](https://evil.example/roof).",  # refused by its form
        "The roof is flat <span hidden>and red</span>.",
        "“The roof is flat”, says the lease.",
    ],
)
def test_what_cannot_be_read_is_refused_all_the_same(sentence: str) -> None:
    assert guard().check(sentence, SOURCE).text == ""


def test_a_wrong_mark_and_a_pronoun_without_its_noun_are_refused_all_the_same() -> None:
    assert guard().check("The roof is flat [2].", [SOURCE, "The door is red."]).text == ""
    assert guard().check(CONTRADICTED + "They are brown.", SOURCE).text == ""


def test_without_source_and_after_an_error_nothing_goes_out() -> None:
    assert guard().check(NOT_STATED, "").text == ""
    nan = FakeEntailment(lambda premise, claim: float("nan"), tells_contradiction=True)
    assert Guard(judge=nan, policy=Policy(refuse="contradicted")).check(NOT_STATED, SOURCE).text == ""


def test_fields_of_an_object_follow_the_same_rule() -> None:
    checked = guard().check_object(["The lift is new.", "The roof is flat.", "Pets are allowed."], SOURCE)
    assert checked.object == ["The lift is new.", "The roof is flat.", None]
    assert not checked.supported


def test_a_judge_of_two_classes_is_an_error() -> None:
    policy = Policy(refuse="contradicted")
    for scorer in ("scale", "nearest", batched("nearest", FakeEntailment())):
        judge = FakeEntailment() if isinstance(scorer, str) else None
        with pytest.raises(InputError, match="tells contradiction from silence"):
            Guard(scorer=scorer, judge=judge, policy=policy).check(TRUE, SOURCE)
    second = {"second": FakeEntailment(), "policy": Policy(refuse="contradicted", doubt=(0.3, 0.7))}
    with pytest.raises(InputError, match="tells contradiction from silence"):
        Guard(scorer="nearest", judge=ThreeClasses(), **second).check(TRUE, SOURCE)  # type: ignore[arg-type]


def test_views_mark_what_went_out_unsupported() -> None:
    result = guard().check(TRUE + NOT_STATED, SOURCE)
    console = Console(file=io.StringIO(), width=100)
    print_result(result, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "! unsupported" in shown
    assert "! released although it is not supported" in shown
    assert "Dotted: released although" in result.to_html(SOURCE)
    assert "Not supported: the source does not say this" in result.to_markdown()


def test_the_shipped_judge_tells_both_apart() -> None:
    result = Guard(policy=Policy(refuse="contradicted")).check(
        "The monthly rent is 1,450 euros. The landlord keeps two dogs. The lease ends on 30 June 2027.",
        "The monthly rent is 1,450 euros. The lease ends on 28 February 2026.",
    )
    assert told(result) == [("supported", True, False), ("unsupported", True, True), ("unsupported", False, False)]
