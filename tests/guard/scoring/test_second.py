"""A second scorer is asked where the first is in doubt, and nowhere else."""

import asyncio
from typing import Any

import pytest

from groundrail import Guard, Policy, Verdict
from groundrail.calibration import Calibration
from groundrail.errors import InputError
from groundrail.scoring import SecondOpinion
from groundrail.scoring.scale import ScaleScorer
from groundrail.testing import FakeEntailment
from groundrail.text.context import MARK

SOURCE = "The shop opens at nine. It closes at six."
ANSWER = "The shop is sure. The shop is unsure. The shop is wrong."


def first(premise: str, claim: str) -> float:
    return {"sure": 0.9, "unsure": 0.5, "wrong": 0.1}[claim.rstrip(".").split()[-1]]


def guarded(second: FakeEntailment | None = None, **policy: Any) -> Guard:
    """A guard whose first judge is sure, unsure or certain of the contrary."""
    return Guard(scorer="scale", judge=FakeEntailment(first), second=second, policy=Policy(**policy))


def agreeing() -> FakeEntailment:
    return FakeEntailment(lambda premise, claim: 0.7)


@pytest.mark.parametrize(("second_says", "released"), [(0.7, True), (0.2, False)])
@pytest.mark.parametrize("is_async", [False, True])
def test_only_doubtful_claims_are_asked_twice(second_says: float, released: bool, is_async: bool) -> None:
    second = FakeEntailment(lambda premise, claim: second_says, threshold=0.6)
    guard = guarded(second, doubt=(0.3, 0.7))
    result = asyncio.run(guard.acheck(ANSWER, SOURCE)) if is_async else guard.check(ANSWER, SOURCE)
    sure, unsure, wrong = result.sentences
    assert {claim for call in second.calls for _, claim in call} == {"The shop is unsure."}
    assert (sure.released, unsure.released, wrong.released) == (True, released, False)
    assert (unsure.first_score, unsure.score, unsure.threshold) == (0.5, second_says, 0.6)
    assert sure.first_score is None
    assert wrong.first_score is None


def test_a_balanced_range_lies_between_the_fitted_thresholds() -> None:
    fitted = {"nearest": {"lenient": 0.2, "balanced": 0.45, "strict": 0.6}}
    asked, second = FakeEntailment(first, thresholds=fitted), agreeing()
    guard = Guard(scorer="nearest", judge=asked, second=second, policy=Policy(doubt="balanced"))
    guard.check(ANSWER, SOURCE)
    assert {claim for call in second.calls for _, claim in call} == {"The shop is unsure."}
    with pytest.raises(InputError, match="was not fitted for this scorer"):
        guarded(agreeing(), doubt="balanced").check(ANSWER, SOURCE)


@pytest.mark.parametrize("second_reads", [False, True])
def test_the_first_judge_reads_contexts_whatever_the_second_does(second_reads: bool) -> None:
    asked = FakeEntailment(lambda premise, claim: 0.5, reads_context=True)
    second = FakeEntailment(lambda premise, claim: 0.7, reads_context=second_reads)
    guard = Guard(scorer="nearest", judge=asked, second=second, policy=Policy(doubt=(0.3, 0.7)))
    guard.check("It closes at six.", SOURCE, "When does the shop close?")
    in_context = f"When does the shop close?{MARK}It closes at six."
    assert {claim for call in asked.calls for _, claim in call} == {in_context}
    assert {claim for call in second.calls for _, claim in call} == {in_context if second_reads else "It closes at six."}


def test_a_certain_first_scorer_leaves_the_second_unread() -> None:
    second = agreeing()
    guard = guarded(second, doubt=(0.4, 0.6))
    assert guard.check("The shop is sure. The shop is wrong.", SOURCE).sentences[0].released
    assert second.calls == []


def test_the_band_is_of_calibrated_scores_and_the_second_scorer_is_not_calibrated() -> None:
    halved = Calibration("isotonic", (0.0, 1.0), (0.0, 0.5))
    guard = guarded(agreeing(), doubt=(0.4, 0.5), calibration=halved, threshold=0.45)
    sure, unsure, _ = guard.check(ANSWER, SOURCE).sentences
    assert (sure.score, sure.first_score) == (0.7, 0.9)
    assert (unsure.score, unsure.verdict) == (0.25, Verdict.UNSUPPORTED)


def test_decisions_are_those_of_exact_scores() -> None:
    """A lower bound above the threshold may lie in the band where the full score does not."""

    def by_premise(premise: str, claim: str) -> float:
        return 0.55 if "nine" in premise else 0.95

    def scale() -> ScaleScorer:
        return ScaleScorer(FakeEntailment(by_premise), chunk_tokens=5, chunks=2)

    both = SecondOpinion(scale(), ScaleScorer(FakeEntailment(lambda premise, claim: 0.0)), (0.4, 0.6))
    (score,) = both.read(SOURCE).score(["The shop opens at nine."], 0.5)
    (exact,) = both.read(SOURCE).score(["The shop opens at nine."])
    assert score.value >= 0.5
    assert exact.value == pytest.approx(0.95)
    assert score.first is None
    assert exact.first is None


def test_band_and_second_scorer_come_together() -> None:
    with pytest.raises(InputError, match="second= and"):
        guarded(agreeing())
    with pytest.raises(InputError, match="second= and"):
        guarded(doubt=(0.1, 0.9))
    with pytest.raises(InputError, match="must hold the threshold"):
        guarded(agreeing(), doubt=(0.6, 0.9)).check("A.", "B.")


def test_a_second_scorer_that_fails_releases_nothing() -> None:
    def fails(premise: str, claim: str) -> float:
        raise ConnectionError("the server is gone")

    sure, unsure, _ = guarded(FakeEntailment(fails), doubt=(0.3, 0.7)).check(ANSWER, SOURCE).sentences
    assert sure.released
    assert not unsure.released
    assert unsure.verdict is Verdict.ERROR
    assert "the server is gone" in (unsure.reason or "")


def test_a_policy_is_validated_again_when_it_is_exchanged() -> None:
    guard = guarded()
    with pytest.raises(AttributeError):
        guard.policy = Policy(doubt=(0.1, 0.9))  # type: ignore[misc]
    with pytest.raises(InputError, match=r"such as Policy\(threshold=0.7\), not str"):
        guard.with_policy("strict")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="second= and"):
        guard.with_policy(Policy(doubt=(0.1, 0.9)))
    with pytest.raises(InputError, match="second= and"):
        guarded(agreeing(), doubt=(0.3, 0.7)).with_policy(Policy())
    others = Calibration("platt", (1.0,), (0.0,), scorer="another scorer")
    with pytest.raises(InputError, match="fitted on another scorer"):
        guard.with_policy(Policy(calibration=others)).check(ANSWER, SOURCE)


def test_guards_of_other_policies_share_the_scorers_and_keep_their_own_rules() -> None:
    narrow = guarded(agreeing(), doubt=(0.49, 0.51), threshold=0.5)
    strict = narrow.with_policy(Policy(doubt=(0.4, 0.96), threshold=0.95))
    assert (narrow.policy.threshold, strict.policy.threshold) == (0.5, 0.95)
    assert strict.scorer.first is narrow.scorer.first  # type: ignore[attr-defined]
    assert strict.check(ANSWER, SOURCE).threshold == 0.95
    assert narrow.check(ANSWER, SOURCE).threshold == 0.5
