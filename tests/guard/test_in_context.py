"""A judge that reads contexts gets each claim in its context and each premise behind its title; others get neither."""

from groundrail import Guard, Policy, Verdict
from groundrail.chat import ChatGuard
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.scale import ScaleScorer
from groundrail.testing import FakeEntailment, ScriptedGenerator
from groundrail.text.context import MARK, claimed

SOURCE = "Rules of the Otter Pool\nThe rules hold all year.\n\n## Dogs\nDogs wait outside. Guide dogs may enter.\n"
ANSWER = "## Dogs\n\nThey wait outside.\n\n| Animal | Place |\n|---|---|\n| Dog | outside |\n| Guide dog | inside |\n"


def pairs(scorer: type[NearestScorer] | type[ScaleScorer], reads_context: bool) -> list[tuple[str, str]]:
    judge = FakeEntailment(lambda premise, claim: 0.9, reads_context=reads_context)
    guard = Guard(scorer=scorer(judge), policy=Policy(fallback="flag"))
    guard.check(ANSWER, SOURCE, "Where may my dog wait?")
    return [pair for call in judge.calls for pair in call]


def test_claims_stand_in_their_context() -> None:
    for scorer in (NearestScorer, ScaleScorer):
        claims = dict.fromkeys(claim for _, claim in pairs(scorer, reads_context=True))
        assert [claim.split(MARK) for claim in claims if "Dogs:" in claim] == [
            ["Where may my dog wait? Dogs:", "They wait outside."],
            ["Where may my dog wait? Dogs:", "Animal Dog, Place: outside"],
            ["Where may my dog wait? Dogs:", "Animal Guide dog, Place: inside"],
        ]


def test_a_chat_reads_the_sentence_before_as_context() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.9, reads_context=True)
    script = ScriptedGenerator(["Dogs wait outside. ", "They may not enter."])
    ChatGuard(Guard(script, scorer=NearestScorer(judge)), source=SOURCE).ask("And dogs?")
    claims = {claim for call in judge.calls for _, claim in call}
    assert claims == {f"And dogs?{MARK}Dogs wait outside.", f"And dogs? Dogs wait outside.{MARK}They may not enter."}


def test_a_pronoun_does_not_go_out_behind_another_sentence_than_its_own() -> None:
    answer = "Foxbells are poisonous. Sorrels are tall. Their leaves can be eaten."
    judge = FakeEntailment(lambda premise, claim: float(claimed(claim) != "Sorrels are tall."), reads_context=True)
    checked = Guard(scorer=NearestScorer(judge)).check(answer, "Foxbells are poisonous. Sorrels are short.")
    assert checked.text == "Foxbells are poisonous. "
    assert checked.sentences[2].reason == "it opens with a pronoun, and the sentence before it was not released"


def test_premises_stand_behind_title_and_heading() -> None:
    for scorer in (NearestScorer, ScaleScorer):
        premises = {premise for premise, _ in pairs(scorer, reads_context=True)}
        assert "Rules of the Otter Pool ## Dogs Guide dogs may enter." in premises
        assert all(premise.startswith("Rules of the Otter Pool") for premise in premises)


def test_a_sentence_that_was_judged_under_a_heading_does_not_go_out_without_it() -> None:
    def judge(reads_context: bool) -> FakeEntailment:
        return FakeEntailment(lambda premise, claim: float(claimed(claim) != "Dogs are banned"), reads_context=reads_context)

    answer = "## Dogs are banned\n\nThey wait outside.\n\n## Rules\n\nThe rules hold all year.\n"
    checked = Guard(scorer=NearestScorer(judge(reads_context=True))).check(answer, SOURCE)
    assert [sentence.released for sentence in checked.sentences] == [False, False, True, True]
    assert checked.sentences[1].reason == "it stands under a heading that was not released"
    alone = Guard(scorer=NearestScorer(judge(reads_context=False))).check(answer.replace("They", "Dogs"), SOURCE)
    assert [sentence.released for sentence in alone.sentences] == [False, True, False, True]


def test_another_judge_gets_claim_and_premise_alone() -> None:
    for scorer in (NearestScorer, ScaleScorer):
        found = pairs(scorer, reads_context=False)
        assert not any(MARK in claim for _, claim in found)
        assert "Guide dogs may enter." in {premise for premise, _ in found}
        assert {claimed(claim) for _, claim in found} == {claim for _, claim in found}


def test_a_context_supports_nothing() -> None:
    """The words of the question are in the premise of no pair, whatever is asked."""
    found = pairs(ScaleScorer, reads_context=True)
    assert not any("my dog" in premise for premise, _ in found)


def test_rows_that_are_refused_leave_a_table_with_its_head() -> None:
    judge = FakeEntailment(lambda premise, claim: float("Guide" in claim))
    guard = Guard(scorer=NearestScorer(judge))
    assert guard.check(ANSWER.partition("outside.\n\n")[2], SOURCE).text.splitlines() == [
        "| Animal | Place |",
        "|---|---|",
        "| Guide dog | inside |",
    ]
    nothing = Guard(scorer=NearestScorer(FakeEntailment(lambda premise, claim: 0.0)))
    assert not nothing.check(ANSWER.partition("outside.\n\n")[2], SOURCE).text.strip()


def test_a_row_with_another_number_of_cells_than_its_head_is_refused() -> None:
    guard = Guard(scorer=NearestScorer(FakeEntailment(lambda premise, claim: 1.0)))
    for row in ("| Dog |", "| Dog | outside | always |"):
        (checked,) = guard.check(f"| Animal | Place |\n|---|---|\n{row}\n", SOURCE).sentences
        assert checked.verdict is Verdict.UNSUPPORTED
        assert "cells under a head of 2" in str(checked.reason)
