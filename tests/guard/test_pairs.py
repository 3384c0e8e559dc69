"""Many answers, each with its own source, checked in shared calls of the judge."""

import functools
import operator
import time
from collections import Counter
from typing import Any

import pytest
from tests.guard.test_read_source import told

from groundrail import Guard, GuardResult, InputError, Policy
from groundrail.entailment.builtin import BuiltinEntailment
from groundrail.testing import FakeEntailment


def verdicts(result: GuardResult) -> list[str]:
    return [sentence.verdict.value for sentence in result.sentences]


PAIRS = [
    ("The rent is due. Pets pay.", "The rent is due."),
    ("Thank you!", "Cats pay."),
    ("Cats pay. Until Friday.", ["Cats pay.", "The rent is due."]),
    ("The rent is due.", ""),
    ("Dogs pay.", "The rent is due. Cats pay."),
]


@pytest.mark.parametrize("scorer", ["scale", "nearest"])
def test_pairs_that_are_checked_together_have_the_results_of_each_alone_from_fewer_calls(scorer: str) -> None:
    alone, together = FakeEntailment(), FakeEntailment()
    questions = ["", "", "Until when?", "", ""]
    results = Guard(scorer=scorer, judge=together).check_pairs(PAIRS, questions=questions)
    guard = Guard(scorer=scorer, judge=alone)
    each = [guard.check(answer, source, question) for (answer, source), question in zip(PAIRS, questions, strict=True)]
    assert [told(result) for result in results] == [told(result) for result in each]
    assert 2 * len(together.calls) <= len(alone.calls)
    assert sorted(functools.reduce(operator.iadd, together.calls, [])) == sorted(
        functools.reduce(operator.iadd, alone.calls, [])
    )
    assert guard.check_pairs([]) == []


def test_the_shipped_judge_has_the_results_of_each_alone_from_fewer_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(name: str, method: Any) -> Any:
        def call(self: BuiltinEntailment, pairs: Any) -> Any:
            calls.append(name)
            return method(self, pairs)

        return call

    for name in ("classify", "kinds"):
        monkeypatch.setattr(BuiltinEntailment, name, counted(name, getattr(BuiltinEntailment, name)))
    guard = Guard()
    results = guard.check_pairs(PAIRS)
    together = Counter(calls)
    calls.clear()
    each = [guard.check(answer, source) for answer, source in PAIRS]
    for result, alone in zip(results, each, strict=True):
        assert verdicts(result) == verdicts(alone)
        for one, other in zip(result.sentences, alone.sentences, strict=True):
            assert one.score == pytest.approx(other.score, abs=0.02)
    assert together["classify"] < calls.count("classify")
    assert together["kinds"] == 1 < calls.count("kinds")


def test_the_second_opinion_on_many_pairs_is_asked_in_one_call() -> None:
    first, second = FakeEntailment(lambda premise, claim: 0.5), FakeEntailment()
    guard = Guard(scorer="nearest", judge=first, second=second, policy=Policy(doubt=(0.3, 0.7)))
    results = guard.check_pairs([("Cats pay.", "Cats pay."), ("Dogs pay.", "Cats pay.")])
    assert [verdicts(result) for result in results] == [["supported"], ["unsupported"]]
    assert len(first.calls) == len(second.calls) == 1


def test_a_pair_that_breaks_the_judge_or_misses_its_deadline_costs_the_pairs_beside_it_nothing() -> None:
    def judge(premise: str, claim: str) -> float:
        if "Pets" in claim:
            raise ValueError("no pets")
        if "Slow" in claim:
            time.sleep(1)
        return 1.0

    pairs = [("The rent is due.", "The rent."), ("Pets pay. The rent is due.", "Pets."), ("Cats pay.", "Cats.")]
    results = Guard(judge=FakeEntailment(judge)).check_pairs(pairs)
    assert [verdicts(result) for result in results] == [["supported"], ["error", "supported"], ["supported"]]
    hasty = Guard(judge=FakeEntailment(judge), policy=Policy(deadline=0.3))
    slow = hasty.check_pairs([("Slow cats pay.", "Cats."), ("Cats pay.", "Cats.")])
    assert [verdicts(result) for result in slow] == [["timeout"], ["supported"]]


@pytest.mark.parametrize(
    ("pairs", "questions", "error"),
    [
        ([("Cats pay.", "Cats."), ("Cats pay.", 3)], None, "pair 2: a source is text"),
        ([("Cats pay.", "Cats."), (3, "Cats.")], None, "pair 2: an answer is text, not int"),
        (["ab"], None, "pair 1 is no pair"),
        ([("Cats pay.", "Cats.")], [], "one question for each of the 1 pairs"),
        ([("Cats pay.", "Cats.")], "?", "one question for each of the 1 pairs"),
    ],
)
def test_bad_pairs_are_refused_by_number_before_anything_is_judged(pairs: Any, questions: Any, error: str) -> None:
    judge = FakeEntailment()
    with pytest.raises(InputError, match=error):
        Guard(scorer="scale", judge=judge).check_pairs(pairs, questions)
    assert judge.calls == []
