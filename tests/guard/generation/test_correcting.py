"""`Policy(fallback="correct")`: one detail is exchanged, judged again, and released only if it is supported."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundrail import Guard, Policy, Verdict
from groundrail.chat import ChatGuard
from groundrail.generators.asked import AskedSession, Refusal
from groundrail.scoring.nearest import NearestScorer
from groundrail.testing import FakeEntailment, ScriptedGenerator, shares_all_words
from groundrail.types import GuardResult

SOURCE = "The rent is 950 euros a month. The deposit is 2,900 euros. Pets cannot be kept. The lease ends on 28 May 2026."
RENT, WRONG = "The rent is 950 euros a month. ", "The rent is 990 euros a month. "
SENTENCES = [
    RENT,
    WRONG,
    "The deposit is 2,000 euros. ",
    "The lease ends on 28 March 2026. ",
    "Pets can be kept.\n\n",
    "It rains. ",
    "Hello! ",
]


def guard(generator: Any = None, judge: Callable[[str, str], float] = shares_all_words, **policy: Any) -> Guard:
    rules = Policy(fallback="correct", **policy)
    return Guard(generator, scorer=NearestScorer(FakeEntailment(judge)), policy=rules)


def test_the_released_sentence_has_the_sources_figure_and_its_citation() -> None:
    result = guard().check(RENT.replace("950", "990") + "Pets cannot be kept.", SOURCE)
    assert result.text == RENT + "Pets cannot be kept."
    wrong = result.sentences[0]
    assert (wrong.text, wrong.verdict, wrong.released) == (WRONG, Verdict.UNSUPPORTED, False)
    assert wrong.corrected is not None
    assert (wrong.corrected.was, wrong.corrected.now, wrong.corrected.start) == ("990 euros", "950 euros", 12)
    assert [citation.text for citation in wrong.supporting] == [RENT.strip()]
    assert result.citations[0] == wrong.supporting[0]
    assert not result.supported


@pytest.mark.parametrize(
    ("answer", "source", "text"),
    [
        (f"{RENT}The king of 990 euros owns it.", SOURCE, RENT),  # no exchange is supported
        ("The rent is 990 euros a month until 2 May 2027.", SOURCE, ""),  # wrong in two places
        ("It costs 25 euros.", "It costs 20 euros or 30 euros.", ""),  # two exchanges are equally likely
        ("The rent is 990 euros a month:\n- The deposit is 2,000 euros.\n", SOURCE, ""),  # a list's lead
    ],
)
def test_without_the_one_supported_correction_a_sentence_is_dropped(answer, source, text) -> None:
    result = guard().check(answer, source)
    assert result.text == text
    assert not any(sentence.corrected for sentence in result.sentences)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("The north tower was built by Paul Stern. He died in 1945.", "The north tower was built by Otto Kern. "),
        ("The tower has 7 floors. It died in 1945.", "The tower has 9 floors. It died in 1945."),
        ("The king owns it. Good question! He died in 1945.", "Good question! "),
    ],
)
def test_a_pronoun_goes_with_the_name_that_it_may_stand_for(answer: str, text: str) -> None:
    source = "The north tower was built by Otto Kern. The tower has 9 floors. He died in 1945, and so did it."
    assert guard().check(answer, source).text == text


def test_a_refusal_by_form_is_not_corrected_whatever_a_judge_says() -> None:
    sure = guard(judge=lambda premise, claim: 1.0)
    assert sure.check("The rent is 990 euros, see https://example.com/990.", SOURCE).text == ""


def test_the_likelier_of_two_corrections_is_released() -> None:
    def judge(premise: str, claim: str) -> float:
        return {"20": 0.99, "30": 0.6}.get(claim[9:11], 0.1)

    assert guard(judge=judge).check("It costs 25 euros.", "It costs 20 euros or 30 euros.").text == "It costs 20 euros."


def test_a_correction_that_its_citation_hardly_prefers_is_not_released() -> None:
    def released(likely: float) -> str:
        judged = guard(judge=lambda premise, claim: 0.6 if "20" in claim else likely)
        return judged.check("It costs 25 euros.", "It costs 20 euros.").text

    assert (released(0.49), released(0.1)) == ("", "It costs 20 euros.")


def test_a_sentence_leans_on_a_corrected_one_as_on_a_released_one() -> None:
    def judge(premise: str, claim: str) -> float:
        return float("990" not in claim)

    result = guard(judge=judge).check(f"{WRONG}It is due on Monday.", SOURCE)
    assert result.text == f"{RENT}It is due on Monday."


def test_no_correction_is_released_without_a_second_judgement() -> None:
    asked: list[str] = []

    def judge(premise: str, claim: str) -> float:
        asked.append(claim)
        return shares_all_words(premise, claim)

    result = guard(judge=judge).check(WRONG, SOURCE)
    assert result.text.strip() in asked
    assert guard(judge=lambda premise, claim: 0.0).check(WRONG, SOURCE).text == ""


def test_a_corrected_sentence_is_not_written_again() -> None:
    result = guard(ScriptedGenerator([[WRONG, "never asked"], "It rains. "])).generate("?", SOURCE)
    assert result.text == RENT
    assert len(result.sentences[0].attempts) == 1


def test_a_sentence_that_cannot_be_corrected_is_written_again() -> None:
    result = guard(ScriptedGenerator([["It rains. ", WRONG], RENT])).generate("?", SOURCE)
    assert result.text == RENT + RENT
    assert [attempt.text for attempt in result.sentences[0].attempts] == ["It rains. ", WRONG]


def test_a_chat_counts_a_corrected_sentence_as_an_answer() -> None:
    asked = []

    def write(prompt: str) -> str:
        asked.append(prompt)
        return WRONG

    turn = ChatGuard(guard(write), source=SOURCE).ask("How much is the rent?")
    assert turn.reply == RENT
    assert len(asked) == 1


def test_refused_words_are_not_kept_where_the_policy_says_so() -> None:
    result = guard(keep_refused=False).check(WRONG, SOURCE)
    assert result.text == RENT
    assert "990 euros" not in repr(result)


def written(sentences: Sequence[str], how: str, piece: int) -> tuple[str, GuardResult]:
    """The text that a reader is shown, and the result."""
    text = "".join(sentences)
    writer = guard(ScriptedGenerator([text], piece))
    if how == "check":
        result = guard().check(text, SOURCE)
        return result.text, result
    if how == "stream":
        with writer.stream("?", SOURCE) as stream:
            return "".join(stream), stream.result
    if how == "pushed":
        answer = guard().incremental(SOURCE)
        shown = [s for start in range(0, len(text), piece) for s in answer.feed(text[start : start + piece])]
        shown += answer.finish()
        assert answer.result is not None
        return "".join(sentence.released_text for sentence in shown), answer.result

    async def read() -> tuple[str, GuardResult]:
        async with await writer.astream("?", SOURCE) as stream:
            return "".join([piece async for piece in stream]), stream.result

    return asyncio.run(read())


@pytest.mark.parametrize("how", ["check", "stream", "astream", "pushed"])
@settings(max_examples=25)
@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5), st.integers(1, 40))
def test_released_text_joins_and_each_sentence_of_it_is_supported(how, sentences, piece) -> None:
    shown, result = written(sentences, how, piece)
    assert shown == result.text == "".join(s.released_text for s in result.sentences)
    assert result.answer == "".join(sentences)
    assert not re.search(r"990|2,000|March|rains|Pets can be", shown)
    for sentence in result.sentences:
        if change := sentence.corrected:
            end = change.start + len(change.was)
            assert sentence.text[change.start : end] == change.was
            assert sentence.replacement == sentence.text[: change.start] + change.now + sentence.text[end:]
            assert guard().check(sentence.replacement, SOURCE).supported
    assert [bool(s.corrected) for s in result.sentences] == [text in SENTENCES[1:4] for text in sentences]


def test_a_writer_that_is_asked_again_is_shown_the_sources_sentence() -> None:
    asked: list[tuple[Refusal, ...]] = []

    def write(accepted: str, refused: Sequence[Refusal]) -> Iterator[str]:
        asked.append(tuple(refused))
        yield "Pets cannot be kept." if refused else "Pets may sleep in it. "

    assert guard(AskedSession(write)).generate("?", SOURCE).text == "Pets cannot be kept."
    assert asked == [(), (Refusal("Pets may sleep in it.", "Pets cannot be kept."),)]
    asked.clear()
    dropping = guard().with_policy(Policy()).with_generator(AskedSession(write))
    assert dropping.generate("?", SOURCE).text == "Pets cannot be kept."
    assert asked == [(), (Refusal("Pets may sleep in it."),)]
